"""How busy the processor and the GPU are while a model runs back to back."""

import time
from collections.abc import Callable

SAMPLING_S = 0.1  # NVML refreshes its utilisation every 1/6 to 1 s


class CpuUtilisation:
    """Processor time of this process over wall time, all threads together: 100 % is one core kept busy."""

    def __init__(self) -> None:
        self.wall, self.used = time.perf_counter(), time.process_time()

    def percent(self) -> float:
        """Since construction."""
        wall = time.perf_counter() - self.wall
        return 100 * (time.process_time() - self.used) / wall if wall else 0.0


class Sampler:
    """Collects a reading at most every tenth of a second; called between two inferences, never during one."""

    def __init__(self, read: Callable[[], float]) -> None:
        self.read, self.values, self.last = read, [], -float("inf")

    def __call__(self) -> None:
        now = time.perf_counter()
        if now - self.last >= SAMPLING_S:
            self.values.append(self.read())
            self.last = now
