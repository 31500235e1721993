import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nnirp.errors import InputError
from nnirp.evaluation.statistics import bootstrap_mean, critical_difference, over_seeds, paired_bootstrap


def test_seeds_are_summarised_by_mean_and_sd(scores):
    rows = scores.rows
    one = rows[(rows["scope"] == "pooled") & (rows["metric"] == "mape_percent") & (rows["protocol"] == "random")]
    values = one[one["predictor"] == "dippm"]["value"]
    table = over_seeds(one).set_index("predictor").loc["dippm"]
    assert table["mean"] == pytest.approx(values.mean()) and table["sd"] == pytest.approx(values.std(ddof=1))
    assert table["seeds"] == 3


@pytest.mark.parametrize("n", [15, 40])
def test_bootstrap_intervals_have_their_nominal_coverage(n):
    generator = np.random.default_rng(n)
    hits = 0
    for trial in range(400):
        low, high = bootstrap_mean(generator.normal(3, 2, n), draws=500, seed=trial)
        hits += low <= 3 <= high
    assert 0.92 <= hits / 400 <= 0.98


def test_paired_bootstrap_tells_apart_what_differs_and_only_that(scores):
    samples = scores.samples[scores.samples["protocol"] == "family"]
    found = paired_bootstrap(samples, "roofline", "flops")
    assert found.difference < 0 and found.significant and found.clusters == 15
    same = pd.concat([samples, samples[samples["predictor"] == "flops"].assign(predictor="twin")])
    assert paired_bootstrap(same, "flops", "twin").difference == 0
    assert not paired_bootstrap(same, "flops", "twin").significant


def test_paired_bootstrap_refuses_other_samples(scores):
    samples = scores.samples[scores.samples["protocol"] == "family"]
    part = samples[(samples["predictor"] != "flops") | (samples["fold"] == "conv")]
    with pytest.raises(InputError, match="not scored on the same samples"):
        paired_bootstrap(part, "flops", "dippm")


def test_critical_difference_is_that_of_the_literature():
    # Demšar (2006), section 3.2.2: 4 algorithms on 14 data sets, q 2.569, CD 1.25.
    errors = pd.DataFrame(np.random.default_rng(0).random((14, 4)), columns=list("abcd"))
    ranking = critical_difference(errors)
    assert ranking.critical_difference == pytest.approx(1.25, abs=0.01)
    assert ranking.statistic == pytest.approx(stats.friedmanchisquare(*errors.to_numpy().T).statistic)


def test_groups_hold_what_is_not_told_apart():
    errors = pd.DataFrame({"good": np.arange(12.0), "bad": np.arange(12.0) + 1, "worse": np.arange(12.0) + 2})
    ranking = critical_difference(errors)
    assert ranking.mean_rank.tolist() == [1, 2, 3] and ranking.p_value < 0.001
    assert ranking.groups == (("good", "bad"), ("bad", "worse")) or ranking.critical_difference < 1


def test_a_ranking_needs_two_of_each():
    with pytest.raises(InputError, match="at least 2 predictors"):
        critical_difference(pd.DataFrame({"a": [1.0, 2.0]}))
