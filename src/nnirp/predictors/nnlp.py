"""NNLP: the latency predictor of NNLQP (Liu et al., ICPP 2022)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from nnirp.layers.store import GraphSet
from nnirp.predictors.message_passing import NODE, MessagePassingNetwork, MessagePassingSettings
from nnirp.predictors.network import NetworkPredictor, masked_mean
from nnirp.predictors.registry import register
from nnirp.training.compression import Compressed, CompressedSet

_STATIC = 4


@dataclass(frozen=True)
class NnlpSettings(MessagePassingSettings):
    """The published sizes, rate and number of epochs; the size of a batch is the loop's."""

    width: int = 512
    layers: int = 2
    max_epochs: int = 50
    patience: int = 50
    learning_rate: float = 1e-3
    weight_decay: float = 0.0


class NnlpNetwork(MessagePassingNetwork):
    """Two GraphSAGE layers, sum over nodes, static features through a layer of their own, a head of three dense layers a target."""

    def __init__(self, targets: int, settings: NnlpSettings) -> None:
        super().__init__(targets, settings)
        width = settings.width
        del self.dense, self.labels, self.globals
        self.static_enter = nn.Sequential(nn.Linear(_STATIC, width), nn.ReLU(), nn.Dropout(settings.dropout))
        self.heads = nn.ModuleList(_head(2 * width, width, settings.dropout) for _ in range(targets))
        self.register_buffer("static_scale", torch.ones(_STATIC))
        self.register_buffer("y_scale", torch.ones(targets))

    def layer(self, size: int, width: int) -> nn.Module:
        return SAGEConv((size, size), width, aggr="mean", normalize=True)

    def measure(self, train: GraphSet, compressed: CompressedSet) -> None:
        self.enter.standard.measure(compressed.rows[:, :NODE])
        self.pool_scale.fill_(float(train.nodes.mean()))
        static = _static(torch.from_numpy(train.u), torch.from_numpy(train.memory))
        self.static_scale.copy_(static.mean(0).clamp(min=1e-6))
        self.y_scale.copy_(training_medians(train))

    def forward(self, batch: Compressed) -> Tensor:
        """[G, T], positive, in units of `y_scale`."""
        pooled = batch.pool(self.states(batch)) / self.pool_scale
        static = self.static_enter(_static(batch.u, batch.memory) / self.static_scale)
        entry = torch.cat([pooled, static], dim=1)
        return nn.functional.softplus(torch.cat([head(entry) for head in self.heads], dim=1))

    def predict(self, batch: Compressed) -> tuple[Tensor, None]:
        return torch.log2((self(batch) * self.y_scale).clamp(min=1e-9)), None

    def loss(self, batch: Compressed) -> Tensor:
        measured = torch.exp2(torch.nan_to_num(batch.y)) / self.y_scale
        return masked_mean((self(batch) / measured - 1) ** 2, batch.y)


@register
class Nnlp(NetworkPredictor):
    """Two GraphSAGE layers of 512 on true edges in both directions, as published.

    As the paper and its public code: mean aggregation, states scaled to length 1, ReLU, dropout 0.05; sum over nodes; four static
    features (batch, FLOPs, parameters, memory access) through a layer of 512; dense layers of 512, 512 and 1, a head for each
    output; softplus; loss mean((p / y − 1)²); Adam at 1e-3, 50 epochs.

    Departures: node features are the layer's 14 in log2, standardised, and a one-hot operator of 88, in place of raw attributes and
    an output shape; the sum over nodes is divided by the training mean of the number of nodes, static features and targets by their
    training mean or median; the learning rate falls along a cosine; weights of the epoch that is best on validation, where the public code
    takes the one that is best on the test set; missing targets masked; parameters are counted in bytes;
    static features have their layer with several outputs too, where the public code has it with one.
    """

    name = "nnlp"
    Settings = NnlpSettings

    def _build(self, targets: tuple[str, ...]) -> NnlpNetwork:
        return NnlpNetwork(len(targets), self.settings)


def training_medians(train: GraphSet) -> Tensor:
    """float32 [T]: the median of each target in its own unit; 1 for a target without labels."""
    return torch.nan_to_num(torch.exp2(torch.nanmedian(torch.from_numpy(train.y), dim=0).values), nan=1.0)


def _head(size: int, width: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Linear(size, width), nn.ReLU(), nn.Dropout(dropout)),
        *(nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout)),
        nn.Linear(width, 1),
    )


def _static(u: Tensor, memory: Tensor) -> Tensor:
    """[G, 4]: batch, GFLOPs, GB of weights, GB of memory traffic, from log2."""
    logs = torch.stack([u[:, 4], u[:, 2], torch.nan_to_num(memory[:, 0]), u[:, 3]], dim=1)
    return torch.exp2(logs) / logs.new_tensor([1.0, 1e9, 1e9, 1e9])
