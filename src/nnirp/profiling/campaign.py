"""A campaign: every sample of a catalog measured in isolated workers, resumable at any kill, published as archives."""

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nnirp.errors import InputError
from nnirp.profiling.calibration import ENOUGH, floor_of
from nnirp.profiling.journal import MAIN, RETEST, Journal, write_atomically
from nnirp.profiling.noise import noise_floor, pair
from nnirp.profiling.process import ForkServer
from nnirp.profiling.rounds import Floor, add_rounds, calibrations, conclude
from nnirp.profiling.schedule import Task, schedule
from nnirp.profiling.settings import ProfileSettings
from nnirp.profiling.window import Window

Progress = Callable[[int, int, str], None]
IN_MODEL = ("first_call", "memory", "warm_up", "sustained", "timed")  # seconds of a record spent in its model


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
        bad_moments: records that lack good repeats after the last attempt.
        bad_rounds: share of all rounds whose moment was bad.
        floor: the machine at its quietest, milliseconds of the calibration kernels.
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
    bad_rounds: float
    floor: dict[str, float] | None
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
        sitting.floor = floor_of(sitting.calibrations)
        archives = publish(catalog.configurations, journal, Path(output), sitting.floor, settings)
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
        self.total, self.finished_before = 0, 0
        metas = [r["_meta"] for t in tasks if (r := journal.read(t.kind, t.sample.name))]
        self.calibrations = list(calibrations(metas))
        self.floor = floor_of(self.calibrations)

    def forget_failures(self) -> None:
        """Drop the records of samples that failed, so that they are measured again."""
        for task in self.tasks:
            record = self.journal.read(task.kind, task.sample.name)
            if record and record["_meta"]["status"] not in ("ok", "skipped"):
                self.journal.drop(task.kind, task.sample.name)

    def run(self) -> None:
        """First what has no record, then what lacks good repeats, as long as attempts are left."""
        todo = [t for t in self.tasks if not self.journal.has(t.kind, t.sample.name)]
        with contextlib.ExitStack() as stack:
            server = None
            for _ in range(self.settings.max_attempts):
                if not todo or time.monotonic() >= self.deadline:
                    break
                server = server or stack.enter_context(ForkServer(self.settings, self.journal.folder))
                self._pass(todo, server)
                todo = [task for task in self.tasks if self._deserves_another(task)]

    def _deserves_another(self, task: Task) -> bool:
        record = self.journal.read(task.kind, task.sample.name)
        if record is None or record["_meta"]["status"] != "ok":
            return False
        meta = conclude(record, self.floor, self.settings)["_meta"]
        return bool(meta["moment"]["reasons"]) and meta["attempts"] < self.settings.max_attempts

    def _pass(self, tasks: Sequence[Task], server: ForkServer) -> None:
        """Measure tasks until the budget is spent."""
        self.total, self.finished_before, began = len(tasks), self.measured, time.monotonic()

        def done(task: Task, record: dict) -> None:
            self._keep(task, record)
            count = self.measured - self.finished_before
            pace = (time.monotonic() - began) / count
            note = f"{60 / pace:.1f} a minute, {pace * (self.total - count) / 60:.1f} min left"
            self.on_progress(count, self.total, note)

        def identify(fingerprint: dict) -> None:
            self.journal.identify(self.settings.meaning_digest(), fingerprint)

        window = Window(self.settings, server, lambda: self.floor, self._seen, done, identify)
        window.run(tasks, self.deadline)

    def _keep(self, task: Task, record: dict) -> None:
        meta = record["_meta"]
        self.measured += 1
        self.timed_seconds += meta.get("seconds", {}).get("timed", 0.0)
        if previous := self.journal.read(task.kind, task.sample.name):
            record = conclude(add_rounds(previous, record), self.floor, self.settings)
        if task.kind == RETEST:
            record["_meta"]["retest"] = True
        self.journal.write(task.kind, task.sample.name, record)

    def _seen(self, calibration: dict[str, float]) -> None:
        self.calibrations.append(calibration)
        if len(self.calibrations) % ENOUGH == 0:
            self.floor = floor_of(self.calibrations)


def publish(
    configurations: Sequence[Any], journal: Journal, output: Path, floor: Floor, settings: ProfileSettings
) -> list[str]:
    """Write `<id>.tar.gz` of every configuration that has a record, judged by the final floor.

    The same records give the same bytes.
    """
    from nnirp.layers.archives import write_archive

    written = []
    for configuration in configurations:
        members = []
        for sample in configuration.samples:
            if record := journal.read(MAIN, sample.name):
                record = conclude(record, floor, settings)
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

    def read(kind: str, name: str) -> dict | None:
        record = journal.read(kind, name)
        return record and conclude(record, sitting.floor, sitting.settings)

    records = {s.name: record for s in samples if (record := read(MAIN, s.name))}
    metas = [record["_meta"] for record in records.values()]
    rounds = [entry for meta in metas for entry in meta.get("rounds", ())]
    pairs = []
    for name, record in sorted(records.items()):
        second = read(RETEST, name)
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
        model_seconds=sum(sum(meta.get("seconds", {}).get(part, 0.0) for part in IN_MODEL) for meta in metas),
        wall_seconds=wall,
        timed_share=sitting.timed_seconds / wall if wall else 0.0,
        bad_moments=sum(bool(meta.get("moment", {}).get("reasons")) for meta in metas),
        bad_rounds=1 - sum(entry["good"] for entry in rounds) / len(rounds) if rounds else 0.0,
        floor=sitting.floor,
        noise_floor=floor,
        fingerprint=fingerprint,
        archives=archives,
    )
