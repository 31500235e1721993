"""A campaign: every sample of a catalog measured in isolated workers, resumable at any kill, published as archives."""

import contextlib
import json
import logging
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nnirp.errors import InputError
from nnirp.profiling.journal import MAIN, RETEST, Journal, write_atomically
from nnirp.profiling.noise import noise_floor, pair
from nnirp.profiling.process import Lost, WorkerProcess
from nnirp.profiling.record import failed_record, plain
from nnirp.profiling.schedule import Task, runs, schedule
from nnirp.profiling.settings import ProfileSettings

log = logging.getLogger(__name__)
Progress = Callable[[int, int, str], None]
MAX_REFERENCES = 200


@dataclass(frozen=True)
class CampaignSummary:
    """What a campaign came to.

    Attributes:
        samples: of the catalog.
        finished: samples with a record.
        complete: every sample and every retest has a record.
        statuses: number of records by status.
        failed: sample → `status: error` of those that are neither measured nor skipped.
        measured_this_time: tasks of this sitting.
        timed_seconds: in timed repeats, over all records.
        model_seconds: in the model, warm-up and memory passes included, over all records.
        wall_seconds: of this sitting.
        timed_share: timed ÷ wall seconds of this sitting.
        bad_moments: records whose moment was still bad after the last attempt.
        noise_floor: see `nnirp.profiling.noise.noise_floor`.
        fingerprint: of the device.
        archives: paths written.
    """

    samples: int
    finished: int
    complete: bool
    statuses: dict[str, int]
    failed: dict[str, str]
    measured_this_time: int
    timed_seconds: float
    model_seconds: float
    wall_seconds: float
    timed_share: float
    bad_moments: int
    noise_floor: dict[str, Any]
    fingerprint: dict[str, Any] | None
    archives: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


def run_campaign(
    catalog: Any,
    settings: ProfileSettings,
    output: Path,
    work: Path,
    *,
    budget_minutes: float | None = None,
    on_progress: Progress | None = None,
    retry_failed: bool = False,
    manifest: Path | None = None,
) -> CampaignSummary:
    """Measure what the work folder does not hold yet, then write the archives.

    Args:
        catalog: has `configurations`, each with id, family and samples.
        settings: of every sample.
        output: folder of `<configuration id>.tar.gz`.
        work: folder of the journal; the same folder resumes a campaign.
        budget_minutes: stop before the first sample that starts later than this; the next call goes on.
        on_progress: called as `on_progress(done, total, note)` after every task, the note with rate and time left.
        retry_failed: measure samples again whose record says error, timeout, memory or crash.
        manifest: file of the noise floor; `manifests/retest.json` beside `output` by default.

    Raises:
        InputError: a sample name occurs twice, or the work folder belongs to another device, other settings or a running campaign.
        NnirpError: the measuring process cannot start.
    """
    if budget_minutes is not None and budget_minutes <= 0:
        raise InputError(
            f"budget_minutes is {budget_minutes}; expected more than 0; give the minutes this sitting may take"
        )
    names = Counter(sample.name for configuration in catalog.configurations for sample in configuration.samples)
    if twice := sorted(name for name, count in names.items() if count > 1):
        raise InputError(f"the catalog names sample {twice[0]!r} more than once; mend it, then `nnirp catalog --write`")
    journal = Journal(work)
    with journal.locked():
        sitting = _Sitting(settings, journal, schedule(catalog.configurations, settings), budget_minutes, on_progress)
        if retry_failed:
            sitting.forget_failures()
        sitting.run()
        archives = publish(catalog.configurations, journal, Path(output))
        manifest = manifest or Path(output).parent / "manifests" / "retest.json"
        return _summary(catalog.configurations, sitting, archives, manifest)


