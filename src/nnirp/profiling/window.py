"""A window: samples of one configuration that take turns in one process, so that each is timed over a longer stretch of time.

Prepared one after another while memory allows, they are visited round after round; a calibration lies between two visits as soon
as the last one is `calibrate_every_s` old, and belongs to every visit since the one before. A worker that is lost takes one sample with it.
"""

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from nnirp.errors import NnirpError
from nnirp.profiling.process import ForkServer, Lost, WorkerProcess
from nnirp.profiling.record import failed_record, plain
from nnirp.profiling.rounds import Floor, conclude, finished
from nnirp.profiling.schedule import Task
from nnirp.profiling.settings import ProfileSettings

log = logging.getLogger(__name__)


class SampleFailed(Exception):
    """A sample gave no measurement: its task, a status of `nnirp.profiling.record.STATUSES`, and why."""

    def __init__(self, task: Task, status: str, error: str) -> None:
        super().__init__(f"{task.sample.name}: {status}: {error}")
        self.task, self.status, self.error = task, status, error


class Window:
    """Measures the tasks of one process.

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
        self.settings, self.server = settings, server
        self.floor, self.seen, self.done, self.identify = floor, seen, done, identify
        self.worker: WorkerProcess | None = None
        self.environment: dict[str, Any] = {}
        self.calibrated, self.last = -math.inf, None
        self.open_rounds: list[dict[str, Any]] = []

    def run(self, tasks: Sequence[Task], deadline: float) -> None:
        """Measure tasks that may share a process; those that no window has begun by `deadline` are left.

        Args:
            tasks: in an order that keeps samples with the same weights together.
            deadline: in the time of `time.monotonic`.
        """
        waiting: list[Task] = list(tasks)
        began: dict[Task, dict] = {}
        try:
            while (waiting or began) and (began or time.monotonic() < deadline):
                try:
                    self._prepare(waiting, began, deadline)
                    self._visit(began)
                    self._ask({"do": "clear"})
                except SampleFailed as failure:
                    self._fail(failure)
                    began.pop(failure.task, None)
                    waiting = [task for task in waiting if task is not failure.task]
        finally:
            self._close()

    def _prepare(self, waiting: list[Task], began: dict[Task, dict], deadline: float) -> None:
        """Build the samples of a window in the worker: again those that were begun in a worker now lost, then new ones."""
        if self.worker is None:
            self._open()
            for task in began:
                self._ask_for(task)
        held, limit = 0, self.settings.hold_gib * 2**30
        while waiting and len(began) < self.settings.interleave and held < limit:
            if time.monotonic() >= deadline and began:
                return
            task = waiting[0]
            answer = self._ask_for(task)
            began[task], held = answer["record"], answer["held_bytes"]
            waiting.pop(0)

    def _visit(self, began: dict[Task, dict]) -> None:
        """Visit the samples in turns until each has what it needs."""
        settings = self.settings
        budget_s, most = settings.time_budget_s / settings.rounds, math.ceil(settings.max_repeats / settings.rounds)
        while began:
            for task in list(began):
                meta = began[task]["_meta"]
                self._calibrate(task, settings.calibrate_every_s)
                found = self._ask({"do": "visit", "sample": task.sample.name, "budget_s": budget_s, "most": most}, task)
                entry = found["round"] | {"before": self.last, "after": None, "taken": None, "sitting": 0}
                times = entry.pop("times_ms")
                meta["times_ms"] += times
                meta["seconds"]["timed"] += sum(times) / 1e3
                meta["seconds"]["visits"] += entry.pop("seconds")
                meta["rounds"].append(entry | {"count": len(times)})
                self.open_rounds.append(meta["rounds"][-1])
            self._finish(began)

    def _finish(self, began: dict[Task, dict]) -> None:
        """Hand over the records that need no further visit."""
        for task, record in list(began.items()):
            meta = record["_meta"]
            if reason := finished(meta, self.floor(), self.settings):
                if meta["rounds"][-1]["after"] is None:
                    self._calibrate(task, 0.0)
                    if not (reason := finished(meta, self.floor(), self.settings)):
                        continue
                meta["stopped_by"] = reason
                del began[task]
                self.done(task, conclude(record, self.floor(), self.settings))

    def _calibrate(self, task: Task, after_s: float) -> None:
        """Calibrate when the last one is that old, and close the rounds since then."""
        if time.monotonic() - self.calibrated < after_s:
            return
        answer = self._ask({"do": "calibrate"}, task)
        self.last, self.calibrated = answer["calibration"], time.monotonic()
        for entry in self.open_rounds:
            entry["after"], entry["taken"] = self.last, answer["taken"]
        self.open_rounds.clear()
        if self.last:
            self.seen(self.last)

    def _ask_for(self, task: Task) -> dict[str, Any]:
        request = {"do": "prepare", "configuration": plain(task.configuration), "sample": plain(task.sample)}
        return self._ask(request, task)

    def _ask(self, request: dict[str, Any], task: Task | None = None) -> dict[str, Any]:
        """Ask the worker.

        Raises:
            SampleFailed: it is lost, or the sample failed in it.
        """
        answer = self.worker.ask(request)
        if isinstance(answer, Lost):
            self._close()
            answer = {"failed": (answer.status, answer.error)}
        elif answer.get("stop"):
            self._close()
        if task is not None and "failed" in answer:
            raise SampleFailed(task, *answer["failed"])
        return answer

    def _fail(self, failure: SampleFailed) -> None:
        log.log(logging.INFO if failure.status == "skipped" else logging.WARNING, "%s", failure)
        task, environment = failure.task, self.environment
        self.done(
            task,
            failed_record(task.configuration, task.sample, self.settings, environment, failure.status, failure.error),
        )

    def _open(self) -> None:
        self.worker = WorkerProcess(self.server)
        self.environment = self.worker.environment
        self.identify(self.environment["fingerprint"])
        while self.settings.calibrate and self.floor() is None:  # the first worker of a campaign looks for the floor
            answer = self.worker.ask({"do": "calibrate"})
            if isinstance(answer, Lost):
                raise NnirpError(f"the calibration failed ({answer.status}: {answer.error}); run `nnirp doctor`")
            self.seen(answer["calibration"])

    def _close(self) -> None:
        if self.worker is not None:
            self.worker.close()
        self.worker, self.last, self.calibrated = None, None, -math.inf
        self.open_rounds.clear()
