"""The schema of an answer: what `nnirp predict --json`, `nnirp.predict` and the served model all return."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

UNITS = {"runtime_ms": "ms", "peak_ram_mb": "MB", "peak_vram_mb": "MB", "energy_j": "J"}
LABELS = {
    "runtime_ms": "runtime",
    "peak_ram_mb": "peak memory",
    "peak_vram_mb": "peak GPU memory",
    "energy_j": "energy",
}
Bound = Literal["arithmetic", "memory", "overhead"]


@dataclass(frozen=True)
class Estimate:
    """One target: value and a 90 % interval, in `unit`; MB are of 2^20 bytes."""

    target: str
    value: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True)
class Operator:
    """One node's share of the predicted runtime, and what bounds it.

    `bound`: arithmetic or memory, whichever takes longer at the rates that the device was calibrated at; overhead where even the
    longer one explains less than a quarter of the time. `roofline` is that part. Both are None where the device's rates are not known.
    """

    operator: str
    position: int
    milliseconds: float
    share: float
    bound: Bound | None = None
    roofline: float | None = None


@dataclass(frozen=True)
class Novelty:
    """How a graph differs from the training pool, in words; all empty means that nothing was found to warn of."""

    operators: tuple[str, ...] = ()
    bigrams: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.operators or self.bigrams or self.sizes)


@dataclass(frozen=True)
class Answer:
    """What `nnirp predict` says about one model at one batch size.

    `novel` says that the interval's promise does not hold, `novelty` why; `rests_on` names predictor, split, dataset, device,
    runtime, number of training samples and date.
    """

    model: str
    batch: int
    nodes: int
    gflops: float
    weights_mb: float
    estimates: tuple[Estimate, ...]
    novel: bool
    novelty: Novelty
    rests_on: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    operators: tuple[Operator, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain data, the schema of `--json`."""
        return asdict(self)
