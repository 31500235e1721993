"""Profiling records: the JSON of one measured sample, with the card's metric names."""

import json
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from nnirp.errors import InputError
from nnirp.parameters import describe

SCHEMA = 1
MAX_RECORD_BYTES = 16 << 20
CARD_METRICS = (
    "Runtime (ms)",
    "Peak VRAM (MB)",
    "Peak RAM (MB)",
    "Peak Disk Usage (MB)",
    "Disk Read (MB)",
    "Disk Write (MB)",
)
# target of the features layer: metric of the record
TARGET_METRICS = {
    "runtime_ms": "Runtime (ms)",
    "peak_ram_mb": "Peak RAM (MB)",
    "peak_vram_mb": "Peak VRAM (MB)",
    "energy_j": "Energy (J)",
}
Finite = Annotated[float, Field(allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Status = Literal["ok", "skipped", "error", "timeout", "memory", "crash"]


class Statistics(BaseModel):
    """One metric over its repetitions, in the unit of its name; `variance` in that unit squared."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    count: Annotated[int, Field(ge=1)]
    mean: Finite
    median: Finite
    variance: NonNegative
    min: Finite
    max: Finite
    p10: Finite | None = None

    @model_validator(mode="after")
    def _ordered(self) -> "Statistics":
        slack = 1e-6 * max(abs(self.min), abs(self.max), 1e-9)
        for name in ("mean", "median"):
            if not self.min - slack <= getattr(self, name) <= self.max + slack:
                raise ValueError(f"{name} lies outside min..max")
        return self


class Meta(BaseModel):
    """`_meta` of a record: what was run, on what, how it ended. Times in milliseconds; unknown keys are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, populate_by_name=True)

    schema_version: Literal[1] = Field(SCHEMA, alias="schema")
    status: Status = "ok"
    error: str | None = None
    fingerprint: dict[str, Any] | None = None
    runtime: str | dict[str, Any] | None = None
    batch: Annotated[int, Field(ge=1)] | None = None
    input_shapes: dict[str, Any] = {}
    precision: str | None = None
    threads: Annotated[int, Field(ge=1)] | None = None
    warm_up_ms: list[NonNegative] = []
    times_ms: list[NonNegative] = []
    first_call_ms: NonNegative | None = None
    compile_ms: NonNegative | None = None
    calibration: dict[str, Any] = {}
    started: str | float | None = None
    reasons: dict[str, str] = {}


class ProfileRecord(BaseModel):
    """One measured sample: metrics by the name the card gives them (None = not measurable), and `_meta`."""

    model_config = ConfigDict(frozen=True)

    metrics: dict[str, Statistics | None]
    meta: Meta = Meta()

    @property
    def ok(self) -> bool:
        return self.meta.status == "ok"

    def target(self, name: str, statistic: str = "median") -> float:
        """A target of the features layer as log2, NaN where the metric is missing, null or not positive.

        Raises:
            InputError: no such target, or the metric was measured and has no such statistic.
        """
        stats = self.metrics.get(target_metric(name))
        value = getattr(stats, statistic) if stats is not None else 0.0
        if value is None:
            raise InputError(
                f"{target_metric(name)} has no {statistic}, only mean, median, min and max; set `encode.statistic` to one of these"
            )
        return math.log2(value) if value > 0 else math.nan


def target_metric(name: str) -> str:
    """The metric of a target.

    Raises:
        InputError: no such target.
    """
    if name not in TARGET_METRICS:
        raise InputError(f"no target {name!r}; set `encode.targets` to some of: {', '.join(TARGET_METRICS)}")
    return TARGET_METRICS[name]


def statistics(values: Sequence[float]) -> Statistics:
    """Statistics of at least one finite value; the variance is that of the values (divided by their number)."""
    ordered = sorted(float(v) for v in values)
    count, mean = len(ordered), math.fsum(ordered) / len(ordered)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    return Statistics(
        count=count,
        mean=min(max(mean, ordered[0]), ordered[-1]),
        median=middle,
        variance=math.fsum((v - mean) ** 2 for v in ordered) / count,
        min=ordered[0],
        max=ordered[-1],
    )


def read_record(data: bytes, where: str = "the record") -> ProfileRecord:
    """Read one record; metrics and `_meta` keys it does not know are kept, a missing `_meta` is the card's own form.

    Raises:
        InputError: it is not a JSON object, or a value does not fit; the message names the key.
    """
    if len(data) > MAX_RECORD_BYTES:
        raise InputError(
            f"{where} has {len(data)} bytes, at most {MAX_RECORD_BYTES} are accepted; get it again with `dvc pull`"
        )
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON ({_line(error)}); get it again with `dvc pull`") from None
    if not isinstance(content, dict):
        raise InputError(
            f"{where} is a {type(content).__name__}, expected an object of metrics; get it again with `dvc pull`"
        )
    meta = content.pop("_meta", None)
    try:
        record = ProfileRecord(metrics=content, meta=Meta() if meta is None else meta)
    except ValidationError as error:
        raise InputError(
            f"{where}: {describe(error)[:400]}; measure the sample again or get the record with `dvc pull`"
        ) from None
    if record.ok and not any(record.metrics.values()):
        raise InputError(f"{where} has the status ok but no metric; measure the sample again")
    return record


def write_record(record: ProfileRecord) -> bytes:
    """The bytes of a record: the card's metrics first, then the others by name, then `_meta`."""
    names = sorted(record.metrics, key=lambda n: (CARD_METRICS.index(n) if n in CARD_METRICS else len(CARD_METRICS), n))
    content: dict[str, Any] = {
        name: None if (stats := record.metrics[name]) is None else stats.model_dump(mode="json", exclude_unset=True)
        for name in names
    }
    content["_meta"] = record.meta.model_dump(mode="json", by_alias=True, exclude_unset=False)
    return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "strict")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
