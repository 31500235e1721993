"""What all networks share: an ensemble of equal members trained by the one loop, and batched prediction."""

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
from nnirp.training.fit import fit_network
from nnirp.training.module import TrainingSettings


def target_statistics(graphs: GraphSet) -> tuple[Tensor, Tensor]:
    """float32 [T] mean and deviation of the log2 labels; 0 and 1 for a target without labels."""
    columns = [column[np.isfinite(column)].astype(np.float64) for column in graphs.y.T]
    mean = [c.mean() if len(c) else 0.0 for c in columns]
    deviation = [c.std() if len(c) and c.std() > 1e-3 else 1.0 for c in columns]
    return torch.tensor(mean, dtype=torch.float32), torch.tensor(deviation, dtype=torch.float32)


def masked_mean(loss: Tensor, y: Tensor) -> Tensor:
    """Mean of a loss [G, T] over the labels that exist, each target counting the same."""
    known = torch.isfinite(y)
    count = known.sum(0)
    per_target = torch.where(known, loss, 0.0).sum(0) / count.clamp(min=1)
    return per_target.sum() / (count > 0).sum().clamp(min=1)


class NetworkPredictor(Predictor):
    """A predictor whose `_build` makes a network; `_measure` sets the buffers that it takes from the training graphs."""

    @abstractmethod
    def _build(self, targets: tuple[str, ...]) -> nn.Module:
        """A network with fresh weights."""

    def _measure(self, network: nn.Module, train: GraphSet) -> None:
        """Set statistics of the training graphs, such as means, as buffers."""

    def training(self) -> TrainingSettings:
        """The loop's settings out of the predictor's."""
        known = {f.name for f in fields(TrainingSettings)}
        return TrainingSettings(
            **{f.name: getattr(self.settings, f.name) for f in fields(self.settings) if f.name in known}
        )

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.network.parameters())

    def _fit(self, train: GraphSet, val: GraphSet, *, seed: int, log: Log, checkpoints: Path | None) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = self._build(train.targets)
        self._measure(self.network, train)
        self._supported = np.isfinite(train.y).any(axis=0)
        settings = self.training()
        fit_network(self.network, train, val, settings, seed=seed, log=log, checkpoints=checkpoints)
        self.network.cpu()

    @torch.inference_mode()
    def _mean(self, graphs: GraphSet) -> tuple[np.ndarray, np.ndarray | None]:
        means, spreads = [np.empty((0, len(self.targets)))], []
        self.network.eval()
        for batch in graphs.batches(self.training().max_nodes):
            mean, spread = self._predict(batch)
            means.append(mean.double().numpy())
            if spread is not None:
                spreads.append(spread.double().numpy())
        mean = np.where(self._supported, np.concatenate(means), np.nan)
        return mean, np.concatenate(spreads) if spreads else None

    def _predict(self, batch: GraphBatch) -> tuple[Tensor, Tensor | None]:
        return self.network.predict(self.network.prepare(batch))

    def _state(self) -> tuple[Mapping[str, np.ndarray], dict]:
        arrays = {name: value.numpy() for name, value in self.network.state_dict().items()}
        return arrays, {"supported": self._supported.tolist()}

    def _restore(self, arrays: Mapping[str, np.ndarray], details: dict[str, Any]) -> None:
        self.network = self._build(self.targets)
        self.network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
        self.network.eval()
        self._supported = np.array(details["supported"], dtype=bool)
