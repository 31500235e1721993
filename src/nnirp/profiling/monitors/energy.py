"""Energy of one inference, from a counter read before and after at least a second of inferences back to back."""

from collections.abc import Callable
from pathlib import Path

from nnirp.profiling.monitors import Unavailable

POWERCAP = Path("/sys/class/powercap")


class Rapl:
    """Energy counters of Intel and AMD processor packages (the Linux power capping interface).

    Tested against recorded files: the virtual machines used so far have no counter.

    Args:
        root: of the interface.

    Raises:
        Unavailable: there is no counter, as in most virtual machines, or it may not be read.
    """

    def __init__(self, root: Path = POWERCAP) -> None:
        self.zones = sorted(zone for zone in root.glob("intel-rapl:*") if zone.name.count(":") == 1)
        if not self.zones:
            raise Unavailable("no RAPL counter (virtual machine, or the intel_rapl module is not loaded)")
        try:
            self.ranges = [int((zone / "max_energy_range_uj").read_text()) for zone in self.zones]
            self.last = self._read()
        except OSError as error:
            raise Unavailable(
                f"RAPL cannot be read ({error.strerror}); sudo chmod a+r {self.zones[0]}/energy_uj"
            ) from None
        self.total_uj = 0

    def _read(self) -> list[int]:
        return [int((zone / "energy_uj").read_text()) for zone in self.zones]

    def joule(self) -> float:
        """Energy since construction, all packages, joule. Call it more often than a counter wraps: minutes."""
        now = self._read()
        for before, after, size in zip(self.last, now, self.ranges, strict=True):
            self.total_uj += (after - before) % (size + 1)
        self.last = now
        return self.total_uj / 1e6


def per_inference(joule: Callable[[], float], run: Callable[[], int]) -> float:
    """Joule of one inference: the counter's difference over `run()`, divided by the inferences that it reports."""
    before = joule()
    count = run()
    return (joule() - before) / count
