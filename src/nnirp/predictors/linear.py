"""FLOPs + bytes + operators + constant, each with a non-negative price: the baseline that needs no graph."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from nnirp.layers.store import GraphSet
from nnirp.predictors.interface import Log, Predictor
from nnirp.predictors.registry import register
from nnirp.predictors.totals import graph_totals


def fit_prices(columns: np.ndarray, measured: np.ndarray, penalty: float = 0.0) -> np.ndarray:
    """Non-negative least squares in relative error: minimises Σ ((columns · price − measured) / measured)².

    Args:
        columns: float64 [n, k].
        measured: float64 [n], positive.
        penalty: on the squared share that each column has in a typical row.

    Returns:
        float64 [k]; 0 for a column of zeros.
    """
    relative = columns / measured[:, None]
    typical = np.sqrt((relative**2).mean(axis=0))
    used = typical > 0
    rows, ones = relative[:, used] / typical[used], np.ones(len(measured))
    if penalty:
        rows = np.vstack([rows, np.sqrt(penalty * len(measured)) * np.eye(used.sum())])
        ones = np.concatenate([ones, np.zeros(used.sum())])
    prices = np.zeros(columns.shape[1])
    prices[used] = nnls(rows, ones)[0] / typical[used]
    return prices


@register
class Linear(Predictor):
    """y = a · FLOPs + b · bytes + c · operators + d, all non-negative, least squares of the relative error; four numbers a target.

    A prediction is never below half of the smallest training label, so that its logarithm exists.
    """

    name = "linear"

    def parameter_count(self) -> int:
        return int(np.isfinite(self.prices).sum())

    def _fit(self, train: GraphSet, val: GraphSet, *, seed: int, log: Log, checkpoints: Path | None) -> None:
        columns = self._columns(train)
        self.prices = np.full((len(train.targets), columns.shape[1]), np.nan)
        self.least = np.full(len(train.targets), np.nan)
        for t, label in enumerate(train.y.T):
            known = np.isfinite(label)
            if known.any():
                measured = np.exp2(label[known].astype(np.float64))
                self.prices[t], self.least[t] = fit_prices(columns[known], measured), measured.min() / 2

    def _mean(self, graphs: GraphSet) -> tuple[np.ndarray, None]:
        return np.log2(np.maximum(self._columns(graphs) @ self.prices.T, self.least)), None

    @staticmethod
    def _columns(graphs: GraphSet) -> np.ndarray:
        return np.column_stack([graph_totals(graphs), np.ones(len(graphs))])

    def _state(self) -> tuple[Mapping[str, np.ndarray], dict]:
        return {"prices": self.prices, "least": self.least}, {}

    def _restore(self, arrays: Mapping[str, np.ndarray], details: dict) -> None:
        self.prices, self.least = arrays["prices"], arrays["least"]
