"""BRP-NAS: the latency predictor of Dudziak et al. (NeurIPS 2020), a graph convolutional network with a global node."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nnirp.layers.store import GraphBatch, GraphSet
from nnirp.predictors.message_passing import NODE, OperatorRows
from nnirp.predictors.network import GraphNetwork, NetworkPredictor, masked_mean
from nnirp.predictors.nnlp import training_medians
from nnirp.predictors.registry import register
from nnirp.training.compression import Compressed, CompressedSet, Reading


@dataclass(frozen=True)
class BrpNasSettings:
    """The published sizes, rate and decay; epochs and the size of a batch are the loop's."""

    width: int = 600
    layers: int = 4
    dropout: float = 0.002
    max_epochs: int = 60
    patience: int = 20
    learning_rate: float = 4e-4
    weight_decay: float = 5e-4
    steps_per_epoch: int = 16
    max_classes: int = 20_000


class BrpNasNetwork(GraphNetwork):
    """Each layer: the sum over a node and its consumers, times a matrix, layer normalisation, ReLU, dropout.

    The global node sums over all nodes and itself, sends to none, and its state after the last layer is read out: nodes
    themselves need one layer less.
    """

    consumers = True

    def __init__(self, targets: int, settings: BrpNasSettings) -> None:
        super().__init__()
        self.depth, width = settings.layers - 1, settings.width
        self.enter = OperatorRows()
        self.first_global = nn.Parameter(torch.zeros(self.enter.width))
        sizes = [self.enter.width, *[width] * (settings.layers - 1)]
        self.layers = nn.ModuleList(nn.Linear(size, width) for size in sizes)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in sizes)
        self.dropout = nn.Dropout(settings.dropout)
        self.leave = nn.Linear(width, targets)
        self.register_buffer("y_scale", torch.ones(targets))
        self.register_buffer("least", torch.full((targets,), 1e-9))

    def read(self, batch: GraphBatch) -> Reading:
        return Reading(batch.x, batch.op, *batch.edge_index, batch.graph, batch.num_graphs)

    def measure(self, train: GraphSet, compressed: CompressedSet) -> None:
        self.enter.standard.measure(compressed.rows[:, :NODE])
        self.y_scale.copy_(training_medians(train))
        smallest = torch.nan_to_num(torch.from_numpy(train.y), nan=torch.inf).min(dim=0).values
        self.least.copy_(torch.nan_to_num(torch.exp2(smallest) / 2, posinf=1e-9))

    def forward(self, batch: Compressed) -> Tensor:
        """[G, T] in units of `y_scale`, of any sign."""
        state, places = self.enter(batch), batch.ancestors()
        whole = self.first_global.expand(batch.num_graphs, -1)
        for i, place in enumerate(places):
            whole = self._layer(i, whole + batch.pool(state[place]))
            if i < self.depth:
                block = batch.blocks[i]
                heard, hearing = block.consumers
                state = self._layer(i, state[block.parent].index_add(0, hearing, state[heard]))
        return self.leave(whole)

    def _layer(self, i: int, total: Tensor) -> Tensor:
        return self.dropout(torch.relu(self.norms[i](self.layers[i](total))))

    def predict(self, batch: Compressed) -> tuple[Tensor, None]:
        return torch.log2(torch.maximum(self(batch) * self.y_scale, self.least)), None

    def loss(self, batch: Compressed) -> Tensor:
        measured = torch.exp2(torch.nan_to_num(batch.y)) / self.y_scale
        return masked_mean((self(batch) - measured).abs(), batch.y)


@register
class BrpNas(NetworkPredictor):
    """A GCN of four layers of 600 whose global node is the graph, as published.

    As the paper and its public code: every node sums itself and the nodes it feeds, without normalisation; a global node sums all
    nodes; layer normalisation, ReLU, dropout 0.002; one dense layer on the global node; L1 loss on the raw target; AdamW with rate 4e-4
    and decay 5e-4.

    Departures: the paper's graphs are cells of one skeleton and its features an operator, which says nothing of size; here they are
    whole networks, and the features the layer's 14 in log2, standardised, and a one-hot operator of 88. The global node's first state is
    learned, where it had a category of its own. Targets are divided by their training median, batches hold several graphs, the
    learning rate falls along a cosine in place of steps at a plateau, 60 epochs in place of 250. A prediction is never below half of the smallest training label, so that its logarithm exists.
    """

    name = "brp_nas"
    Settings = BrpNasSettings

    def _build(self, targets: tuple[str, ...]) -> BrpNasNetwork:
        return BrpNasNetwork(len(targets), self.settings)
