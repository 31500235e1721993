"""A run while it happens: the record grows, MLflow follows live, and a tracking server that is down fails nothing."""

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nnirp.tracking.record import Kind, RunRecord, Scalar, environment, now, write_record
from nnirp.tracking.store import LiveRun, Store

log = logging.getLogger(__name__)


class Run:
    """Handle that a running stage writes to; everything lands in the record and, where it can, in MLflow at once."""

    def __init__(self, record: RunRecord, live: LiveRun | None):
        self.record = record
        self._live = live

    def log(self, name: str, value: float, step: int) -> None:
        """Add one point of a curve."""
        self.record.curves.setdefault(name, []).append((step, float(value)))
        if self._live:
            self._live.point(name, float(value), step)

    def metrics(self, values: Mapping[str, float]) -> None:
        """Set final metrics; one that is not finite is left out, since it was not measured."""
        self.record.metrics.update({name: float(value) for name, value in values.items() if math.isfinite(value)})

    def artifact(self, relative: str) -> None:
        """Name a file of the run's folder that belongs to the run."""
        self.record.artifacts.append(relative)


@contextmanager
def start_run(
    kind: Kind,
    name: str,
    folder: Path,
    *,
    parameters: Mapping[str, Scalar],
    tags: Mapping[str, str],
    store: Store | None = None,
) -> Iterator[Run]:
    """Run a block as one recorded run; `folder/run.json` is written when it ends, also when it fails.

    Args:
        folder: where `run.json` goes; the artefacts are relative to it.
        store: the MLflow store that follows live; `None` for the record alone.
    """
    record = RunRecord(kind=kind, name=name, parameters=dict(parameters), tags=dict(tags), environment=environment())
    live = store.begin(record) if store else None
    try:
        yield Run(record, live)
        record.status = "finished"
    except BaseException as error:
        record.status, record.error = "failed", f"{type(error).__name__}: {error}"
        raise
    finally:
        record.ended = now()
        write_record(record, folder)
        if store:
            store.finish(live, record, folder)
