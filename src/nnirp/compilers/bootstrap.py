"""Intervals from the raw repeats: rounds are drawn with replacement, because disturbances come in bursts longer than a repeat."""

import hashlib
from collections.abc import Sequence

import numpy as np

from nnirp.profiling.statistics import quantile

REPLICATES = 1000
CONFIDENCE = 0.95
LEAST_ROUNDS, LEAST_REPEATS = 3, 3


def replicates(rounds: Sequence[Sequence[float]], statistic: str, name: str, count: int = REPLICATES) -> np.ndarray:
    """Bootstrap replicates of a statistic of the repeats, float64 [count]; NaN where there are fewer than three repeats.

    Fewer than three rounds are no sample of moments: then the repeats are drawn one by one.

    Args:
        rounds: repeats by round.
        statistic: mean, median, p10 or min.
        name: of the run; the same name and repeats give the same replicates, other names independent ones.
        count: of replicates.
    """
    rounds = [times for times in rounds if times]
    repeats = [time for times in rounds for time in times]
    if len(repeats) < LEAST_REPEATS:
        return np.full(count, np.nan)
    if len(rounds) < LEAST_ROUNDS:
        rounds = [[time] for time in repeats]
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    longest = max(map(len, rounds))
    table = np.array([[*times, *[np.inf] * (longest - len(times))] for times in rounds])
    drawn = np.random.default_rng(seed).integers(len(rounds), size=(count, len(rounds)))
    sizes = np.array([len(times) for times in rounds])[drawn].sum(axis=1)
    values = np.sort(table[drawn].reshape(count, -1), axis=1)
    if statistic == "mean":
        return np.where(np.isfinite(values), values, 0.0).sum(axis=1) / sizes
    share = {"median": 0.5, "p10": 0.1, "min": 0.0}[statistic]
    position = (sizes - 1) * share
    low = np.floor(position).astype(int)
    high, row = np.minimum(low + 1, sizes - 1), np.arange(count)
    return values[row, low] + (values[row, high] - values[row, low]) * (position - low)


def interval(values: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Percentile interval of replicates; None where there are none."""
    finite = values[np.isfinite(values)].tolist()
    if len(finite) < len(values) / 2:
        return None
    return quantile(finite, (1 - confidence) / 2), quantile(finite, (1 + confidence) / 2)
