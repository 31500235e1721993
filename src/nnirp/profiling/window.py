"""A window: samples that take turns, so that each is timed over a longer stretch of time than one bad moment lasts.

Samples are prepared while memory allows, each in the process of its source configuration, and visited round after round; a sample that
has what it needs makes place for the next one. Between two visits, as soon as the last one is `calibrate_every_s` old, lies a calibration in a
process of its own; it belongs to every visit since the one before. A process that is lost takes one sample with it.
"""

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from nnirp.errors import NnirpError
from nnirp.profiling.monitors import contention
from nnirp.profiling.process import ForkServer, Lost, WorkerProcess
from nnirp.profiling.record import failed_record, plain
from nnirp.profiling.rounds import Floor, conclude, finished
from nnirp.profiling.schedule import Task, process_key
from nnirp.profiling.settings import ProfileSettings

log = logging.getLogger(__name__)


class SampleFailed(Exception):
    """A sample gave no measurement: its task, a status of `nnirp.profiling.record.STATUSES`, and why."""

    def __init__(self, task: Task, status: str, error: str) -> None:
        super().__init__(f"{task.sample.name}: {status}: {error}")
        self.task, self.status, self.error = task, status, error


class Window:
    """Measures tasks.

    Args:
        settings: of the campaign.
        server: forks the workers.
        floor: the campaign's floor so far.
        seen: told of every calibration.
        done: told of every finished record, with its task.
        identify: told of the fingerprint of a new worker; raises InputError where it is another device.
    """

    def __init__(
        self,
        settings: ProfileSettings,
        server: ForkServer,
        floor: Callable[[], Floor],
        seen: Callable[[dict[str, float]], None],
        done: Callable[[Task, dict], None],
        identify: Callable[[dict], None],
    ) -> None:
        self.settings, self.floor, self.done = settings, floor, done
        self.crew = Crew(settings, server, identify)
        self.pulse = Pulse(settings, self.crew, floor, seen)
        self.waiting: list[Task] = []
        self.began: dict[Task, dict] = {}

    def run(self, tasks: Sequence[Task], deadline: float) -> None:
        """Measure tasks; those that have not begun by `deadline`, in the time of `time.monotonic`, are left.

        Args:
            tasks: in an order that keeps those of one process together, and in it samples with the same weights.
            deadline: what has begun is finished.
        """
        self.waiting = list(tasks)
        try:
            while True:
                if time.monotonic() >= deadline:
                    self.waiting.clear()
                if not (self.waiting or self.began):
                    return
                try:
                    self._fill()
                    self._round()
                    self._finish()
                except SampleFailed as failure:
                    self._fail(failure)
        finally:
            self.crew.close()
            self.pulse.close()

    def _fill(self) -> None:
        """Prepare samples: those whose process was lost again, then new ones while there is place."""
        for task in self.began:
            if not self.crew.holds(task):
                self.pulse.interrupted()
                self.crew.prepare(task)
        while self.waiting and self._has_place():
            task = self.waiting[0]
            self.pulse.interrupted()
            self.began[task] = self.crew.prepare(task)
            self.waiting.pop(0)

    def _has_place(self) -> bool:
        if not self.began:
            return True
        enough_memory = self.crew.held_bytes() < self.settings.hold_gib * 2**30
        return len(self.began) < self.settings.interleave and enough_memory and self.crew.has_place(self.waiting[0])

    def _round(self) -> None:
        """Visit every sample once."""
        settings = self.settings
        budget_s, most = settings.time_budget_s / settings.rounds, math.ceil(settings.max_repeats / settings.rounds)
        for task, record in self.began.items():
            self.pulse.beat()
            request = {"do": "visit", "sample": task.sample.name, "budget_s": budget_s, "most": most}
            entry, meta = self.crew.ask(task, request)["round"], record["_meta"]
            times = entry.pop("times_ms")
            meta["times_ms"] += times
            meta["seconds"]["timed"] += sum(times) / 1e3
            meta["seconds"]["visits"] += entry.pop("seconds")
            meta["rounds"].append(self.pulse.opened(entry | {"count": len(times), "sitting": 0}))

    def _finish(self) -> None:
        """Hand over the records that need no further visit."""
        for task, record in list(self.began.items()):
            meta = record["_meta"]
            if not finished(meta, self.floor(), self.settings):
                continue
            self.pulse.close_rounds()  # the calibration after the last round may change the verdict
            if reason := finished(meta, self.floor(), self.settings):
                meta["stopped_by"] = reason
                del self.began[task]
                self.done(task, conclude(record, self.floor(), self.settings))
                self._leave(task)

    def _leave(self, task: Task) -> None:
        """Free what a sample held; its process ends with its last sample."""
        self.pulse.interrupted()
        self.crew.release(task)
        key = process_key(task, self.settings.isolation)
        if not any(process_key(other, self.settings.isolation) == key for other in (*self.began, *self.waiting)):
            self.crew.dismiss(key)

    def _fail(self, failure: SampleFailed) -> None:
        log.log(logging.INFO if failure.status == "skipped" else logging.WARNING, "%s", failure)
        task = failure.task
        self.began.pop(task, None)
        self.waiting = [other for other in self.waiting if other is not task]
        what = (task.configuration, task.sample, self.settings, self.crew.environment)
        self.done(task, failed_record(*what, failure.status, failure.error))
        self._leave(task)


