"""MLflow, filled from run records: live while a run goes on, and again by `sync`, any number of times with one result."""

import contextlib
import logging
import os
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from nnirp.errors import InputError
from nnirp.tracking.record import FILE_NAME, RunRecord, read_record

log = logging.getLogger(__name__)

EXPERIMENTS = {
    "profile": "1 profiling campaigns",
    "train": "2 training",
    "evaluate": "3 evaluation",
    "summary": "4 summary: who survives which split",
    "tune": "5 tuning",
    "compile": "6 compiler benchmark",
}
RECORD_TAG, DIGEST_TAG = "nnirp.record", "nnirp.digest"
STATUS = {"running": "RUNNING", "finished": "FINISHED", "failed": "FAILED", "pruned": "KILLED"}
BATCH = 900  # MLflow takes at most 1,000 metrics in one call
FLUSH_S = 5.0


def default_uri(root: Path) -> str:
    """The URI of the project's own store; `MLFLOW_TRACKING_URI` wins."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(root / 'mlruns' / 'mlflow.db').resolve()}"


class Store:
    """An MLflow tracking store. Opening it creates the database and the experiments once, under a file lock."""

    def __init__(self, root: Path, uri: str | None = None):
        self.root = root
        self.uri = uri or default_uri(root)
        self._client = None
        self._experiments: dict[str, str] = {}

    @property
    def client(self):
        """The MLflow client, opened on first use; raises what MLflow raises when the store cannot be reached."""
        if self._client is None:
            self._client = self._open()
        return self._client

    def _open(self):
        from filelock import FileLock

        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
        import mlflow

        logging.getLogger("alembic").setLevel(logging.WARNING)
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        folder = self.root / "mlruns"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            client = mlflow.MlflowClient(tracking_uri=self.uri)
            known = {e.name: e.experiment_id for e in client.search_experiments(max_results=1000)}
            local = self.uri.startswith("sqlite:")
            for kind, name in EXPERIMENTS.items():
                if name not in known:
                    place = (folder / "artifacts" / kind).resolve().as_uri() if local else None
                    known[name] = client.create_experiment(name, artifact_location=place)
                self._experiments[kind] = known[name]
        return client

    # -- live -----------------------------------------------------------------------------------------------------

    def begin(self, record: RunRecord) -> "LiveRun | None":
        """Create the MLflow run of a record that has just started; `None`, with a warning, when MLflow cannot be reached."""
        try:
            return LiveRun(self.client, self._create(record))
        except Exception as error:
            log.warning(
                "MLflow at %s cannot be reached (%s); the run goes on, `nnirp tracking sync` adds it later",
                self.uri,
                error,
            )
            return None

    def finish(self, live: "LiveRun | None", record: RunRecord, folder: Path) -> None:
        """Complete the run that `begin` made; when anything goes wrong the record stays, and `sync` repeats it."""
        if live is None:
            return
        try:
            live.flush()
            self._fill(live.run_id, record, folder, curves=False)
        except Exception as error:
            log.warning(
                "MLflow at %s lost the end of run %s (%s); `nnirp tracking sync` adds it", self.uri, record.name, error
            )

    # -- again ----------------------------------------------------------------------------------------------------

    def sync(self, folders: Iterable[Path]) -> dict[str, int]:
        """Take every `run.json` under `folders` into MLflow; a record that is there with the same content is left alone.

        Returns:
            Counts: `added`, `replaced` (the content had changed), `unchanged`, `unreadable`.

        Raises:
            InputError: the store cannot be opened.
        """
        counts = dict.fromkeys(("added", "replaced", "unchanged", "unreadable"), 0)
        try:
            known = self._known()
        except Exception as error:
            raise InputError(
                f"MLflow store {self.uri} cannot be opened ({' '.join(str(error).split())[:200]}); delete mlruns/mlflow.db or mend MLFLOW_TRACKING_URI"
            ) from error
        for path in run_files(folders):
            try:
                record = read_record(path)
            except InputError as error:
                log.warning("%s", error)
                counts["unreadable"] += 1
                continue
            run_id, digest = known.get(record.id, (None, None))
            if digest == record.digest():
                counts["unchanged"] += 1
                continue
            if run_id:
                self.client.delete_run(run_id)
            run_id = self._create(record)
            self._fill(run_id, record, path.parent, curves=True)
            known[record.id] = (run_id, record.digest())
            counts["replaced" if digest else "added"] += 1
        return counts

    def _known(self) -> dict[str, tuple[str, str]]:
        client, known, token = self.client, {}, None
        while True:
            page = client.search_runs(list(self._experiments.values()), max_results=1000, page_token=token)
            for run in page:
                if record := run.data.tags.get(RECORD_TAG):
                    known[record] = (run.info.run_id, run.data.tags.get(DIGEST_TAG, "live"))
            token = page.token
            if not token:
                return known

    def _create(self, record: RunRecord) -> str:
        client = self.client
        tags = {**record.tags, RECORD_TAG: record.id, "kind": record.kind}
        run = client.create_run(
            self._experiments[record.kind], start_time=_milliseconds(record.started), tags=tags, run_name=record.name
        )
        parameters = list(record.parameters.items())
        for first in range(0, len(parameters), 100):
            from mlflow.entities import Param

            client.log_batch(run.info.run_id, params=[Param(k, str(v)) for k, v in parameters[first : first + 100]])
        return run.info.run_id

    def _fill(self, run_id: str, record: RunRecord, folder: Path, *, curves: bool) -> None:
        ended = _milliseconds(record.ended or record.started)
        points = [(name, value, 0) for name, value in record.metrics.items()]
        if curves:
            points += [(name, value, step) for name, curve in record.curves.items() for step, value in curve]
        _log_points(self.client, run_id, points, ended)
        for relative in (FILE_NAME, *record.artifacts):
            if (folder / relative).is_file():
                self.client.log_artifact(run_id, str(folder / relative), str(Path(relative).parent).removeprefix("."))
        if record.error:
            self.client.set_tag(run_id, "error", record.error[:5000])
        self.client.set_tag(run_id, DIGEST_TAG, record.digest())
        self.client.set_terminated(run_id, STATUS[record.status], end_time=ended)


class LiveRun:
    """The MLflow side of a run that goes on: points are gathered and sent a few seconds apart."""

    def __init__(self, client, run_id: str):
        self.run_id = run_id
        self._client = client
        self._points: list[tuple[str, float, int]] = []
        self._sent = time.monotonic()

    def point(self, name: str, value: float, step: int) -> None:
        """Add one point of a curve."""
        self._points.append((name, value, step))
        if time.monotonic() - self._sent > FLUSH_S:
            with contextlib.suppress(Exception):  # a tracking server that is down must not fail a training
                self.flush()
            self._sent = time.monotonic()

    def flush(self) -> None:
        """Send what has gathered."""
        points, self._points = self._points, []
        _log_points(self._client, self.run_id, points, int(time.time() * 1000))


def run_files(folders: Iterable[Path]) -> Iterator[Path]:
    """Every run record under the folders, in a stable order."""
    for folder in folders:
        yield from sorted(folder.rglob(FILE_NAME))


def _log_points(client, run_id: str, points: list[tuple[str, float, int]], timestamp: int) -> None:
    from mlflow.entities import Metric

    for first in range(0, len(points), BATCH):
        client.log_batch(
            run_id,
            metrics=[Metric(name, value, timestamp, step) for name, value, step in points[first : first + BATCH]],
        )


def _milliseconds(iso: str) -> int:
    return int(datetime.fromisoformat(iso).timestamp() * 1000)
