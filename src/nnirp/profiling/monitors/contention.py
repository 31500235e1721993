"""Whether others took the workers' cores while they measured, from the kernel's accounts of each core."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")


@dataclass(frozen=True)
class CoreTime:
    """Seconds of a set of cores since boot: busy (user, system, interrupts) and stolen by the hypervisor."""

    busy: float
    stolen: float
    at: float


def core_time(cores: set[int], stat: Path = STAT) -> CoreTime | None:
    """Read the accounts of some cores; None where the kernel shows none."""
    hertz = os.sysconf("SC_CLK_TCK")
    try:
        lines = stat.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    busy = stolen = 0.0
    for line in lines:
        name, *numbers = line.split()
        if not (name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores):
            continue
        user, nice, system, _idle, _wait, irq, softirq, steal = (int(number) / hertz for number in numbers[:8])
        busy += user + nice + system + irq + softirq
        stolen += steal
    return CoreTime(busy, stolen, time.perf_counter())


def shares(before: CoreTime | None, after: CoreTime | None, own_s: float, cores: int) -> dict[str, float] | None:
    """Share of the cores' time that other processes and the hypervisor took between two readings.

    The kernel counts in ticks of 10 ms: three ticks are forgiven, so that short measurements are not blamed for them.

    Args:
        before: accounts of the cores.
        after: the same, later.
        own_s: processor seconds that the workers used in between.
        cores: their number.
    """
    if before is None or after is None or after.at <= before.at:
        return None
    span = (after.at - before.at) * max(1, cores)
    others = (after.busy - before.busy) - own_s
    return {
        "others": round(max(0.0, others - 0.03) / span, 4),
        "stolen": round(max(0.0, after.stolen - before.stolen - 0.03) / span, 4),
    }
