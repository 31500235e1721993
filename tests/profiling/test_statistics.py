import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnirp.profiling.statistics import quantile, statistic, summarise

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


def test_quantile_interpolates():
    assert quantile([3.0, 1.0, 2.0], 0.25) == 1.5
    assert statistic([4.0, 2.0], "p10") == pytest.approx(2.2)
