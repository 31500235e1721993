"""The base of the message-passing rows: node rows, layers along the data flow in both directions, sum over nodes, dense layers."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import GraphBatch, GraphSet
from nnirp.predictors.network import GraphNetwork, NetworkPredictor, Standard, huber_log2, measure_labels
from nnirp.training.compression import Block, Compressed, CompressedSet, Reading

NODE = 14


@dataclass(frozen=True)
class MessagePassingSettings:
    """`layers` of `width`; the rest is the loop's (`nnirp.training.module.TrainingSettings`)."""

    width: int = 128
    layers: int = 3
    dropout: float = 0.05
    max_epochs: int = 60
    patience: int = 20
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    steps_per_epoch: int = 16
    max_classes: int = 20_000


class OperatorRows(nn.Module):
    """First states [K0, 14 + operators]: the layer's node features, standardised, and a one-hot operator."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = len(load_vocabulary())
        self.width = NODE + self.operators
        self.standard = Standard(NODE)

    def forward(self, batch: Compressed) -> Tensor:
        kinds = nn.functional.one_hot(batch.op, self.operators).to(batch.rows.dtype)
        return torch.cat([self.standard(batch.rows[:, :NODE]), kinds], dim=1)


class MessagePassingNetwork(GraphNetwork):
    """`layers` of messages between neighbours in both directions, ReLU, dropout; the sum over nodes beside `u`; two dense layers.

    A subclass gives the `layer`, and `convolve` where it is called in another way than PyG's bipartite layers are.
    """

    producers = consumers = True

    def __init__(self, targets: int, settings: MessagePassingSettings) -> None:
        super().__init__()
        self.depth, width = settings.layers, settings.width
        self.settings = settings
        self.enter = OperatorRows()
        self.layers = nn.ModuleList(self.layer(width if i else self.enter.width, width) for i in range(settings.layers))
        self.dropout = nn.Dropout(settings.dropout)
        self.globals, self.labels = Standard(5), Standard(targets)
        self.dense = nn.Sequential(
            nn.Linear(width + 5, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, targets)
        )
        self.register_buffer("pool_scale", torch.ones(()))

    @abstractmethod
    def layer(self, size: int, width: int) -> nn.Module:
        """A layer from states [K, size] to [K', width]."""

    def convolve(self, layer: nn.Module, state: Tensor, block: Block) -> Tensor:
        """States [K', width] of a level from those of the level below."""
        return layer((state, state[block.parent]), block.both(), size=(len(state), len(block.parent)))

    def read(self, batch: GraphBatch) -> Reading:
        return Reading(batch.x, batch.op, *batch.edge_index, batch.graph, batch.num_graphs)

    def measure(self, train: GraphSet, compressed: CompressedSet) -> None:
        self.enter.standard.measure(compressed.rows[:, :NODE])
        self.globals.measure(compressed.u)
        self.pool_scale.fill_(float(train.nodes.mean()))
        measure_labels(self.labels, train)

    def states(self, batch: Compressed) -> Tensor:
        """[K, width]: the final state of each class."""
        state = self.enter(batch)
        for layer, block in zip(self.layers, batch.blocks, strict=True):
            state = self.dropout(torch.relu(self.convolve(layer, state, block)))
        return state[batch.place]

    def predict(self, batch: Compressed) -> tuple[Tensor, None]:
        pooled = batch.pool(self.states(batch)) / self.pool_scale
        return self.labels.reverse(self.dense(torch.cat([pooled, self.globals(batch.u)], dim=1))), None

    def loss(self, batch: Compressed) -> Tensor:
        return huber_log2(self.predict(batch)[0], batch.y)


class MessagePassingPredictor(NetworkPredictor):
    """A row of the table: names its network."""

    Network: type[MessagePassingNetwork]
    Settings = MessagePassingSettings

    def _build(self, targets: tuple[str, ...]) -> MessagePassingNetwork:
        return self.Network(len(targets), self.settings)
