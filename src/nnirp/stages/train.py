"""train: one predictor under one protocol, all folds and seeds in one process."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nnirp.predictors
import nnirp.training
from nnirp.errors import InputError
from nnirp.predictors import create
from nnirp.progress import progress
from nnirp.project import Project, replace
from nnirp.splits.index import read_index
from nnirp.tracking.record import dataset_revision
from nnirp.tracking.store import Store
from nnirp.training.matrix import source_digest, train_protocol


def run(project: Project, predictor: str = "", protocol: str = "", settings: Mapping[str, Any] | None = None) -> None:
    """Write `models/<protocol>/<predictor>/<fold-seed>/`: weights where they are kept, predictions, curves, run record.

    Folds and seeds that are finished stay in the work folder until all are, so that a kill loses at most one.
    """
    if not predictor or not protocol:
        raise InputError(
            "train needs a predictor and a protocol, for example `python -m nnirp.stages train linear cluster`"
        )
    parameters = project.parameters.train
    chosen = dict(parameters.settings.get(predictor, {}) if settings is None else settings)
    create(predictor, **chosen)  # an unknown name is refused before anything is read or written
    read_index(project.data / "splits" / f"{protocol}.json")
    draft = project.work / "train" / _key(project, chosen) / protocol / predictor
    with progress(f"{predictor} on {protocol}") as report:
        train_protocol(
            project.data,
            predictor,
            protocol,
            draft,
            seeds=parameters.seeds,
            keep_weights=protocol in parameters.keep_weights and predictor not in parameters.without_weights,
            root=project.root,
            settings=chosen,
            store=Store(project.root),
            on_progress=report,
        )
    replace(draft, project.models / protocol / predictor)


def _key(project: Project, settings: Mapping[str, Any]) -> str:
    """Equal only where data, parameters and code are, so that no fold of another training is taken for finished."""
    code = source_digest(
        *(Path(folder) for package in (nnirp.predictors, nnirp.training) for folder in package.__path__)
    )
    chosen = json.dumps(settings, sort_keys=True)
    parts = (dataset_revision(project.data), project.parameters.train.model_dump_json(), chosen, code)
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:12]
