"""DIPPM: the multi-target predictor of Panner Selvam and Brorsson (Euro-Par 2023), as its paper and public code describe the network."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import GraphBatch, GraphSet
from nnirp.predictors.message_passing import NODE, OperatorRows
from nnirp.predictors.network import GraphNetwork, NetworkPredictor, masked_mean
from nnirp.predictors.nnlp import training_medians
from nnirp.predictors.registry import register
from nnirp.predictors.totals import WEIGHTS
from nnirp.training.compression import Compressed, CompressedSet, Reading

_CONVOLUTIONS = ("Conv", "ConvTranspose", "QLinearConv")
_DENSE = ("MatMul", "Gemm", "QLinearMatMul", "MatMulInteger")
_STATIC = 5


@dataclass(frozen=True)
class DippmSettings:
    """The published sizes; epochs and learning rate are this project's."""

    width: int = 512
    blocks: int = 3
    dropout: float = 0.05
    max_epochs: int = 40
    patience: int = 12
    learning_rate: float = 5e-4
    weight_decay: float = 0.0
    steps_per_epoch: int = 16
    max_classes: int = 20_000


class DippmNetwork(GraphNetwork):
    """Three blocks of two GraphSAGE layers, sum over nodes, static features, three dense layers, softplus."""

    producers = True

    def __init__(self, targets: int, settings: DippmSettings) -> None:
        super().__init__()
        width = settings.width
        self.depth = 2 * settings.blocks
        self.enter = OperatorRows()
        sizes = [self.enter.width, *[width] * (self.depth - 1)]
        self.layers = nn.ModuleList(SAGEConv((size, size), width, normalize=True) for size in sizes)
        self.dropout = nn.Dropout(settings.dropout)
        self.dense = nn.ModuleList(
            [nn.Linear(width + _STATIC, width), nn.Linear(width, width), nn.Linear(width, width)]
        )
        self.leave = nn.Linear(width, targets)
        self.register_buffer("y_scale", torch.ones(targets))
        self.register_buffer("pool_scale", torch.ones(()))
        self.register_buffer("static_scale", torch.ones(_STATIC))

    def read(self, batch: GraphBatch) -> Reading:
        """The nodes with weights, each with one edge to the next of its graph; every other node is left to the static features."""
        kept = torch.nonzero(batch.x[:, WEIGHTS] > 0).squeeze(1)
        graph = batch.graph[kept]
        first = torch.nonzero(graph[1:] == graph[:-1]).squeeze(1)
        return Reading(batch.x[kept], batch.op[kept], first, first + 1, graph, batch.num_graphs, statics=_static(batch))

    def measure(self, train: GraphSet, compressed: CompressedSet) -> None:
        self.enter.standard.measure(compressed.rows[:, :NODE])
        self.static_scale.copy_(compressed.statics.mean(0).clamp(min=1e-3))
        self.pool_scale.fill_(max(len(compressed.node_class) / len(train), 1.0))
        self.y_scale.copy_(training_medians(train))

    def forward(self, batch: Compressed) -> Tensor:
        """[G, T], positive, in units of `y_scale`."""
        state = self.enter(batch)
        for i, (layer, block) in enumerate(zip(self.layers, batch.blocks, strict=True)):
            size = (len(state), len(block.parent))
            state = torch.relu(layer((state, state[block.parent]), block.producers, size=size))
            if i % 2:
                state = self.dropout(state)
        pooled = batch.pool(state[batch.place]) / self.pool_scale
        state = torch.cat([pooled, batch.statics / self.static_scale], dim=1)
        for layer in self.dense:
            state = self.dropout(torch.relu(layer(state)))
        return nn.functional.softplus(self.leave(state))

    def predict(self, batch: Compressed) -> tuple[Tensor, None]:
        return torch.log2((self(batch) * self.y_scale).clamp(min=1e-9)), None

    def loss(self, batch: Compressed) -> Tensor:
        measured = torch.exp2(torch.nan_to_num(batch.y)) / self.y_scale
        return masked_mean(nn.functional.huber_loss(self(batch), measured, reduction="none"), batch.y)


@register
class Dippm(NetworkPredictor):
    """Several targets from one graph, as published; the row that the project must beat.

    As the paper and its public code: only nodes with weights are kept, and edges chain consecutive kept nodes; six GraphSAGE convolutions
    512 wide in three blocks, each scaling its states to length 1; ReLU; dropout 0.05; sum over nodes; five static features (batch, GMACs,
    convolutions, dense layers, ReLUs); three fully connected layers of 512; softplus; Huber loss (δ = 1) on raw targets; Adam.

    Departures: node features are the layer's 14 and a one-hot operator of 88 in place of 16; each target is divided by its
    training median, the pooled sum by the mean number of kept nodes, node and static features by their deviation or mean,
    so that the loss trains in 40 epochs on a processor (the paper has 500 on a GPU); the learning rate is 5e-4 with a cosine;
    weights of the epoch that is best on validation; missing targets masked; a graph without a kept node, which the public
    code cannot take, pools to zero.
    """

    name = "dippm"
    Settings = DippmSettings

    def _build(self, targets: tuple[str, ...]) -> DippmNetwork:
        return DippmNetwork(len(targets), self.settings)


def _static(batch: GraphBatch) -> Tensor:
    """[G, 5]: batch size, GMACs, number of convolutions, of dense layers, of ReLUs."""
    index = load_vocabulary().index
    kinds = (_CONVOLUTIONS, _DENSE, ("Relu",))
    marks = torch.stack([torch.isin(batch.op, torch.tensor([index[o] for o in kind])) for kind in kinds], dim=1)
    counts = torch.zeros(batch.num_graphs, len(kinds)).index_add_(0, batch.graph, marks.float())
    return torch.cat([torch.exp2(batch.u[:, 4:5]), torch.exp2(batch.u[:, 2:3]) / 2e9, counts], dim=1)
