"""How throughput scales with the batch: the metrics of the benchmark on plain numbers or on arrays of bootstrap replicates.

T is samples a second. RTR and ASE are those of Furutanpey et al. (arXiv:2504.20198), known second-hand; the speed-up is standard; relative
scaling efficiency, friction, mitigation and area are this project's own. With L the time of one batch: ASE(b) = L(1) / L(b), RTR(b) =
b · ASE(b), S(b) / S(1) = RSE(b).
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TypeVar

import numpy as np

Number = TypeVar("Number", float, np.ndarray)


def throughput(batch: int, latency_ms: Number) -> Number:
    """Samples a second from the milliseconds of one batch."""
    return 1e3 * batch / latency_ms


def relative_throughput_rate(at_batch: Number, at_one: Number) -> Number:
    """RTR(b) = T(b) / T(1)."""
    return at_batch / at_one


def absolute_scaling_efficiency(batch: int, at_batch: Number, at_one: Number) -> Number:
    """ASE(b) = T(b) / (b · T(1)); more than 1 where a batch uses the machine better than single samples do."""
    return at_batch / (batch * at_one)


def speed_up(compiled: Number, baseline: Number) -> Number:
    """S(b) = T_c(b) / T_id(b)."""
    return compiled / baseline


def relative_scaling_efficiency(compiled_ase: Number, baseline_ase: Number) -> Number:
    """RSE(b) = ASE_c(b) / ASE_id(b)."""
    return compiled_ase / baseline_ase


def friction(ase: Number) -> Number:
    """f = 1 − ASE: the share of perfect scaling that is lost."""
    return 1 - ase


def mitigation(compiled: Number, baseline: Number) -> Number:
    """m = (f_id − f_c) / f_id: the share of the baseline's friction that a compiler takes away; undefined where f_id ≤ 0.

    Raises:
        ZeroDivisionError: a baseline friction that is a plain number is not positive.
    """
    if isinstance(baseline, np.ndarray):
        return (baseline - compiled) / np.where(baseline > 0, baseline, np.nan)
    if baseline <= 0:
        raise ZeroDivisionError("the baseline has no friction")
    return (baseline - compiled) / baseline


def area(ase: Mapping[int, Number]) -> Number:
    """Mean height of ASE over log2 of the batch: the trapezoid sum divided by log2 of the largest batch; 1 is perfect scaling.

    Args:
        ase: {batch: ASE}, batch 1 included and at least one more.

    Raises:
        ValueError: batch 1 is absent, or alone.
    """
    batches = sorted(ase)
    if len(batches) < 2 or batches[0] != 1:
        raise ValueError("the area needs batch 1 and a larger one")
    total = 0.0
    for low, high in pairwise(batches):
        total = total + (ase[low] + ase[high]) / 2 * (math.log2(high) - math.log2(low))
    return total / math.log2(batches[-1])


def reversals(baseline: Mapping[str, float], compiled: Mapping[str, float]) -> list[tuple[str, str]]:
    """Pairs (faster under the baseline, faster once compiled) whose order a compiler turns.

    Args:
        baseline: {model: throughput} of the baseline.
        compiled: {model: throughput} of a compiler; models that are in one of both are left out.
    """
    models = [model for model in baseline if model in compiled]
    return [
        (one, other)
        for one in models
        for other in models
        if baseline[one] > baseline[other] and compiled[one] < compiled[other]
    ]
