"""A perceptron on the five global features: what size alone tells, without a graph."""

from dataclasses import dataclass

from torch import Tensor, nn

from nnirp.layers.store import GraphSet
from nnirp.predictors.network import GraphNetwork, NetworkPredictor, Standard, huber_log2, measure_labels
from nnirp.predictors.registry import register
from nnirp.training.compression import Compressed, CompressedSet


@dataclass(frozen=True)
class MlpSettings:
    """Two hidden layers of `width`; the rest is the loop's (`nnirp.training.module.TrainingSettings`)."""

    width: int = 128
    max_epochs: int = 200
    patience: int = 40
    learning_rate: float = 3e-3


class MlpNetwork(GraphNetwork):
    """`u` [G, 5] standardised, two hidden layers, log2 of the targets [G, T]."""

    def __init__(self, targets: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(5, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, targets)
        )
        self.enter, self.labels = Standard(5), Standard(targets)

    def measure(self, train: GraphSet, compressed: CompressedSet) -> None:
        self.enter.measure(compressed.u)
        measure_labels(self.labels, train)

    def predict(self, batch: Compressed) -> tuple[Tensor, None]:
        return self.labels.reverse(self.layers(self.enter(batch.u))), None

    def loss(self, batch: Compressed) -> Tensor:
        return huber_log2(self.predict(batch)[0], batch.y)


@register
class Mlp(NetworkPredictor):
    """Global features to log2 of the targets; Huber loss in log2.

    DIPPM's MLP row (Panner Selvam and Brorsson, Euro-Par 2023). Departures: `u` (nodes, edges, FLOPs, bytes, batch, in log2) in place of
    its five static features, two hidden layers of 128 in place of three of 512, log2 of the targets in place of the targets.
    """

    name = "mlp"
    Settings = MlpSettings

    def _build(self, targets: tuple[str, ...]) -> MlpNetwork:
        return MlpNetwork(len(targets), self.settings.width)
