"""Ridge regression on the operator histogram: strong where the test graphs resemble the training graphs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import GraphSet
from nnirp.predictors.interface import Log, Predictor
from nnirp.predictors.registry import register
from nnirp.predictors.totals import operator_totals


@dataclass(frozen=True)
class HistogramRidgeSettings:
    """`penalties` are tried in turn; the one with the least validation error is kept (the middle one without validation)."""

    penalties: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0)


@register
class HistogramRidge(Predictor):
    """log2 y linear in log2(1 + count) of each operator and in `u`, standardised; one weight vector a target (ridge: Hoerl and Kennard, 1970)."""

    name = "histogram_ridge"
    Settings = HistogramRidgeSettings

    def parameter_count(self) -> int:
        return int(np.isfinite(self.weights).sum())

    def _fit(self, train: GraphSet, val: GraphSet, *, seed: int, log: Log, checkpoints: Path | None) -> None:
        rows = self._rows(train)
        self.center, self.scale = rows.mean(0), rows.std(0)
        self.scale[self.scale < 1e-6] = np.inf  # an operator that never varies in training has no weight
        columns, checked = self._standard(rows), self._standard(self._rows(val))
        self.weights = np.full((len(train.targets), columns.shape[1]), np.nan)
        for t in range(len(train.targets)):
            known, seen = np.isfinite(train.y[:, t]), np.isfinite(val.y[:, t])
            if known.any():
                trials = [_ridge(columns[known], train.y[known, t], p) for p in self.settings.penalties]
                errors = [np.abs(checked[seen] @ w - val.y[seen, t]).mean() if seen.any() else np.nan for w in trials]
                best = int(np.argmin(errors)) if seen.any() else len(trials) // 2
                self.weights[t] = trials[best]
                log(f"penalty/{train.targets[t]}", self.settings.penalties[best], 0)

    def _mean(self, graphs: GraphSet) -> tuple[np.ndarray, None]:
        return self._standard(self._rows(graphs)) @ self.weights.T, None

    def _standard(self, rows: np.ndarray) -> np.ndarray:
        return np.column_stack([(rows - self.center) / self.scale, np.ones(len(rows))])

    @staticmethod
    def _rows(graphs: GraphSet) -> np.ndarray:
        return np.column_stack([operator_totals(graphs)[:, : len(load_vocabulary())], graphs.u.astype(np.float64)])

    def _state(self) -> tuple[Mapping[str, np.ndarray], dict]:
        return {"weights": self.weights, "center": self.center, "scale": self.scale}, {}

    def _restore(self, arrays: Mapping[str, np.ndarray], details: dict) -> None:
        self.weights, self.center, self.scale = arrays["weights"], arrays["center"], arrays["scale"]


def _ridge(columns: np.ndarray, y: np.ndarray, penalty: float) -> np.ndarray:
    """Least squares with a penalty on all weights but the last, the intercept."""
    diagonal = np.full(columns.shape[1], penalty)
    diagonal[-1] = 1e-9
    return np.linalg.solve(columns.T @ columns + np.diag(diagonal), columns.T @ y.astype(np.float64))
