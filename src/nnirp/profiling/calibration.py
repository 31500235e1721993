"""A fixed kernel timed between samples, so that the drift of a shared machine is seen and recorded."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from nnirp.profiling.loop import Clock, host_clock

MATRIX = 512  # 3 MB of operands: bound by arithmetic
COPY_BYTES = 48 << 20  # more than the last-level cache of most processors: bound by memory
REPEATS = 3


@dataclass(frozen=True)
class Calibration:
    """Milliseconds of the two kernels, the median of three calls each."""

    matmul_ms: float
    copy_ms: float

    def to_dict(self) -> dict[str, float]:
        return {"matmul_ms": self.matmul_ms, "copy_ms": self.copy_ms}


def calibrator(device: str) -> Callable[[], Calibration]:
    """Allocate the operands once and return a function that times both kernels: some 50 ms on one core."""
    import torch

    generator = torch.Generator().manual_seed(0)
    side = MATRIX * (8 if device.startswith("cuda") else 1)
    left, right = (torch.rand(side, side, generator=generator).to(device) for _ in range(2))
    product = torch.empty_like(left)
    source = torch.ones(COPY_BYTES // 4, device=device)
    target = torch.empty_like(source)
    clock: Clock = host_clock
    if device.startswith("cuda"):
        from nnirp.profiling.loop import cuda_event_clock

        clock = cuda_event_clock(torch.cuda)

    def multiply() -> None:
        with torch.inference_mode():
            torch.matmul(left, right, out=product)

    def copy() -> None:
        with torch.inference_mode():
            target.copy_(source)

    def run() -> Calibration:
        clock(multiply)
        matmul = statistics.median(clock(multiply) for _ in range(REPEATS))
        return Calibration(matmul, statistics.median(clock(copy) for _ in range(REPEATS)))

    return run


def drift(found: dict[str, float], reference: dict[str, float] | None) -> float:
    """Largest slowdown of a calibration against a reference, as a share: 0.1 is 10 % slower; 0 without a reference."""
    if not reference:
        return 0.0
    return max(0.0, *(found[name] / reference[name] - 1 for name in ("matmul_ms", "copy_ms") if reference.get(name)))
