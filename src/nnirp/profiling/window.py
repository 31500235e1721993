"""A window: samples that take turns, so that each is timed over a longer stretch of time than one bad moment lasts.

Samples are prepared while memory allows, each in the process of its source configuration, and visited round after round; a sample that
has what it needs makes place for the next one. Between two visits, as soon as the last one is `calibrate_every_s` old, lies a calibration in a
process of its own; it belongs to every visit since the one before. A process that is lost takes one sample with it.
"""

import logging
import math
import time
from collections.abc import Callable, Sequence

from nnirp.profiling.crew import Crew, SampleFailed
from nnirp.profiling.process import ForkServer
from nnirp.profiling.pulse import Pulse
from nnirp.profiling.record import failed_record
from nnirp.profiling.rounds import Floor, conclude, finished
from nnirp.profiling.schedule import Task, process_key
from nnirp.profiling.settings import ProfileSettings

log = logging.getLogger(__name__)


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
