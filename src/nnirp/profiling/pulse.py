"""The pulse of a campaign: calibrations between visits, and what others took of the cores from one to the next."""

import math
import time
from collections.abc import Callable
from typing import Any

from nnirp.errors import NnirpError
from nnirp.profiling.crew import Crew
from nnirp.profiling.monitors import contention
from nnirp.profiling.process import Lost, WorkerProcess
from nnirp.profiling.rounds import Floor
from nnirp.profiling.settings import ProfileSettings


class Pulse:
    """Calibrates in a process of its own and closes the rounds that lie between two calibrations.

    Args:
        settings: of the campaign.
        crew: whose processor time is its own and not that of others.
        floor: the campaign's floor so far.
        seen: told of every calibration.
    """

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
