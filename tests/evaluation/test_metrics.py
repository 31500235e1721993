import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

from nnirp.evaluation import metrics

values = st.lists(st.tuples(st.floats(-5, 15), st.floats(-5, 15)), min_size=3, max_size=40)


@settings(max_examples=60, deadline=None)
@given(values)
def test_errors_agree_with_scikit_learn(pairs):
    y, mean = np.array(pairs).T
    true, guess = 2**y, 2**mean
    close = {"rel": 1e-12, "abs": 1e-12}
    assert metrics.mape_percent(y, mean) == pytest.approx(100 * sk.mean_absolute_percentage_error(true, guess), **close)
    assert metrics.rmse_log2(y, mean) == pytest.approx(sk.root_mean_squared_error(y, mean), **close)
    assert metrics.median_ape_percent(y, mean) == pytest.approx(
        100 * sk.median_absolute_error(np.ones_like(y), guess / true), **close
    )


@settings(max_examples=60, deadline=None)
@given(values)
def test_rank_correlations_agree_with_scipy(pairs):
    y, mean = np.array(pairs).T
    if np.ptp(y) == 0 or np.ptp(mean) == 0:
        assert np.isnan(metrics.kendall(y, mean)) and np.isnan(metrics.spearman(y, mean))
    else:
        ranks = np.corrcoef(stats.rankdata(y), stats.rankdata(mean))[0, 1]
        assert metrics.spearman(y, mean) == pytest.approx(ranks, abs=1e-12)
        assert metrics.kendall(y, mean) == pytest.approx(stats.kendalltau(y, mean)[0], abs=1e-12)


def test_kendall_counts_pairs():
    assert metrics.kendall(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3])) == pytest.approx(4 / 6)


def test_within_and_bias():
    y, mean = np.zeros(4), np.log2([1.04, 0.91, 1.19, 2.0])
    assert [metrics.within_percent(y, mean, t) for t in (5, 10, 20)] == [25, 50, 75]
    assert metrics.bias_log2(y, y + 0.5) == 0.5


def test_intervals():
    y = np.array([0.0, 1, 2, 3])
    assert metrics.interval_coverage_percent(y, y - [1, 1, 1, -1], y + 1) == 75
    assert metrics.interval_width_log2(y - 1, y + 2) == 3


def test_regret_is_zero_for_the_right_choice_and_exact_for_few():
    y = np.array([1.0, 2, 3])
    assert metrics.top_k_regret_percent(y, y) == 0
    assert metrics.top_k_regret_percent(y, -y, k=1) == 300
    assert metrics.top_k_regret_percent(y, -y, k=2) == 100
    assert metrics.top_k_regret_percent(np.arange(50.0), np.arange(50.0) * 3) == 0
    assert np.isnan(metrics.top_k_regret_percent(y[:1], y[:1]))


def test_scores_leave_out_intervals_that_were_not_given():
    y = np.array([1.0, 2, 3])
    assert "interval_width_log2" not in metrics.score(y, y, np.full(3, np.nan), np.full(3, np.nan))
    assert metrics.score(y, y, y - 1, y + 1)["interval_coverage_percent"] == 100
