"""Scores of predictions against measurements, both in log2 of the target.

Errors in percent are of the target itself: |2^(mean - y) - 1| · 100. Rank correlations are SciPy's (tau-b, average ranks).
"""

from collections.abc import Callable

import numpy as np
from scipy import stats

THRESHOLDS_PERCENT = (5, 10, 20)


def ape_percent(y: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Absolute percentage error of each prediction; float64 [n] from log2 [n]."""
    return np.abs(np.exp2(mean - y) - 1) * 100


def mape_percent(y: np.ndarray, mean: np.ndarray) -> float:
    """Mean absolute percentage error."""
    return float(ape_percent(y, mean).mean())


def median_ape_percent(y: np.ndarray, mean: np.ndarray) -> float:
    """Median absolute percentage error."""
    return float(np.median(ape_percent(y, mean)))


def within_percent(y: np.ndarray, mean: np.ndarray, threshold_percent: float) -> float:
    """Share of predictions, in percent, whose absolute percentage error is at most the threshold."""
    return float((ape_percent(y, mean) <= threshold_percent).mean() * 100)


def rmse_log2(y: np.ndarray, mean: np.ndarray) -> float:
    """Root mean squared error of log2; 1 is a factor of two."""
    return float(np.sqrt(np.mean((mean - y) ** 2)))


def bias_log2(y: np.ndarray, mean: np.ndarray) -> float:
    """Mean of prediction minus measurement in log2; positive is too slow."""
    return float(np.mean(mean - y))


def spearman(y: np.ndarray, mean: np.ndarray) -> float:
    """Spearman's rank correlation; NaN with fewer than two different values on either side."""
    return float(stats.spearmanr(y, mean).statistic) if _varies(y, mean) else float("nan")


def kendall(y: np.ndarray, mean: np.ndarray) -> float:
    """Kendall's tau-b; NaN with fewer than two different values on either side."""
    return float(stats.kendalltau(y, mean).statistic) if _varies(y, mean) else float("nan")


def _varies(y: np.ndarray, mean: np.ndarray) -> bool:
    return len(y) > 1 and bool(np.ptp(y) > 0) and bool(np.ptp(mean) > 0)


def interval_coverage_percent(y: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Share of measurements, in percent, inside their interval."""
    return float(((low <= y) & (y <= high)).mean() * 100)


def interval_width_log2(low: np.ndarray, high: np.ndarray) -> float:
    """Mean width of the intervals in log2."""
    return float(np.mean(high - low))


def top_k_regret_percent(
    y: np.ndarray, mean: np.ndarray, *, k: int = 1, candidates: int = 10, draws: int = 200, seed: int = 0
) -> float:
    """What choosing by prediction costs: the best measurement among the k predicted fastest, over the fastest of all.

    Mean, in percent above the fastest, over draws of that many candidates without replacement; with no more samples than
    candidates, their one exact value. 0 is a perfect choice; NaN with fewer than two samples.
    """
    n = len(y)
    if n < 2:
        return float("nan")
    if n <= candidates:
        chosen = np.arange(n)[None]
    else:
        generator = np.random.default_rng(seed)
        chosen = np.stack([generator.choice(n, candidates, replace=False) for _ in range(draws)])
    true, guess = y[chosen], mean[chosen]
    picked = np.argsort(guess, axis=1, kind="stable")[:, : max(1, k)]
    best_picked = np.take_along_axis(true, picked, axis=1).min(axis=1)
    return float(np.mean(np.exp2(best_picked - true.min(axis=1)) - 1) * 100)


POINT_METRICS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "mape_percent": mape_percent,
    "median_ape_percent": median_ape_percent,
    **{f"within_{t}_percent": lambda y, mean, t=t: within_percent(y, mean, t) for t in THRESHOLDS_PERCENT},
    "rmse_log2": rmse_log2,
    "bias_log2": bias_log2,
    "spearman": spearman,
    "kendall": kendall,
    "top_1_regret_percent": lambda y, mean: top_k_regret_percent(y, mean, k=1),
    "top_3_regret_percent": lambda y, mean: top_k_regret_percent(y, mean, k=3),
}
"""Metrics of (y, mean); `score` adds those of intervals."""

RANKING = frozenset({"spearman", "kendall", "top_1_regret_percent", "top_3_regret_percent"})
"""Metrics that compare samples with each other: they need more than a few samples of a group to mean anything."""

HIGHER_IS_BETTER = frozenset({"spearman", "kendall"} | {f"within_{t}_percent" for t in THRESHOLDS_PERCENT})


def score(
    y: np.ndarray,
    mean: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    *,
    ranking: bool = True,
) -> dict[str, float]:
    """Every metric of one group; arrays float64 [n] in log2. Interval metrics only where intervals are given."""
    result = {name: f(y, mean) for name, f in POINT_METRICS.items() if ranking or name not in RANKING}
    if low is not None and high is not None and np.isfinite(low).all() and np.isfinite(high).all():
        result["interval_coverage_percent"] = interval_coverage_percent(y, low, high)
        result["interval_width_log2"] = interval_width_log2(low, high)
    return result
