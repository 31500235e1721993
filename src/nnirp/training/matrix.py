"""One cell of the matrix predictor × protocol: every fold and seed trained, predicted and recorded."""

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nnirp.errors import InputError
from nnirp.layers.store import GraphSet, GraphStore, pack
from nnirp.predictors import Predictor, create
from nnirp.splits.index import Fold, read_index
from nnirp.tracking.record import FILE_NAME, context_tags, dataset_revision, device_name, read_record
from nnirp.tracking.run import Run, start_run
from nnirp.tracking.store import Store

log = logging.getLogger(__name__)
PREDICTIONS = "predictions.parquet"


def train_protocol(
    data: Path,
    predictor: str,
    protocol: str,
    output: Path,
    *,
    seeds: Sequence[int],
    keep_weights: bool,
    root: Path,
    settings: Mapping[str, Any] | None = None,
    store: Store | None = None,
    on_progress: Callable[..., None] = lambda *_: None,
) -> None:
    """Train a predictor on every fold of a protocol with every seed.

    Args:
        data: a dataset root with features, manifests and splits.
        output: receives a folder `<fold>-<seed>` each, left alone where it is finished, with `predictions.parquet`, `config.json`, `run.json` and, for the first
            fold and seed when `keep_weights`, `weights/`.
        root: the project, for the tags that name commit and stage.
        settings: of the predictor, instead of its defaults.
        store: the MLflow store that follows live.

    Raises:
        InputError: predictor, protocol or a layer is unknown or absent.
    """
    graphs = pack(data)
    index = read_index(data / "splits" / f"{protocol}.json")
    fingerprint = json.loads((data / "manifests" / "dataset.json").read_text()).get("fingerprint") or {}
    tags = {
        **context_tags(root),
        "protocol": protocol,
        "predictor": predictor,
        "device": device_name(fingerprint),
        "dataset_revision": dataset_revision(data),
        "split_digest": index.digest[:12],
    }
    cells = [(fold, seed) for fold in index.folds for seed in seeds]
    for done, (fold, seed) in enumerate(cells):
        on_progress(done, len(cells), f"fold {fold.name}, seed {seed}")
        folder = output / f"{fold.name}-{seed}"
        if is_finished(folder):
            continue
        parts = {part: subset(graphs, getattr(fold, part), protocol, fold) for part in ("train", "val", "test")}
        parameters = {"predictor": predictor, "protocol": protocol, "fold": fold.name, "seed": seed}
        parameters |= {f"setting.{name}": value for name, value in (settings or {}).items()}
        parameters |= {f"{part}_samples": len(graph_set) for part, graph_set in parts.items()}
        name = f"{predictor} · {protocol} · {fold.name}-{seed}"
        with start_run(
            "train",
            name,
            folder,
            parameters=parameters,
            tags=tags | {"fold": fold.name, "seed": str(seed)},
            store=store,
        ) as run:
            weights = folder / "weights" if keep_weights and done == 0 else None
            _train_one(run, create(predictor, **settings or {}), parts, folder, seed=seed, weights=weights)
    on_progress(len(cells), len(cells))


def _train_one(
    run: Run, model: Predictor, parts: dict[str, GraphSet], folder: Path, *, seed: int, weights: Path | None
) -> None:
    started = time.perf_counter()
    model.fit(parts["train"], parts["val"], seed=seed, log=run.log, checkpoints=folder / "checkpoints")
    run.metrics({"train_seconds": time.perf_counter() - started, "parameters": model.parameter_count()})
    frames = []
    for part in ("val", "test"):
        started = time.perf_counter()
        frame = prediction_frame(model, parts[part])
        run.metrics(
            {f"{part}_milliseconds_per_graph": 1000 * (time.perf_counter() - started) / max(len(parts[part]), 1)}
        )
        run.metrics(_errors(part, frame, parts[part]))
        frames.append(frame.assign(part=part))
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    pd.concat(frames, ignore_index=True).to_parquet(folder / PREDICTIONS, index=False, compression="zstd")
    run.artifact(PREDICTIONS)
    if weights:
        model.save(weights)


def is_finished(folder: Path) -> bool:
    """Whether a fold and seed was trained to its end."""
    return (folder / FILE_NAME).is_file() and read_record(folder / FILE_NAME).status == "finished"


def source_digest(*folders: Path) -> str:
    """SHA-256 over the Python files of some folders: trained work is kept only for the code that made it."""
    total = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.glob("*.py")):
        total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


def prediction_frame(model, graphs: GraphSet) -> pd.DataFrame:
    """Predictions as a table: sample, target, mean, low, high in log2, novel; a row for every target the predictor answers for."""
    prediction = model.predict(graphs)
    novel = prediction.novel.any(axis=1)
    columns = []
    for position, target in enumerate(graphs.targets):
        mean, low, high = (values[:, position] for values in (prediction.mean, prediction.low, prediction.high))
        known = ~np.isnan(mean)
        samples = graphs.samples["sample"].to_numpy()[known]
        columns.append(
            pd.DataFrame(
                {
                    "sample": samples,
                    "target": target,
                    **{"mean": mean[known], "low": low[known], "high": high[known], "novel": novel[known]},
                }
            )
        )
    return pd.concat(columns, ignore_index=True)


def _errors(part: str, frame: pd.DataFrame, graphs: GraphSet) -> dict[str, float]:
    """Pooled MAPE per target as a fraction, for the run's own page; the evaluator does the rest."""
    result = {}
    for position, target in enumerate(graphs.targets):
        rows = frame[frame["target"] == target].set_index("sample")["mean"]
        measured = pd.Series(graphs.y[:, position], index=graphs.samples["sample"].to_numpy()).reindex(rows.index)
        error = np.abs(np.exp2(rows - measured) - 1).dropna()
        if len(error):
            result[f"{part}_mape/{target}"] = float(error.mean())
    return result


def subset(graphs: GraphStore, names: Sequence[str], protocol: str, fold: Fold) -> GraphSet:
    """The graphs of one part of a fold.

    Raises:
        InputError: the features lack one of them.
    """
    position = pd.Series(np.arange(len(graphs)), index=graphs.samples["sample"].to_numpy())
    unknown = [name for name in names if name not in position.index]
    if unknown:
        raise InputError(
            f"splits/{protocol}.json fold {fold.name} names {len(unknown)} samples that the features lack, first {unknown[0]}; `dvc repro split`"
        )
    return graphs.subset(position.loc[list(names)].to_numpy())
