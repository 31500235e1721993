"""A perceptron on the five global features: what size alone tells, without a graph."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nnirp.layers.store import GraphBatch, GraphSet
from nnirp.predictors.network import NetworkPredictor, masked_mean, target_statistics
from nnirp.predictors.registry import register


@dataclass(frozen=True)
class MlpSettings:
    width: int = 128
    max_epochs: int = 200
    patience: int = 40
    learning_rate: float = 3e-3
    max_nodes: int = 100_000


class MlpNetwork(nn.Module):
    """`u` [G, 5] standardised, two hidden layers, log2 of the targets [G, T]."""

    def __init__(self, targets: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(5, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, targets)
        )
        for name, size, value in (
            ("u_mean", 5, 0.0),
            ("u_scale", 5, 1.0),
            ("y_mean", targets, 0.0),
            ("y_scale", targets, 1.0),
        ):
            self.register_buffer(name, torch.full((size,), value))

    def prepare(self, batch: GraphBatch) -> Tensor:
        return (batch.u - self.u_mean) / self.u_scale

    def predict(self, prepared: Tensor) -> tuple[Tensor, None]:
        return self.layers(prepared) * self.y_scale + self.y_mean, None

    def loss(self, prepared: Tensor, y: Tensor) -> Tensor:
        error = nn.functional.huber_loss(self.predict(prepared)[0], torch.nan_to_num(y), reduction="none", delta=0.25)
        return masked_mean(error, y)


@register
class Mlp(NetworkPredictor):
    """Global features to log2 of the targets; Huber loss in log2. DIPPM's MLP row, with `u` for its static features."""

    name = "mlp"
    Settings = MlpSettings

    def _build(self, targets: tuple[str, ...]) -> nn.Module:
        return MlpNetwork(len(targets), self.settings.width)

    def _measure(self, network: nn.Module, train: GraphSet) -> None:
        u = torch.from_numpy(train.u)
        scale = u.std(0, correction=0)
        network.u_mean.copy_(u.mean(0))
        network.u_scale.copy_(torch.where(scale > 1e-3, scale, 1.0))
        for buffer, value in zip((network.y_mean, network.y_scale), target_statistics(train), strict=True):
            buffer.copy_(value)
