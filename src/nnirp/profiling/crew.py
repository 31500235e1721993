"""The processes of a campaign, one a source configuration, and what each of them holds."""

from collections.abc import Callable
from typing import Any

from nnirp.profiling.process import ForkServer, Lost, WorkerProcess
from nnirp.profiling.record import plain
from nnirp.profiling.schedule import Task, process_key
from nnirp.profiling.settings import ProfileSettings


class SampleFailed(Exception):
    """A sample gave no measurement: its task, a status of `nnirp.profiling.record.STATUSES`, and why."""

    def __init__(self, task: Task, status: str, error: str) -> None:
        super().__init__(f"{task.sample.name}: {status}: {error}")
        self.task, self.status, self.error = task, status, error


class Crew:
    """Starts processes when they are needed, asks them, and ends those that are lost or no longer needed.

    Args:
        settings: of the campaign.
        server: forks the workers.
        identify: told of the fingerprint of a new worker; raises InputError where it is another device.
    """

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
