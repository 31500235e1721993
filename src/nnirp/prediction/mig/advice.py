"""The adviser's answer about one model on one card, and what it rests on."""

from dataclasses import asdict, dataclass
from typing import Any

from nnirp.features.encoder import EncodedGraph
from nnirp.prediction.analytic import CONTEXT_MB, MARGIN, analytic_memory, precision_of
from nnirp.prediction.answer import Answer
from nnirp.prediction.mig.adviser import Demand, Row, rank
from nnirp.prediction.mig.latency import slice_ms
from nnirp.prediction.mig.table import Gpu, card_of


@dataclass(frozen=True)
class Measured:
    """What a predictor of the card says: MB of memory on it, the share its interval adds on top, milliseconds on the whole card."""

    memory_mb: float
    margin: float
    runtime_ms: float
    predictor: str
    device: str


@dataclass(frozen=True)
class Advice:
    """Ranked profiles of one card for one model at one batch. `best` is None where no profile holds it in time."""

    model: str
    gpu: str
    batch: int
    basis: str
    memory_mb: float
    margin: float
    context_mb: float
    best: str | None
    summary: str
    rows: tuple[Row, ...]

    def as_dict(self) -> dict[str, Any]:
        """The advice as plain data, the schema of `--json`."""
        return asdict(self)


def advise(
    name: str,
    encoded: EncodedGraph,
    gpu: Gpu,
    *,
    max_latency_ms: float | None = None,
    measured: Measured | None = None,
    precision: str | None = None,
    context_mb: float = CONTEXT_MB,
) -> Advice:
    """Rank the profiles of a card for a model.

    Args:
        name: of the model, for the answer.
        encoded: its graph.
        gpu: the card.
        max_latency_ms: of one inference.
        measured: a prediction by a predictor that was trained on this card; without one memory is arithmetic and time a roofline.
        precision: of the arithmetic, see `slice_roofline_ms`.
        context_mb: of a process.
    """
    precision = precision or precision_of(encoded)
    if measured is None:
        memory, margin = analytic_memory(encoded).total, MARGIN
        basis = f"no predictor of {gpu.name} here: memory is arithmetic on the graph (+ {MARGIN:.0%}), latency a {precision} roofline, a lower bound; neither is measured"
    else:
        memory, margin = measured.memory_mb, measured.margin
        basis = f"memory and whole-card latency by {measured.predictor} trained on {measured.device}; slices by its roofline ({precision})"
    demand = Demand(
        memory,
        margin,
        lambda profile: slice_ms(encoded, gpu, profile, measured.runtime_ms if measured else None, precision),
        encoded.batch,
        context_mb,
    )
    return _advice(name, gpu, demand, basis, rank(gpu, demand, max_latency_ms), max_latency_ms)


def advise_memory(gpu: Gpu, memory_mb: float, *, context_mb: float = CONTEXT_MB, margin: float = 0.0) -> Advice:
    """Rank the profiles of a card for a known need of memory, in MB of 2^20 bytes without the context."""
    demand = Demand(memory_mb, margin, None, 1, context_mb)
    basis = f"memory as given (+ {margin:.0%}); without a model no latency"
    return _advice(f"{memory_mb:g} MB", gpu, demand, basis, rank(gpu, demand), None)


def gpu_prediction(answer: Answer, gpu: Gpu) -> Measured | None:
    """What an answer says of this card; None where its predictor learned on another device."""
    basis = answer.rests_on
    estimates = {estimate.target: estimate for estimate in answer.estimates}
    memory, runtime = estimates.get("peak_vram_mb"), estimates.get("runtime_ms")
    if card_of(basis["device"]) != gpu or memory is None or runtime is None:
        return None
    margin = memory.high / memory.value - 1
    return Measured(memory.value, margin, runtime.value, basis["predictor"], basis["device"])


def _advice(
    name: str, gpu: Gpu, demand: Demand, basis: str, rows: tuple[Row, ...], max_latency_ms: float | None
) -> Advice:
    first = rows[0]
    best = first.profile if first.verdict == "fits" else None
    if best:
        summary = f"{best}: {first.instances} instance{'s' if first.instances != 1 else ''} of it on one {gpu.name}"
    elif first.verdict == "too slow":
        summary = f"does not fit: in memory {first.profile} holds it, but at {first.latency_ms:.3g} ms it is the fastest and above {max_latency_ms:g} ms"
    else:
        summary = f"does not fit on {gpu.name}: {first.reason}"
    return Advice(
        name,
        gpu.name,
        demand.batch,
        basis,
        demand.memory_mb,
        demand.margin,
        demand.context_mb,
        best,
        summary,
        rows,
    )
