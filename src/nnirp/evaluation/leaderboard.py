"""One row per predictor and protocol, with what it cost, where its code is and where its numbers came from."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from nnirp.errors import InputError
from nnirp.evaluation.evaluator import Scores, evaluate
from nnirp.evaluation.statistics import over_seeds
from nnirp.splits.index import Index

METRICS = ("mape_percent", "within_10_percent", "kendall")
DETAILS = ("parameters", "train_seconds", "predict_ms", "code")
PROVENANCE = ("split_digest", "predictions_sha256", "submitted_by", "code", "device")


def leaderboard(scores: Scores, details: pd.DataFrame | None = None) -> pd.DataFrame:
    """Mean and sd over seeds of the pooled metrics, validation and test, sorted by protocol, target and test error.

    details: optional frame [predictor[, protocol], parameters, train_seconds, predict_ms, code]; predict_ms is per graph.
    """
    seeds = over_seeds(scores.rows)
    seeds = seeds[(seeds["scope"] == "pooled") & seeds["metric"].isin(METRICS)]
    wide = seeds.pivot_table(
        index=["protocol", "target", "predictor"], columns=["part", "metric"], values=["mean", "sd"], dropna=False
    ).dropna(how="all")
    wide.columns = [
        "_".join(c for c in (part, metric, "sd" if value == "sd" else "") if c) for value, part, metric in wide
    ]
    order = [f"{part}_{metric}{sd}" for part in ("test", "val") for metric in METRICS for sd in ("", "_sd")]
    board = wide.reindex(columns=[c for c in order if c in wide]).reset_index()
    count = seeds[seeds["part"] == "test"].groupby(["protocol", "target", "predictor"])["seeds"].first().reset_index()
    board = board.merge(count, on=["protocol", "target", "predictor"], how="left")
    if details is not None and len(details):
        key = [c for c in ("predictor", "protocol") if c in details]
        board = board.merge(
            details[key + [c for c in DETAILS if c in details]].drop_duplicates(key), on=key, how="left"
        )
    return board.sort_values(["protocol", "target", "test_mape_percent", "predictor"], kind="stable").reset_index(
        drop=True
    )


def markdown_table(frame: pd.DataFrame, digits: int = 2) -> str:
    """A GitHub table; floats rounded, missing values a dash, bars escaped."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:.{digits}f}" if pd.notna(value) else "–"
        return "–" if value is None or value is pd.NA else str(value).replace("|", "\\|").replace("\n", " ")

    lines = ["| " + " | ".join(cell(c) for c in frame.columns) + " |"]
    numeric = [pd.api.types.is_numeric_dtype(t) for t in frame.dtypes]
    lines.append("|" + "|".join(" ---: " if n else " --- " for n in numeric) + "|")
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in frame.itertuples(index=False, name=None)]
    return "\n".join(lines) + "\n"


def leaderboard_markdown(board: pd.DataFrame) -> str:
    """The board with each mean and its sd in one cell: `12.31 ± 0.42`."""
    shown = board.copy()
    for column in [c for c in board if f"{c}_sd" in board]:
        sd = board[f"{column}_sd"]
        shown[column] = [
            f"{m:.2f} ± {s:.2f}" if pd.notna(s) else f"{m:.2f}" if pd.notna(m) else "–"
            for m, s in zip(board[column], sd, strict=True)
        ]
        shown = shown.drop(columns=f"{column}_sd")
    return markdown_table(shown)


def write_leaderboard(board: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Writes leaderboard.md and leaderboard.csv; the same scores give the same bytes."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    table, text = folder / "leaderboard.csv", folder / "leaderboard.md"
    board.to_csv(table, index=False, float_format="%.6g", lineterminator="\n")
    text.write_text(leaderboard_markdown(board), encoding="utf-8")
    return [table, text]


def submission(
    predictions: pd.DataFrame, samples: pd.DataFrame, index: Index, provenance: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Validates predictions made elsewhere and returns their rows with provenance; nothing is written.

    provenance: split_digest is filled in; predictions_sha256, submitted_by, code and device are asked for.
    Raises InputError for invalid predictions or absent provenance.
    """
    absent = [k for k in PROVENANCE if k != "split_digest" and not provenance.get(k)]
    if absent:
        raise InputError(f"the submission does not say its {absent[0]!r}; give it with --{absent[0].replace('_', '-')}")
    extra = {"split_digest": index.digest} | {k: provenance[k] for k in PROVENANCE if k in provenance}
    if extra["split_digest"] != index.digest:
        raise InputError("the submission was made for another version of this split; run `dvc pull` and predict again")
    board = leaderboard(evaluate(predictions, samples, index))
    return [row | extra for row in board.to_dict("records")]


def add_rows(path: str | Path, rows: list[dict[str, Any]]) -> None:
    """Adds submission rows to a CSV file in one step, replacing those of the same predictor, protocol and target."""
    path = Path(path)
    kept: list[dict[str, Any]] = []
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            kept = list(csv.DictReader(file))
    identity = ("protocol", "target", "predictor")
    new = {tuple(str(r[k]) for k in identity) for r in rows}
    kept = [r for r in kept if tuple(r.get(k, "") for k in identity) not in new]
    plain = [{k: _plain(v) for k, v in r.items()} for r in rows]
    everything = sorted(kept + plain, key=lambda r: tuple(str(r[k]) for k in identity))
    columns = list(dict.fromkeys(k for r in [*plain, *kept] for k in r))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(everything)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text.getvalue(), encoding="utf-8")
    partial.replace(path)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.6g}"
    return str(value)
