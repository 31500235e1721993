"""Kernel sum: operators fused into kernels, a time for each kind of kernel, added up (nn-Meter's idea; Zhang et al., MobiSys 2021)."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnirp.layers.store import GraphSet
from nnirp.predictors.fusion import KINDS, fused_kernels, kernel_kinds
from nnirp.predictors.interface import Log, Predictor
from nnirp.predictors.linear import fit_prices
from nnirp.predictors.operator_features import operator_work
from nnirp.predictors.registry import register

_NODES_AT_ONCE = 200_000
TERMS = ("kernels", "FLOPs", "bytes in", "bytes out", "bytes of weights", "bytes of patches")


@dataclass(frozen=True)
class KernelSumSettings:
    """Tried in turn, the combination with the least validation error is kept (the first one without validation).

    `penalties`: on the squared contribution of each price; `residuals`: whether an element-wise operator of two inputs is fused.
    """

    penalties: tuple[float, ...] = (1e-4, 1e-6, 1e-2)
    residuals: tuple[bool, ...] = (True, False)


@register
class KernelSum(Predictor):
    """y = Σ over kernels of launch + FLOPs · a + bytes · b, with non-negative prices of each kind of kernel.

    `nnirp.predictors.fusion` says which operators form a kernel and of what kind it is. A kernel reads what its first node reads and the
    weights of all, and writes what its last node writes; what passes between its nodes is not memory traffic.

    Departure: nn-Meter trains a random forest a kernel on measurements of that kernel alone; here only whole graphs are measured, and
    the prices are those that explain their sums, by least squares of the relative error. A prediction is never below half of the
    smallest training label, so that its logarithm exists.
    """

    name = "kernel_sum"
    Settings = KernelSumSettings

    def parameter_count(self) -> int:
        return int(np.isfinite(self.prices).sum())

    def _fit(self, train: GraphSet, val: GraphSet, *, seed: int, log: Log, checkpoints: Path | None) -> None:
        targets, rules = len(train.targets), self.settings.residuals
        columns, checked = ([kernel_totals(part, residual=rule) for rule in rules] for part in (train, val))
        self.prices = np.full((targets, columns[0].shape[1]), np.nan)
        self.least, self.residual = np.full(targets, np.nan), np.zeros(targets, dtype=np.int64)
        for t in range(targets):
            known, seen = np.isfinite(train.y[:, t]), np.isfinite(val.y[:, t])
            if not known.any():
                continue
            measured = np.exp2(train.y[known, t].astype(np.float64))
            self.least[t] = measured.min() / 2
            best = np.inf
            for r, penalty in itertools.product(range(len(rules)), self.settings.penalties):
                prices = fit_prices(columns[r][known], measured, penalty)
                guess = np.log2(np.maximum(checked[r][seen] @ prices, self.least[t]))
                error = np.abs(guess - val.y[seen, t]).mean() if seen.any() else 0.0
                if error < best:
                    best, self.prices[t], self.residual[t] = error, prices, rules[r]

    def _mean(self, graphs: GraphSet) -> tuple[np.ndarray, None]:
        totals = {rule: kernel_totals(graphs, residual=bool(rule)) for rule in np.unique(self.residual)}
        time = [totals[rule] @ prices for rule, prices in zip(self.residual, self.prices, strict=True)]
        return np.log2(np.maximum(np.column_stack(time), self.least)), None

    def _state(self) -> tuple[Mapping[str, np.ndarray], dict]:
        return {"prices": self.prices, "least": self.least, "residual": self.residual}, {}

    def _restore(self, arrays: Mapping[str, np.ndarray], details: dict) -> None:
        self.prices, self.least, self.residual = arrays["prices"], arrays["least"], arrays["residual"]


def kernel_totals(graphs: GraphSet, *, residual: bool = True) -> np.ndarray:
    """float64 [n, 1 + kinds × terms]: one, and for each of `KINDS` each of `TERMS` added over its kernels."""
    total = np.zeros((len(graphs), len(KINDS), len(TERMS)))
    for batch in graphs.batches(_NODES_AT_ONCE):
        head = fused_kernels(batch, residual=residual).numpy()
        raw = np.exp2(operator_work(batch).double().numpy()) - 1
        source, target = batch.edge_index.numpy()
        within = head[source] == head[target]
        inner = np.zeros(len(head), dtype=bool)  # nodes whose output stays inside their kernel
        inner[source[within]] = True
        passed = np.zeros(len(head))  # bytes that a node reads from its own kernel
        np.add.at(passed, target[within], raw[source[within], 2])
        begins = head == np.arange(len(head))
        terms = [
            begins,
            raw[:, 0],
            np.maximum(raw[:, 1] - passed, 0),
            np.where(inner, 0, raw[:, 2]),
            raw[:, 3],
            raw[:, 4],
        ]
        rows = batch.index.numpy()[batch.graph.numpy()]
        np.add.at(total, (rows, kernel_kinds(batch).numpy()[head]), np.column_stack(terms))
    return np.column_stack([np.ones(len(graphs)), total.reshape(len(graphs), len(KINDS) * len(TERMS))])
