from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nnirp.errors import InputError
from nnirp.evaluation.evaluator import evaluate, evaluate_many, samples_table
from nnirp.evaluation.metrics import kendall, mape_percent


@pytest.fixture
def table(make_predictions, samples, indices):
    return make_predictions(samples, indices["random"], "mine", 0.1)


def test_pooled_and_family_scores_are_those_of_the_samples(table, samples, indices):
    scores = evaluate(table, samples, indices["random"])
    joined = table.merge(samples, on="sample")
    assert scores.value() == pytest.approx(mape_percent(joined["y_runtime_ms"], joined["mean"]), rel=1e-12)
    families = {
        f: (mape_percent(g["y_runtime_ms"], g["mean"]), kendall(g["y_runtime_ms"], g["mean"]))
        for f, g in joined.groupby("family")
    }
    for family, (mape, tau) in families.items():
        assert scores.value("mape_percent", "family", group=family) == pytest.approx(mape, rel=1e-12)
        assert scores.value("kendall", "family", group=family) == pytest.approx(tau, abs=1e-12)
    assert scores.value("mape_percent", "worst_family") == pytest.approx(
        max(m for m, _ in families.values()), rel=1e-12
    )
    assert scores.value("kendall", "worst_family") == pytest.approx(min(t for _, t in families.values()), abs=1e-12)
    assert scores.value("kendall", "mean_over_families") == pytest.approx(np.mean([t for _, t in families.values()]))
    clusters = [mape_percent(g["y_runtime_ms"], g["mean"]) for _, g in joined.groupby("cluster")]
    assert scores.value("mape_percent", "mean_over_clusters") == pytest.approx(np.mean(clusters), rel=1e-12)


def test_row_order_does_not_matter(table, samples, indices):
    first = evaluate(table, samples, indices["random"])
    second = evaluate(table.sample(frac=1, random_state=1), samples.sample(frac=1, random_state=2), indices["random"])
    pd.testing.assert_frame_equal(first.rows, second.rows)


def test_only_sample_target_and_mean_are_needed(table, samples, indices):
    scores = evaluate(table[["sample", "target", "mean"]], samples, indices["random"])
    assert set(scores.rows["predictor"]) == {"unnamed"}
    assert "interval_coverage_percent" not in set(scores.rows["metric"])


def test_validation_rows_are_scored_apart(make_predictions, samples, indices):
    table = make_predictions(samples, indices["random"], "mine", 0.1, parts=("test", "val"))
    rows = evaluate(table, samples, indices["random"]).rows
    assert rows[rows["scope"] == "pooled"].groupby("part")["n"].first().to_dict() == {"test": 30, "val": 30}


def test_folds_are_pooled(make_predictions, samples, indices):
    scores = evaluate(make_predictions(samples, indices["family"], "mine", 0.1), samples, indices["family"])
    assert scores.rows.loc[scores.rows["scope"] == "pooled", "n"].unique().tolist() == [90]


def test_samples_without_a_measurement_are_not_scored(table, samples, indices):
    victim = indices["random"].folds[0].test[0]
    unmeasured = samples.assign(y_runtime_ms=samples["y_runtime_ms"].where(samples["sample"] != victim))
    assert len(evaluate(table, unmeasured, indices["random"]).samples) == 29
    assert len(evaluate(table[table["sample"] != victim], unmeasured, indices["random"]).samples) == 29


def edit(table, **values):
    table = table.copy()
    for column, value in values.items():
        table[column] = table[column].astype(object)
        table.loc[3, column] = value
    return table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(index=3), "without a prediction, 1: 's011'"),
        (lambda t: pd.concat([t, t.loc[[3]]]), "more than once, 1: 's011'"),
        (lambda t: edit(t, sample="s999"), "neither test nor validation, 1: 's999'"),
        (lambda t: edit(t, sample="s000"), "neither test nor validation, 1: 's000'"),
        (lambda t: edit(t, mean=np.nan), "first sample 's011'.*mean is not finite"),
        (lambda t: edit(t, mean=np.inf), "first sample 's011'.*mean is not finite"),
        (lambda t: edit(t, mean="fast"), "sample 's011'.*mean is 'fast'"),
        (lambda t: edit(t, high=np.inf), "low or high is not finite"),
        (lambda t: edit(t, low=np.nan), "low or high is not finite"),
        (lambda t: edit(t, low=99.0), "low is above high"),
        (lambda t: edit(t, fold="9"), "no fold '9'"),
        (lambda t: edit(t, target="joules"), "target 'joules' was not measured; the data set has: runtime_ms"),
        (lambda t: edit(t, protocol="family"), "are for protocol 'family'"),
        (lambda t: edit(t, sample=None), "row 3 of the predictions has no 'sample'"),
        (lambda t: t.drop(columns="mean"), "no column 'mean'"),
        (lambda t: t.iloc[:0], "no rows"),
    ],
)
def test_bad_rows_are_refused_by_name(table, samples, indices, change, message):
    with pytest.raises(InputError, match=message) as error:
        evaluate(change(table), samples, indices["random"])
    assert "\n" not in str(error.value)


def test_a_missing_fold_or_protocol_is_refused(make_predictions, samples, indices):
    table = make_predictions(samples, indices["family"], "mine", 0.1)
    with pytest.raises(InputError, match="folds without a prediction, 1: 'conv'"):
        evaluate(table[table["fold"] != "conv"], samples, indices["family"])
    with pytest.raises(InputError, match="needs a column 'fold'"):
        evaluate(table.drop(columns="fold"), samples, indices["family"])
    with pytest.raises(InputError, match="no index for protocol 'family'"):
        evaluate_many(table, samples, {"random": indices["random"]})


def test_samples_table_holds_measurements_and_size():
    store = SimpleNamespace(
        samples=pd.DataFrame({"sample": ["a", "b"]}),
        targets=("runtime_ms",),
        y=np.array([[1.0], [np.nan]]),
        u=np.array([[0, 0, 30, 0, 0], [0, 0, 31, 0, 0]]),
        node_ptr=np.array([0, 3, 8]),
    )
    table = samples_table(store)
    assert table["nodes"].tolist() == [3, 5] and table["flops_log2"].tolist() == [30, 31]
    assert table["y_runtime_ms"].isna().tolist() == [False, True]
