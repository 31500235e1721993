import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnirp.profiling.statistics import (
    median_interval,
    median_ranks,
    quantile,
    relative_half_width,
    statistic,
    summarise,
)

values = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=200)


@given(values)
def test_summary_agrees_with_the_standard_library(times):
    found = summarise(times)
    assert found["count"] == len(times)
    assert found["min"] <= found["median"] <= found["max"]
    assert math.isclose(found["mean"], statistics.fmean(times))
    assert found["variance"] >= 0


def test_summary_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no value"):
        summarise([])


@given(st.integers(6, 400))
def test_ranks_cover_the_median_with_the_confidence(count):
    low, high = median_ranks(count, 0.95)
    missed = 2 * sum(math.comb(count, k) for k in range(low + 1)) / 2**count
    assert low + high == count - 1
    assert missed <= 0.05
    assert missed + 2 * math.comb(count, low + 1) / 2**count > 0.05  # and no narrower interval does


@pytest.mark.parametrize("count", [999, 1000, 5000])
def test_normal_approximation_joins_the_exact_ranks(count):
    low, high = median_ranks(count, 0.95)
    assert abs((high - low) / (1.96 * math.sqrt(count)) - 1) < 0.05


@given(values)
def test_interval_holds_the_median(times):
    low, high = median_interval(times)
    assert low <= statistics.median(times) <= high


def test_half_width_needs_five_values():
    assert relative_half_width([1.0] * 4) == math.inf
    assert relative_half_width([1.0] * 5) == 0.0


def test_quantile_interpolates():
    assert quantile([3.0, 1.0, 2.0], 0.25) == 1.5
    assert statistic([4.0, 2.0], "p10") == pytest.approx(2.2)
