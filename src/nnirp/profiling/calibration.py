"""A fixed kernel timed between visits, so that the drift of a shared machine is seen and recorded."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass

from nnirp.profiling.loop import Clock, clock_for
from nnirp.profiling.statistics import quantile

MATRIX = 384  # 1.7 MB of operands and product: bound by arithmetic
COPY_BYTES = 32 << 20  # with its copy more than the last-level cache of most processors: bound by memory
ON_GPU = 8  # times the side of the matrix, and its square times the bytes
REPEATS = 15
LOW = 0.2  # quantile of the repeats: what a moment allows, not its worst interruption
FLOOR = 0.05  # quantile of a campaign's calibrations: the machine at its quietest, without trusting one lucky reading
ENOUGH = 10  # calibrations before a floor is believed
KERNELS = ("matmul_ms", "copy_ms")


@dataclass(frozen=True)
class Calibration:
    """Milliseconds of the two kernels: the 20th percentile and the minimum of fifteen calls each."""

    matmul_ms: float
    copy_ms: float
    matmul_min_ms: float
    copy_min_ms: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def calibrator(device: str) -> Callable[[], Calibration]:
    """Allocate the operands once and return a function that times both kernels: some 50 ms on one core.

    The sizes for a GPU have not been tried on one.
    """
    import torch

    on_gpu = device.startswith("cuda")
    generator = torch.Generator().manual_seed(0)
    side = MATRIX * (ON_GPU if on_gpu else 1)
    left, right = (torch.rand(side, side, generator=generator).to(device) for _ in range(2))
    product = torch.empty_like(left)
    source = torch.ones(COPY_BYTES * (ON_GPU**2 if on_gpu else 1) // 4, device=device)
    target = torch.empty_like(source)
    clock: Clock = clock_for("cuda_events" if on_gpu else "returned")

    def multiply() -> None:
        with torch.inference_mode():
            torch.matmul(left, right, out=product)

    def copy() -> None:
        with torch.inference_mode():
            target.copy_(source)

    def run() -> Calibration:
        clock(multiply)
        products = [clock(multiply) for _ in range(REPEATS)]
        copies = [clock(copy) for _ in range(REPEATS)]
        values = (quantile(products, LOW), quantile(copies, LOW), min(products), min(copies))
        return Calibration(*(round(value, 4) for value in values))

    return run


def floor_of(calibrations: Iterable[Mapping[str, float]]) -> dict[str, float] | None:
    """The machine at its quietest: the 5th percentile of each kernel's calibrations, None below ten of them."""
    held = list(calibrations)
    if len(held) < ENOUGH:
        return None
    return {name: round(quantile([c[name] for c in held], FLOOR), 4) for name in KERNELS}


def drift(found: Mapping[str, float] | None, floor: Mapping[str, float] | None) -> float:
    """Slowdown of a calibration against the floor, the larger of both kernels, as a share: 0.1 is 10 % slower."""
    if not found or not floor:
        return 0.0
    return max(0.0, *(found[name] / floor[name] - 1 for name in KERNELS if floor.get(name)))
