import csv

import pandas as pd
import pytest

from nnirp.errors import InputError
from nnirp.evaluation.leaderboard import (
    add_rows,
    leaderboard,
    leaderboard_markdown,
    markdown_table,
    submission,
    write_leaderboard,
)

PROVENANCE = {"predictions_sha256": "ab", "submitted_by": "someone", "code": "https://example.org", "device": "cpu"}


def test_the_best_comes_first_with_mean_sd_and_cost(scores):
    details = pd.DataFrame({"predictor": ["dippm"], "parameters": [123], "train_seconds": [4.5], "code": ["dippm.py"]})
    board = leaderboard(scores, details)
    family = board[board["protocol"] == "family"]
    assert family["predictor"].tolist() == ["roofline", "dippm", "flops"]
    assert family["parameters"].tolist()[1] == 123 and family["seeds"].unique().tolist() == [3]
    assert " ± " in leaderboard_markdown(board)


def test_the_same_scores_give_the_same_bytes(scores, tmp_path):
    first, second = (write_leaderboard(leaderboard(scores), tmp_path / n) for n in "ab")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_tables_escape_bars_and_show_missing_as_dash():
    text = markdown_table(pd.DataFrame({"name": ["a|b"], "value": [float("nan")]}))
    assert text == "| name | value |\n| --- | ---: |\n| a\\|b | – |\n"


def test_a_submission_is_scored_and_carries_its_provenance(make_predictions, samples, indices, tmp_path):
    table = make_predictions(samples, indices["random"], "theirs", 0.1)
    rows = submission(table, samples, indices["random"], PROVENANCE)
    path = tmp_path / "submissions.csv"
    add_rows(path, rows)
    add_rows(path, rows)
    with path.open() as file:
        found = list(csv.DictReader(file))
    assert [r["predictor"] for r in found] == ["theirs"]
    assert found[0]["split_digest"] == indices["random"].digest and found[0]["submitted_by"] == "someone"


def test_a_submission_without_provenance_or_rows_is_refused(make_predictions, samples, indices):
    table = make_predictions(samples, indices["random"], "theirs", 0.1)
    with pytest.raises(InputError, match="'device'"):
        submission(table, samples, indices["random"], PROVENANCE | {"device": ""})
    with pytest.raises(InputError, match="another version"):
        submission(table, samples, indices["random"], PROVENANCE | {"split_digest": "old"})
    with pytest.raises(InputError, match="without a prediction"):
        submission(table.iloc[1:], samples, indices["random"], PROVENANCE)