class _Sitting:
    """One call of `run_campaign`: the tasks left, the clock of the budget, and the calibrations seen so far."""

    def __init__(
        self,
        settings: ProfileSettings,
        journal: Journal,
        tasks: list[Task],
        budget_minutes: float | None,
        on_progress: Progress | None,
    ) -> None:
        self.settings, self.journal, self.tasks = settings, journal, tasks
        self.started = time.monotonic()
        self.deadline = self.started + budget_minutes * 60 if budget_minutes else float("inf")
        self.on_progress = on_progress or (lambda done, total, note: None)
        self.measured, self.timed_seconds = 0, 0.0
        self.calibrations: list[dict[str, float]] = []
        for task in tasks:
            if record := journal.read(task.kind, task.sample.name):
                self._remember(record)

    def forget_failures(self) -> None:
        for task in self.tasks:
            record = self.journal.read(task.kind, task.sample.name)
            if record and record["_meta"]["status"] not in ("ok", "skipped"):
                self.journal.drop(task.kind, task.sample.name)

    def run(self) -> None:
        """First what has no record, then what was measured in a bad moment, as long as attempts are left."""
        if self._pass([t for t in self.tasks if not self.journal.has(t.kind, t.sample.name)]):
            for _ in range(self.settings.max_attempts - 1):
                again = [task for task in self.tasks if self._deserves_another(task)]
                if not again or not self._pass(again):
                    break

    def _deserves_another(self, task: Task) -> bool:
        meta = (self.journal.read(task.kind, task.sample.name) or {"_meta": {}})["_meta"]
        bad = bool(meta.get("moment", {}).get("reasons"))
        return bad and meta["attempts"] < self.settings.max_attempts

    def _pass(self, tasks: Sequence[Task]) -> bool:
        """Measure tasks, a worker a run of them; False when the budget is spent."""
        total, done, began = len(tasks), 0, time.monotonic()
        for group in runs(tasks, self.settings.isolation):
            worker = None
            try:
                for task in group:
                    if time.monotonic() >= self.deadline:
                        return False
                    if worker is None or not worker.alive:
                        worker = self._start()
                    self._one(worker, task)
                    done += 1
                    pace = (time.monotonic() - began) / done
                    note = f"{60 / pace:.1f} a minute, {pace * (total - done) / 60:.1f} min left"
                    self.on_progress(done, total, note)
            finally:
                if worker is not None:
                    worker.close()
        return True

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess(self.settings, self.journal.folder)
        try:
            self.journal.identify(self.settings.meaning_digest(), worker.environment["fingerprint"])
        except InputError:
            worker.close()
            raise
        return worker

    def _one(self, worker: WorkerProcess, task: Task) -> None:
        name = task.sample.name
        answer = worker.measure(plain(task.configuration), plain(task.sample), self.reference())
        if isinstance(answer, Lost):
            failure = (task.configuration, task.sample, self.settings, worker.environment)
            record = failed_record(*failure, answer.status, answer.error)
        else:
            record = answer["record"]
        meta = record["_meta"]
        if meta["status"] not in ("ok", "skipped"):
            log.warning("%s: %s: %s", name, meta["status"], meta["error"])
        previous = self.journal.read(task.kind, name)
        record = better(previous, record)
        if task.kind == RETEST:
            record["_meta"]["retest"] = True
        self.journal.write(task.kind, name, record)
        self._remember(record)
        self.measured += 1
        self.timed_seconds += meta.get("seconds", {}).get("timed", 0.0)

    def _remember(self, record: dict) -> None:
        if after := record["_meta"].get("calibration", {}).get("after"):
            self.calibrations = [*self.calibrations[1 - MAX_REFERENCES :], after]

    def reference(self) -> dict[str, float] | None:
        """The usual calibration: the median of those seen, once there are five."""
        if len(self.calibrations) < 5:
            return None
        return {name: statistics.median(c[name] for c in self.calibrations) for name in ("matmul_ms", "copy_ms")}


def better(previous: dict | None, new: dict) -> dict:
    """The record to keep of two attempts: a measurement before a failure, then the less disturbed moment."""
    if previous is None:
        return new
    attempts = previous["_meta"]["attempts"] + 1

    def disturbance(record: dict) -> float:
        meta = record["_meta"]
        return meta["moment"]["disturbance"] if meta["status"] == "ok" else float("inf")

    kept = new if disturbance(new) <= disturbance(previous) else previous
    kept["_meta"]["attempts"] = attempts
    return kept


def publish(configurations: Sequence[Any], journal: Journal, output: Path) -> list[str]:
    """Write `<id>.tar.gz` of every configuration that has a record; the same records give the same bytes."""
    from nnirp.layers.archives import write_archive

    written = []
    for configuration in configurations:
        members = []
        for sample in configuration.samples:
            if record := journal.read(MAIN, sample.name):
                content = json.dumps(record, sort_keys=True, indent=1) + "\n"
                members.append((f"{sample.name}.json", content.encode()))
        if members:
            path = output / f"{configuration.id}.tar.gz"
            write_archive(path, members)
            written.append(str(path))
    return written


def _summary(configurations: Sequence[Any], sitting: _Sitting, archives: list[str], manifest: Path) -> CampaignSummary:
    journal, wall = sitting.journal, time.monotonic() - sitting.started
    samples = [sample for configuration in configurations for sample in configuration.samples]
    records = {s.name: record for s in samples if (record := journal.read(MAIN, s.name))}
    metas = [record["_meta"] for record in records.values()]
    pairs = []
    for name, record in sorted(records.items()):
        second = journal.read(RETEST, name)
        if second and (both := pair(record, second)):
            pairs.append(both)
    floor = noise_floor(pairs)
    fingerprint = None
    with contextlib.suppress(FileNotFoundError):
        fingerprint = json.loads((journal.folder / "campaign.json").read_text(encoding="utf-8"))["fingerprint"]
    manifest.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(manifest, {"schema": 1, "fingerprint": fingerprint, "noise_floor": floor, "pairs": pairs})
    return CampaignSummary(
        samples=len(samples),
        finished=len(records),
        complete=all(journal.has(task.kind, task.sample.name) for task in sitting.tasks),
        statuses=dict(sorted(Counter(meta["status"] for meta in metas).items())),
        failed={m["sample"]: f"{m['status']}: {m['error']}" for m in metas if m["status"] not in ("ok", "skipped")},
        measured_this_time=sitting.measured,
        timed_seconds=sum(meta.get("seconds", {}).get("timed", 0.0) for meta in metas),
        model_seconds=sum(meta.get("seconds", {}).get("model", 0.0) for meta in metas),
        wall_seconds=wall,
        timed_share=sitting.timed_seconds / wall if wall else 0.0,
        bad_moments=sum(bool(meta.get("moment", {}).get("reasons")) for meta in metas),
        noise_floor=floor,
        fingerprint=fingerprint,
        archives=archives,
    )
