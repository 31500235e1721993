"""Which instance of a split GPU a model fits in, ranked, each with its reason."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from nnirp.errors import InputError
from nnirp.prediction.analytic import CONTEXT_MB
from nnirp.prediction.mig.table import Gpu, Profile, profiles_of

Verdict = Literal["fits", "too slow", "does not fit"]
_ORDER = {"fits": 0, "too slow": 1, "does not fit": 2}


@dataclass(frozen=True)
class Demand:
    """What a model asks of a card.

    `memory_mb` MB of 2^20 bytes without the context; `margin` is the share that may come on top of it; `latency_ms` is the time of
    one inference on a profile, None where nothing is known of it; `batch` inputs are served by one inference.
    """

    memory_mb: float
    margin: float = 0.0
    latency_ms: Callable[[Profile], float] | None = None
    batch: int = 1
    context_mb: float = CONTEXT_MB

    @property
    def needed_mb(self) -> float:
        return self.memory_mb * (1 + self.margin) + self.context_mb


@dataclass(frozen=True)
class Row:
    """One profile's place in the ranking. `instances` of it work side by side on one card, `per_second` inputs is what all serve together."""

    profile: str
    verdict: Verdict
    reason: str
    needed_mb: float
    usable_mb: float
    latency_ms: float | None
    instances: int
    per_second: float | None
    inferred: tuple[str, ...]


def rank(gpu: Gpu, demand: Demand, max_latency_ms: float | None = None) -> tuple[Row, ...]:
    """Every profile of a card, best first.

    First come profiles that hold the model and meet the latency, then those that are too slow, last those that are too small.
    Among equals the one that takes the least memory of the card is best; profiles of the same memory (3g and 4g) differ in
    latency, and the one whose instances together serve most inferences a second is best.

    Raises:
        InputError: a demand or a target that is no positive number, or a target where no latency is known.
    """
    if not 0 < demand.memory_mb < float("inf") or demand.margin < 0 or demand.context_mb < 0:
        raise InputError(f"memory of {demand.memory_mb} MB (margin {demand.margin}): expected a positive number")
    if max_latency_ms is not None and not max_latency_ms > 0:
        raise InputError(f"--max-latency-ms {max_latency_ms}: expected a positive number")
    if max_latency_ms is not None and demand.latency_ms is None:
        raise InputError("--max-latency-ms needs a model: from its memory alone no latency follows")
    rows = [(profile, _row(gpu, profile, demand, max_latency_ms)) for profile in profiles_of(gpu)]
    rows.sort(key=lambda pair: (_ORDER[pair[1].verdict], *_preference(*pair)))
    return tuple(row for _, row in rows)


def _preference(profile: Profile, row: Row) -> tuple[float, ...]:
    if row.verdict == "too slow":  # the least slow first
        return (row.latency_ms or 0.0, profile.memory_eighths)
    if row.verdict == "does not fit":
        return (-profile.usable_gib, -profile.multiprocessors)
    served = row.per_second or float(profile.max_instances * profile.multiprocessors)
    return (profile.usable_gib, -served, -profile.max_instances)


def _row(gpu: Gpu, profile: Profile, demand: Demand, limit: float | None) -> Row:
    latency = demand.latency_ms(profile) if demand.latency_ms else None
    per_second = 1e3 * demand.batch * profile.max_instances / latency if latency else None
    verdict: Verdict = "fits"
    if demand.needed_mb > profile.usable_mb:
        verdict = "does not fit"
    elif limit is not None and latency > limit:
        verdict = "too slow"
    return Row(
        profile.name,
        verdict,
        _reason(gpu, profile, demand, verdict, latency, limit),
        demand.needed_mb,
        profile.usable_mb,
        latency,
        profile.max_instances if verdict != "does not fit" else 0,
        per_second if verdict != "does not fit" else None,
        profile.inferred,
    )


def _reason(
    gpu: Gpu, profile: Profile, demand: Demand, verdict: Verdict, latency: float | None, limit: float | None
) -> str:
    """What decided, with the numbers it was decided by."""
    need, have = demand.needed_mb, profile.usable_mb
    if verdict == "does not fit":
        return f"{need:,.0f} MB needed, {have:,.0f} usable: {need - have:,.1f} MB too much"
    memory = f"{need:,.0f} of {have:,.0f} MB ({100 * need / have:.0f} %)"
    if verdict == "too slow":
        return f"{memory}, but {latency:.3g} ms is above {limit:g} ms"
    share = f"{profile.max_instances} × {profile.multiprocessors} of {gpu.multiprocessors} SMs"
    same = [p.name for p in profiles_of(gpu) if p.usable_gib == profile.usable_gib and p.name != profile.name]
    beside = f"; the same memory as {', '.join(same)}, told apart by latency" if same else ""
    speed = f", {latency:.3g} ms" if latency else ""
    return f"{memory}{speed}, {share}{beside}"
