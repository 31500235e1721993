import pandas as pd
import pytest

from nnirp.errors import InputError
from nnirp.evaluation.comparison import compare, write_tables


def test_protocols_go_from_easy_to_hard_and_predictors_from_best(comparison):
    assert comparison.protocols == ["random", "cluster", "family"]
    assert comparison.predictors == ["roofline", "dippm", "flops"]


def test_table_is_the_mean_over_seeds(comparison, scores):
    for protocol in comparison.protocols:
        value = scores.value(protocol=protocol, predictor="dippm")
        assert comparison.table.loc[protocol, "dippm"] == pytest.approx(value)


def test_inflation_is_family_over_random(comparison):
    row = comparison.inflation.set_index("predictor").loc["dippm"]
    assert row["factor"] == pytest.approx(
        comparison.table.loc["family", "dippm"] / comparison.table.loc["random", "dippm"]
    )


def test_coverage_and_size_frames_hold_every_cluster_and_sample(comparison, scores):
    assert len(comparison.coverage) == scores.samples.groupby(["predictor", "protocol", "fold", "cluster"]).ngroups
    counts = comparison.sizes.groupby(["predictor", "protocol"])["samples"].sum()
    assert counts["dippm", "family"] == 90 and counts["dippm", "random"] == 30


def test_every_pair_is_compared_at_every_protocol(comparison):
    assert comparison.differences.groupby("protocol").size().to_dict() == {"cluster": 3, "family": 3, "random": 3}


def test_one_predictor_at_one_protocol_is_enough(make_predictions, samples, indices):
    from nnirp.evaluation.evaluator import evaluate
    from nnirp.evaluation.report import render_html, render_markdown

    scores = evaluate(make_predictions(samples, indices["random"], "mine", 0.1), samples, indices["random"])
    small = compare(scores, indices, target="runtime_ms")
    assert small.ranking is None and small.inflation.empty and small.differences.empty
    assert "mine" in render_markdown(small) and "<svg" in render_html(small)


def test_unknown_targets_and_metrics_are_refused(scores, indices):
    with pytest.raises(InputError, match="scored were: runtime_ms"):
        compare(scores, indices, target="joules")
    with pytest.raises(InputError, match="unknown metric"):
        compare(scores, indices, target="runtime_ms", metric="mape")


def test_tables_are_written_the_same_twice(comparison, tmp_path):
    first, second = (write_tables(comparison, tmp_path / name) for name in ("a", "b"))
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    table = pd.read_csv(tmp_path / "a" / "runtime_ms-protocols.csv")
    assert table.columns.tolist() == ["protocol", "roofline", "dippm", "flops"]
