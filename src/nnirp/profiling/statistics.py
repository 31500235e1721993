"""Statistics of repeated measurements, on plain lists of numbers."""

import math
import statistics as std
from collections.abc import Sequence

STATISTICS = ("min", "p10", "median", "mean")


def summarise(values: Sequence[float]) -> dict[str, float | int]:
    """`count`, `mean`, `median`, `variance` (n − 1 in the denominator; 0 for one value), `min`, `max` and `p10`.

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
        "p10": quantile(values, 0.1),
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


def relative_difference(one: float, other: float) -> float:
    """|a − b| relative to the mean of both; 0 where both are 0."""
    scale = (one + other) / 2
    return abs(one - other) / scale if scale else 0.0
