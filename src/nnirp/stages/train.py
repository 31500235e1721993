"""train: one predictor under one protocol, all folds and seeds in one process."""

from nnirp.errors import InputError
from nnirp.progress import progress
from nnirp.project import Project, publishing
from nnirp.tracking.store import Store
from nnirp.training.matrix import train_protocol


def run(project: Project, predictor: str = "", protocol: str = "") -> None:
    """Write `models/<protocol>/<predictor>/<fold-seed>/`: weights where they are kept, predictions, curves, run record."""
    if not predictor or not protocol:
        raise InputError(
            "train needs a predictor and a protocol, for example `python -m nnirp.stages train linear cluster`"
        )
    parameters = project.parameters.train
    target = project.models / protocol / predictor
    with publishing(target, work=project.work) as (draft,), progress(f"{predictor} on {protocol}") as report:
        train_protocol(
            project.data,
            predictor,
            protocol,
            draft,
            seeds=parameters.seeds,
            keep_weights=protocol in parameters.keep_weights,
            root=project.root,
            store=Store(project.root),
            on_progress=report,
        )
