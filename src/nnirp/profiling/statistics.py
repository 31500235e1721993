"""Statistics of repeated measurements, on plain lists of numbers."""

import math
import statistics as std
from collections.abc import Sequence
from functools import lru_cache

STATISTICS = ("min", "p10", "median", "mean")


def summarise(values: Sequence[float]) -> dict[str, float | int]:
    """`count`, `mean`, `median`, `variance` (n − 1 in the denominator; 0 for one value), `min` and `max`.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("no value to summarise")
    values = [float(value) for value in values]
    return {
        "count": len(values),
        "mean": std.fmean(values),
        "median": std.median(values),
        "variance": std.variance(values) if len(values) > 1 else 0.0,
        "min": min(values),
        "max": max(values),
    }


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile with linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996)."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * share
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def statistic(values: Sequence[float], name: str) -> float:
    """One of `STATISTICS`."""
    if name == "min":
        return min(values)
    if name == "p10":
        return quantile(values, 0.1)
    return std.median(values) if name == "median" else std.fmean(values)


@lru_cache(maxsize=4096)
def median_ranks(count: int, confidence: float) -> tuple[int, int]:
    """Zero-based ranks of the order statistics that enclose the median with at least `confidence`.

    The number of values below the median is binomial(n, 1/2), so (x_(k), x_(n+1−k)) covers it with probability
    1 − 2 P(B ≤ k − 1): the interval needs no distribution (Conover, Practical Nonparametric Statistics, 3.2). With few
    values no interval reaches `confidence`, and the whole range is returned: 93.75 % for five values.
    """
    tail, below, weight = (1 - confidence) / 2, 0.0, 0.5**count if count < 1000 else 0.0
    if count >= 1000:  # the normal approximation, where 0.5 ** n is no longer a float
        half = std.NormalDist().inv_cdf(1 - tail) * math.sqrt(count) / 2
        low = max(0, math.floor(count / 2 - half) - 1)
        return low, count - 1 - low
    rank = 0
    for k in range(count // 2):
        below += weight
        if below > tail:
            break
        rank = k
        weight *= (count - k) / (k + 1)
    return rank, count - 1 - rank


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Confidence interval of the median by order statistics; see `median_ranks`."""
    ordered = sorted(values)
    low, high = median_ranks(len(ordered), confidence)
    return ordered[low], ordered[high]


def relative_half_width(values: Sequence[float], confidence: float = 0.95) -> float:
    """Half the width of the median's confidence interval, relative to the median; infinite below five values."""
    if len(values) < 5:
        return math.inf
    low, high = median_interval(values, confidence)
    middle = std.median(values)
    return (high - low) / 2 / middle if middle else math.inf


def relative_difference(one: float, other: float) -> float:
    """|a − b| relative to the mean of both; 0 where both are 0."""
    scale = (one + other) / 2
    return abs(one - other) / scale if scale else 0.0
