"""`nnirp score` and `nnirp leaderboard`: predictions made anywhere, scored by the same evaluator."""

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import Json, Root, project_of
from nnirp.commands.output import emit_json, emit_table
from nnirp.errors import InputError, NotPulledError

leaderboard = typer.Typer(help="The leaderboard of predictors.", no_args_is_help=True)
Predictions = Annotated[
    Path, typer.Argument(help="Parquet or CSV: sample, target, mean[, low, high][, fold, seed], in log2.")
]
Protocol = Annotated[str, typer.Option(help="The split that the predictions answer.")]


def register(app: typer.Typer) -> None:
    app.command()(score)
    app.add_typer(leaderboard, name="leaderboard")


def read_predictions(path: Path):
    """A table of predictions.

    Raises:
        NotPulledError: the file is absent.
        InputError: it is neither Parquet nor CSV.
    """
    import pandas as pd

    if not path.is_file():
        raise NotPulledError(f"{path} is missing; write one row a test sample with the columns sample, target, mean")
    try:
        return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    except Exception as error:
        raise InputError(
            f"{path} is not a table ({' '.join(str(error).split())[:150]}); expected Parquet, or CSV with the suffix .csv"
        ) from None


def _inputs(context: typer.Context, root: Path | None, protocol: str):
    from nnirp.evaluation.evaluator import samples_table
    from nnirp.layers.store import pack
    from nnirp.splits.index import read_index

    project = project_of(context, root)
    return project, samples_table(pack(project.data)), read_index(project.data / "splits" / f"{protocol}.json")


def score(
    context: typer.Context,
    predictions: Predictions,
    protocol: Protocol = "cluster",
    root: Root = None,
    json: Json = False,
) -> None:
    """Score a table of predictions; refuses missing, duplicate, unknown and non-finite rows by name."""
    from nnirp.evaluation.evaluator import evaluate

    _, samples, index = _inputs(context, root, protocol)
    rows = evaluate(read_predictions(predictions), samples, index).rows
    rows = rows[
        rows["scope"].isin(["pooled", "family", "mean_over_clusters", "worst_family"]) & (rows["part"] == "test")
    ]
    if json:
        emit_json(rows.to_dict("records"))
        return
    rows = rows[
        rows["metric"].isin(
            ["mape_percent", "median_ape_percent", "within_10_percent", "kendall", "interval_coverage_percent"]
        )
    ]
    wide = rows.pivot_table(index=["target", "scope", "group"], columns="metric", values="value").reset_index()
    emit_table(f"{predictions.name} under {protocol}", list(wide.columns), wide.itertuples(index=False, name=None))


@leaderboard.command()
def submit(
    context: typer.Context,
    predictions: Predictions,
    code: Annotated[str, typer.Option(help="Where the predictor's code is.")],
    submitted_by: Annotated[str, typer.Option(help="Who submits.")],
    device: Annotated[str, typer.Option(help="What it was trained on.")],
    protocol: Protocol = "cluster",
    root: Root = None,
    json: Json = False,
) -> None:
    """Validate a table of predictions and add its row, with provenance, to reports/submissions.csv."""
    from nnirp.evaluation.leaderboard import add_rows, submission

    project, samples, index = _inputs(context, root, protocol)
    table = read_predictions(predictions)
    digest = hashlib.sha256(predictions.read_bytes()).hexdigest()
    provenance = {"predictions_sha256": digest, "code": code, "submitted_by": submitted_by, "device": device}
    rows = submission(table, samples, index, provenance)
    path = project.reports / "submissions.csv"
    add_rows(path, rows)
    if json:
        emit_json(rows)
    else:
        typer.echo(f"added {len(rows)} rows to {path}")


@leaderboard.command()
def show(context: typer.Context, root: Root = None, json: Json = False) -> None:
    """Show the leaderboard of the project's own predictors."""
    import pandas as pd

    path = project_of(context, root).reports / "leaderboard" / "leaderboard.csv"
    if not path.is_file():
        raise NotPulledError(f"{path} is missing; `nnirp evaluate` writes it")
    board = pd.read_csv(path)
    if json:
        emit_json(board.to_dict("records"))
    else:
        shown = [
            c
            for c in (
                "protocol",
                "target",
                "predictor",
                "test_mape_percent",
                "val_mape_percent",
                "parameters",
                "train_seconds",
                "predict_ms",
            )
            if c in board
        ]
        emit_table("leaderboard", shown, board[shown].itertuples(index=False, name=None))
