"""Proportional to the FLOPs: the estimate that papers and model cards imply."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nnirp.layers.store import GraphSet
from nnirp.predictors.interface import Log, Predictor
from nnirp.predictors.registry import register
from nnirp.predictors.totals import graph_totals


@register
class Flops(Predictor):
    """y = a · FLOPs, with log2 a the median of log2(y / FLOPs) over the training graphs; one number a target."""

    name = "flops"

    def parameter_count(self) -> int:
        return int(np.isfinite(self.log_scale).sum())

    def _fit(self, train: GraphSet, val: GraphSet, *, seed: int, log: Log, checkpoints: Path | None) -> None:
        difference = train.y.astype(np.float64) - self._log_flops(train)
        columns = [column[np.isfinite(column)] for column in difference.T]
        self.log_scale = np.array([np.median(c) if len(c) else np.nan for c in columns])

    def _mean(self, graphs: GraphSet) -> tuple[np.ndarray, None]:
        return self._log_flops(graphs) + self.log_scale, None

    @staticmethod
    def _log_flops(graphs: GraphSet) -> np.ndarray:
        return np.log2(1 + graph_totals(graphs)[:, :1])

    def _state(self) -> tuple[Mapping[str, np.ndarray], dict]:
        return {"log_scale": self.log_scale}, {}

    def _restore(self, arrays: Mapping[str, np.ndarray], details: dict) -> None:
        self.log_scale = arrays["log_scale"]
