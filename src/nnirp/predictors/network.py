"""What all networks share: graphs compressed once, trained by the one loop, predicted in batches."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nnirp.layers.store import GraphBatch, GraphSet
from nnirp.predictors.interface import Log, Predictor
from nnirp.predictors.search_space import DECAYS, DROPOUTS, RATES, WIDTHS, SearchSpace
from nnirp.training.compression import Compressed, CompressedSet, Reading, compress
from nnirp.training.fit import fit_network
from nnirp.training.module import TrainingSettings


class GraphNetwork(nn.Module):
    """A network over compressed graphs; `depth` layers of messages that come from producers, consumers or both."""

    depth, producers, consumers = 0, False, False

    def read(self, batch: GraphBatch) -> Reading:
        """What the network reads of raw graphs; nothing learned may enter. Without an own `read` it sees no node."""
        nothing = torch.zeros(0, dtype=torch.int64)
        return Reading(batch.x[:0], nothing, nothing, nothing, nothing, batch.num_graphs)

    def measure(self, train: GraphSet, compressed: CompressedSet) -> None:
        """Set the statistics of the training graphs, such as means, as buffers."""

    @abstractmethod
    def predict(self, batch: Compressed) -> tuple[Tensor, Tensor | None]:
        """[G, T] in log2 of the targets, and an own estimate of the error in log2 or None."""

    @abstractmethod
    def loss(self, batch: Compressed) -> Tensor:
        """A scalar; labels in `batch.y` are NaN where missing."""


class NetworkPredictor(Predictor):
    """A predictor whose `_build` makes a network."""

    network: GraphNetwork

    @abstractmethod
    def _build(self, targets: tuple[str, ...]) -> GraphNetwork:
        """A network with fresh weights."""

    def training(self) -> TrainingSettings:
        """The loop's settings out of the predictor's."""
        known = {f.name for f in fields(TrainingSettings)}
        return TrainingSettings(
            **{f.name: getattr(self.settings, f.name) for f in fields(self.settings) if f.name in known}
        )

    @classmethod
    def search_space(cls) -> SearchSpace:
        """What all networks have: rate, decay, width and dropout, where the settings name them."""
        known = {f.name for f in fields(cls.Settings)}
        ranges = {"learning_rate": RATES, "weight_decay": DECAYS, "width": WIDTHS, "dropout": DROPOUTS}
        return {name: allowed for name, allowed in ranges.items() if name in known}

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.network.parameters())

    def _fit(self, train: GraphSet, val: GraphSet, *, seed: int, log: Log, checkpoints: Path | None) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = self._build(train.targets)
        train, val = (part.select(np.isfinite(part.y).any(axis=1)) for part in (train, val))
        self._supported = np.isfinite(train.y).any(axis=0)
        compressed = compress(train, self.network)
        self.network.measure(train, compressed)
        checked = compress(val, self.network) if len(val) else None
        fit_network(self.network, compressed, checked, self.training(), seed=seed, log=log, checkpoints=checkpoints)
        self.network.cpu()

    @torch.inference_mode()
    def _mean(self, graphs: GraphSet) -> tuple[np.ndarray, np.ndarray | None]:
        if not len(graphs):
            return np.empty((0, len(self.targets))), None
        means, spreads = [], []
        self.network.eval()
        for batch in compress(graphs, self.network).batches(self.training().max_classes):
            mean, spread = self.network.predict(batch)
            means.append(mean.double().numpy())
            if spread is not None:
                spreads.append(spread.double().numpy())
        mean = np.where(self._supported, np.concatenate(means), np.nan)
        return mean, np.concatenate(spreads) if spreads else None

    def _state(self) -> tuple[Mapping[str, np.ndarray], dict]:
        arrays = {name: value.numpy() for name, value in self.network.state_dict().items()}
        return arrays, {"supported": self._supported.tolist()}

    def _restore(self, arrays: Mapping[str, np.ndarray], details: dict[str, Any]) -> None:
        self.network = self._build(self.targets)
        self.network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
        self.network.eval()
        self._supported = np.array(details["supported"], dtype=bool)


class Standard(nn.Module):
    """Columns standardised by the mean and deviation of the training set; `limit` deviations are approached, never passed."""

    def __init__(self, columns: int, limit: float | None = None) -> None:
        super().__init__()
        self.limit = limit
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("scale", torch.ones(columns))

    def measure(self, rows: Tensor) -> None:
        """Take the statistics of `rows` [n, columns]; a column that never varies has taught nothing, and is zero ever after."""
        if len(rows):
            rows = rows.double()
            deviation = rows.std(0, correction=0)
            self.mean.copy_(rows.mean(0))
            self.scale.copy_(torch.where(deviation > 1e-3, deviation, torch.inf))

    def forward(self, rows: Tensor) -> Tensor:
        standard = (rows - self.mean) / self.scale
        return standard if self.limit is None else self.limit * torch.tanh(standard / self.limit)

    def reverse(self, rows: Tensor) -> Tensor:
        """From standard units to those of the training set."""
        return rows * self.scale + self.mean


def measure_labels(standard: Standard, graphs: GraphSet) -> None:
    """Take mean and deviation of the log2 labels, each target by itself; 0 and 1 for one without labels."""
    for t, column in enumerate(graphs.y.T.astype(np.float64)):
        known = column[np.isfinite(column)]
        if len(known):
            standard.mean[t] = known.mean()
            standard.scale[t] = known.std() if known.std() > 1e-3 else 1.0


def masked_mean(loss: Tensor, y: Tensor) -> Tensor:
    """Mean of a loss [G, T] over the labels that exist, each target counting the same."""
    known = torch.isfinite(y)
    count = known.sum(0)
    per_target = torch.where(known, loss, 0.0).sum(0) / count.clamp(min=1)
    return per_target.sum() / (count > 0).sum().clamp(min=1)


def huber_log2(mean: Tensor, y: Tensor, delta: float = 0.25) -> Tensor:
    """Huber loss of the error in log2 [G, T] over the labels that exist; linear beyond `delta`."""
    return masked_mean(nn.functional.huber_loss(mean, torch.nan_to_num(y), reduction="none", delta=delta), y)