class Crew:
    """The processes of a window, one a source configuration, and what each holds."""

    def __init__(self, settings: ProfileSettings, server: ForkServer, identify: Callable[[dict], None]) -> None:
        self.settings, self.server, self.identify = settings, server, identify
        self.workers: dict[Any, WorkerProcess] = {}
        self.samples: dict[Any, set[str]] = {}
        self.bytes: dict[Any, int] = {}
        self.environment: dict[str, Any] = {}
        self.ended_cpu_s = 0.0

    def holds(self, task: Task) -> bool:
        """Whether a living process has prepared the sample."""
        return task.sample.name in self.samples.get(self._key(task), ())

    def has_place(self, task: Task) -> bool:
        """Whether the sample's process lives, or one more may."""
        return self._key(task) in self.workers or len(self.workers) < self.settings.processes

    def held_bytes(self) -> int:
        """Memory that all models hold together."""
        return sum(self.bytes.values())

    def cpu_s(self) -> float:
        """Processor seconds of all processes so far."""
        return self.ended_cpu_s + sum(worker.cpu_s for worker in self.workers.values())

    def prepare(self, task: Task) -> dict[str, Any]:
        """Have a sample prepared, in a new process where it needs one; returns its record, without times.

        Raises:
            SampleFailed: it cannot be measured.
            NnirpError: a process does not start.
            InputError: see `identify`.
        """
        key = self._key(task)
        if key not in self.workers:
            worker = self.workers[key] = WorkerProcess(self.server, self.settings)
            self.environment = worker.environment
            self.identify(self.environment["fingerprint"])
            self.samples[key] = set()
        request = {"do": "prepare", "configuration": plain(task.configuration), "sample": plain(task.sample)}
        record = self.ask(task, request)["record"]
        self.samples[key].add(task.sample.name)
        return record

    def ask(self, task: Task, request: dict[str, Any]) -> dict[str, Any]:
        """Ask the process of a task.

        Raises:
            SampleFailed: the process is lost, or the sample failed in it.
        """
        key = self._key(task)
        answer = self.workers[key].ask(request)
        if isinstance(answer, Lost):
            self.dismiss(key)
            raise SampleFailed(task, answer.status, answer.error)
        self.bytes[key] = answer.get("held_bytes", self.bytes.get(key, 0))
        if answer.get("stop"):
            self.dismiss(key)
        if "failed" in answer:
            raise SampleFailed(task, *answer["failed"])
        return answer

    def release(self, task: Task) -> None:
        """Have a process give back what a sample holds; one that is lost over it is prepared again when needed."""
        key = self._key(task)
        if self.holds(task):
            answer = self.workers[key].ask({"do": "release", "sample": task.sample.name})
            if isinstance(answer, Lost):
                self.dismiss(key)
            else:
                self.samples[key].discard(task.sample.name)
                self.bytes[key] = answer["held_bytes"]

    def dismiss(self, key: Any) -> None:
        """End a process."""
        if worker := self.workers.pop(key, None):
            worker.close()
            self.ended_cpu_s += worker.cpu_s
        self.samples.pop(key, None)
        self.bytes.pop(key, None)

    def close(self) -> None:
        """End every process."""
        for key in list(self.workers):
            self.dismiss(key)

    def _key(self, task: Task) -> Any:
        return process_key(task, self.settings.isolation)


