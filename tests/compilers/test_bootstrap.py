import numpy as np
import pytest

from nnirp.compilers.bootstrap import interval, replicates
from nnirp.profiling.statistics import quantile

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("statistic", ["median", "p10", "min", "mean"])
def test_replicates_are_the_statistic_of_rounds_drawn_again(statistic):
    rounds = [[1.0, 2.0, 3.0], [10.0], [4.0, 5.0]]
    found = replicates(rounds, statistic, "a", 400)
    pick = {
        "median": np.median,
        "p10": lambda v: quantile(list(v), 0.1),
        "min": np.min,
        "mean": np.mean,
    }[statistic]
    possible = {
        round(float(pick([*rounds[i], *rounds[j], *rounds[k]])), 9)
        for i in range(3)
        for j in range(3)
        for k in range(3)
    }
    assert {round(float(value), 9) for value in found} == possible


def test_the_interval_covers_the_true_median_about_as_often_as_it_says():
    hits = 0
    for trial in range(200):
        rounds = RNG.normal(10, 1, (30, 4)).tolist()
        low, high = interval(replicates(rounds, "median", str(trial), 400))
        hits += low <= 10 <= high
    assert hits >= 180  # 95 % wanted; fewer than 90 % has probability 0.1 % then


def test_bursts_widen_the_interval_because_rounds_are_drawn_and_not_repeats():
    calm = [[10.0, 10.1, 9.9, 10.0] for _ in range(10)]
    bursts = [[10.0] * 4 if i % 2 else [13.0] * 4 for i in range(10)]
    width = [np.ptp(interval(replicates(r, "mean", "x"))) for r in (calm, bursts)]
    independent = np.ptp(interval(replicates([[t] for r in bursts for t in r], "mean", "x")))
    assert width[1] > 10 * width[0] and width[1] > 1.5 * independent


def test_the_same_run_gives_the_same_replicates_and_another_run_others():
    rounds = RNG.random((5, 5)).tolist()
    one, again, other = (replicates(rounds, "median", name) for name in ("a", "a", "b"))
    assert (one == again).all() and (one != other).any()


def test_two_repeats_have_no_interval():
    assert interval(replicates([[1.0, 2.0]], "median", "a")) is None
    assert interval(replicates([[1.0, 2.0, 3.0]], "median", "a")) is not None
