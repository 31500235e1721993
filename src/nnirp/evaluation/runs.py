"""From trained runs to scores: gather the predictions under `models/`, and the details a leaderboard shows."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from nnirp.errors import NotPulledError
from nnirp.evaluation.evaluator import Scores
from nnirp.tracking.record import FILE_NAME, RunRecord, read_record

PREDICTIONS = "predictions.parquet"


def training_records(models: Path) -> list[tuple[Path, RunRecord]]:
    """Folder and record of every finished training under `models/<protocol>/<predictor>/<fold-seed>/`.

    Raises:
        NotPulledError: there is none.
    """
    found = [(path.parent, read_record(path)) for path in sorted(models.glob(f"*/*/*/{FILE_NAME}"))]
    found = [(folder, record) for folder, record in found if record.status == "finished"]
    if not found:
        raise NotPulledError(
            f"{models} holds no trained run; `dvc pull models` brings the published ones, `dvc repro train` makes them"
        )
    return found


def gather_predictions(records: Iterable[tuple[Path, RunRecord]]) -> pd.DataFrame:
    """All predictions as one table with predictor, protocol, fold and seed of the run that made them."""
    frames = []
    for folder, record in records:
        path = folder / PREDICTIONS
        if not path.is_file():
            raise NotPulledError(f"{path} is missing; `dvc pull {folder.parent}` brings it, `dvc repro train` makes it")
        keys = {name: record.parameters[name] for name in ("predictor", "protocol", "fold", "seed")}
        frames.append(pd.read_parquet(path).drop(columns="part").assign(**keys))
    return pd.concat(frames, ignore_index=True)


def training_details(records: Iterable[tuple[Path, RunRecord]]) -> pd.DataFrame:
    """Columns predictor, protocol, parameters, train_seconds (sum over folds), predict_ms (per graph), code."""
    rows = [
        {
            "predictor": record.parameters["predictor"],
            "protocol": record.parameters["protocol"],
            "parameters": record.metrics["parameters"],
            "train_seconds": record.metrics["train_seconds"],
            "predict_ms": record.metrics["test_milliseconds_per_graph"],
            "code": f"src/nnirp/predictors/{record.parameters['predictor']}.py",
        }
        for _, record in records
    ]
    return (
        pd.DataFrame(rows)
        .groupby(["predictor", "protocol", "code"], sort=True)
        .agg(
            parameters=("parameters", "max"), train_seconds=("train_seconds", "sum"), predict_ms=("predict_ms", "mean")
        )
        .reset_index()
    )


def summary_metrics(scores: Scores, predictor: str) -> dict[str, float]:
    """What one summary run shows: the test error of every protocol and target, so that one page compares predictors.

    Names are `mape/<protocol>` for the first target, with `/<target>` for the others, and the mean over clusters and the worst
    family beside it; values are percent, averaged over seeds.
    """
    rows = scores.rows[
        (scores.rows["predictor"] == predictor)
        & (scores.rows["part"] == "test")
        & (scores.rows["metric"] == "mape_percent")
    ]
    scopes = {"pooled": "mape", "mean_over_clusters": "mape_mean_over_clusters", "worst_family": "mape_worst_family"}
    main = "runtime_ms"
    found = {}
    for (protocol, target, scope), group in rows[rows["scope"].isin(scopes)].groupby(["protocol", "target", "scope"]):
        found[f"{scopes[scope]}/{protocol}" + ("" if target == main else f"/{target}")] = float(group["value"].mean())
    return found


def save_scores(scores: Scores, folder: Path) -> None:
    """Write both frames of the scores as Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    scores.rows.to_parquet(folder / "rows.parquet", index=False, compression="zstd")
    scores.samples.to_parquet(folder / "samples.parquet", index=False, compression="zstd")


def load_scores(folder: Path) -> Scores:
    """Read what `save_scores` wrote.

    Raises:
        NotPulledError: it is absent.
    """
    if not (folder / "rows.parquet").is_file():
        raise NotPulledError(f"{folder} is missing; `dvc pull {folder.name}` brings it, `dvc repro evaluate` makes it")
    return Scores(pd.read_parquet(folder / "rows.parquet"), pd.read_parquet(folder / "samples.parquet"))