class Pulse:
    """Calibrations between visits, and what others took of the cores from one to the next."""

    def __init__(
        self,
        settings: ProfileSettings,
        crew: Crew,
        floor: Callable[[], Floor],
        seen: Callable[[dict[str, float]], None],
    ) -> None:
        self.settings, self.crew, self.floor, self.seen = settings, crew, floor, seen
        self.worker: WorkerProcess | None = None
        self.last: dict[str, float] | None = None
        self.at = -math.inf
        self.accounts: contention.CoreTime | None = None
        self.cpu_s = 0.0
        self.rounds: list[dict[str, Any]] = []

    def opened(self, entry: dict[str, Any]) -> dict[str, Any]:
        """A round that began after the last calibration and awaits the next."""
        entry |= {"before": self.last, "after": None, "taken": None}
        self.rounds.append(entry)
        return entry

    def beat(self) -> None:
        """Calibrate when the last time is long enough ago."""
        if time.monotonic() - self.at >= self.settings.calibrate_every_s:
            self._calibrate()

    def interrupted(self) -> None:
        """Close the rounds because something else than visits begins, which belongs to none of them."""
        self.close_rounds()
        self.at = -math.inf

    def close_rounds(self) -> None:
        """Calibrate if a round still awaits it."""
        if self.rounds:
            self._calibrate()

    def close(self) -> None:
        """End the calibrating process."""
        if self.worker is not None:
            self.worker.close()
        self.worker, self.last, self.at = None, None, -math.inf
        self.rounds.clear()

    def _calibrate(self) -> None:
        answer = self._kernels() if self.settings.calibrate else {"calibration": None, "gpu_processes": 0}
        cores = set(self.crew.environment["affinity"])
        accounts, cpu_s = contention.core_time(cores), self._cpu_s()
        taken = contention.shares(self.accounts, accounts, cpu_s - self.cpu_s, len(cores)) or {}
        if answer["gpu_processes"]:
            taken["gpu_processes"] = answer["gpu_processes"]
        self.last, self.at, self.accounts, self.cpu_s = answer["calibration"], time.monotonic(), accounts, cpu_s
        for entry in self.rounds:
            entry["after"], entry["taken"] = self.last, taken
        self.rounds.clear()

    def _kernels(self) -> dict[str, Any]:
        """One calibration; at the start of a campaign as many as its floor needs.

        Raises:
            NnirpError: the calibrating process is lost.
        """
        if self.worker is None:
            self.worker = WorkerProcess(self.crew.server, self.settings.for_calibration())
        while True:
            own = [worker.pid for worker in self.crew.workers.values()]
            answer = self.worker.ask({"do": "calibrate", "own": own})
            if isinstance(answer, Lost):
                raise NnirpError(
                    f"the calibration failed ({answer.status}: {answer.error}); run the same command again"
                )
            self.seen(answer["calibration"])
            if self.floor() is not None:
                return answer

    def _cpu_s(self) -> float:
        return self.crew.cpu_s() + (self.worker.cpu_s if self.worker else 0.0)
