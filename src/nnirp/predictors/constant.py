"""The same answer for every graph: what a predictor must beat to have learned anything."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nnirp.layers.store import GraphSet
from nnirp.predictors.interface import Log, Predictor
from nnirp.predictors.registry import register


@register
class Constant(Predictor):
    """The median of the training labels in log2, one number a target."""

    name = "constant"

    def parameter_count(self) -> int:
        return int(np.isfinite(self.medians).sum())

    def _fit(self, train: GraphSet, val: GraphSet, *, seed: int, log: Log, checkpoints: Path | None) -> None:
        columns = [column[np.isfinite(column)] for column in train.y.T]
        self.medians = np.array([np.median(c) if len(c) else np.nan for c in columns], dtype=np.float64)

    def _mean(self, graphs: GraphSet) -> tuple[np.ndarray, None]:
        return np.tile(self.medians, (len(graphs), 1)), None

    def _state(self) -> tuple[Mapping[str, np.ndarray], dict]:
        return {"medians": self.medians}, {}

    def _restore(self, arrays: Mapping[str, np.ndarray], details: dict) -> None:
        self.medians = arrays["medians"]
