"""What a sweep would do, in which order, and about how long it takes."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from nnirp.catalog import Sample
from nnirp.compilers.configuration import Compiler, Measurement
from nnirp.compilers.grid import Model
from nnirp.compilers.models import build
from nnirp.compilers.places import Place
from nnirp.compilers.rows import MEASURED, Row, read_rows

SKIPPED = "skipped"
UNTIMED_CALLS = 4  # first call, two for memory, one warm-up
SERVER_S = 10.0  # until a compiler's fork server has imported what it needs


@dataclass(frozen=True)
class Step:
    """The runs of one model with one compiler that are still to be measured, which take turns.

    Attributes:
        compiler: its settings.
        model: of the runs.
        samples: to be measured.
        present: number of runs that have a row already.
        left_out: run → why it is not measured.
        seconds: estimate.
    """

    compiler: Compiler
    model: Model
    samples: tuple[Sample, ...]
    present: int
    left_out: dict[str, str]
    seconds: float


def plan(
    models: Sequence[Model],
    compilers: Sequence[Compiler],
    place: Place,
    measurement: Measurement,
    *,
    retry_failed: bool = False,
    gflops: Callable[[Model], float] | None = None,
) -> list[Step]:
    """The steps of a sweep in order: model after model, and for each the compilers one after the other.

    Args:
        models: in order.
        compilers: in order.
        place: of the results; a run that has a row there is not measured again.
        measurement: of the grid.
        retry_failed: measure again what has a row that says it failed.
        gflops: GFLOPs of one sample (batch 1) of a model; counted by default.
    """
    gflops = gflops or gflops_of
    rows = {(row["compiler"], row["run"]): row for row in read_rows(place.folder)}
    steps = []
    for model in models:
        for compiler in compilers:
            work = gflops(model)
            samples, left_out, present, seconds = [], {}, 0, 0.0
            for sample in model.samples:
                row = rows.get((compiler.name, sample.name))
                if row and not (retry_failed and failed(row)):
                    present += 1
                elif compiler.max_gflops and work * sample.batch > compiler.max_gflops:
                    left_out[sample.name] = (
                        f"{work * sample.batch:.2g} GFLOPs, more than the {compiler.max_gflops:g} of {compiler.name}.yaml"
                    )
                else:
                    samples.append(sample)
                    seconds += _seconds(compiler, model, sample, work, measurement, list(rows.values()))
            steps.append(Step(compiler, model, tuple(samples), present, left_out, seconds))
    return steps


def failed(row: Row) -> bool:
    """Whether a run was tried and gave no measurement."""
    return row["status"] not in (MEASURED, SKIPPED)


def sweep_seconds(steps: Sequence[Step]) -> float:
    """Estimate of a whole sweep, the starts of the compilers' processes included."""
    active = [step for step in steps if step.samples]
    return sum(step.seconds for step in active) + SERVER_S * len({step.compiler.name for step in active})


@cache
def gflops_of(model: Model) -> float:
    """10⁹ floating-point operations of one sample: convolutions and matrix products, a multiply-accumulate is two."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    sample = model.samples[0]
    built = build(model.configuration, sample, "meta")
    with FlopCounterMode(display=False) as counter, torch.device("meta"), torch.no_grad():
        built.module(**built.inputs)
    return counter.get_total_flops() / sample.batch / 1e9


def _seconds(
    compiler: Compiler, model: Model, sample: Sample, gflops: float, measurement: Measurement, rows: Sequence[Row]
) -> float:
    """Seconds of one run: what comes before the first timed call, and the timed calls.

    From rows of this compiler and experiment where there are some, from the settings file's guesses elsewhere.
    """
    alike = [
        r for r in rows if r["compiler"] == compiler.name and r["experiment"] == model.experiment and r["rounds_ms"]
    ]
    guess = compiler.planning
    prepare_s = guess.prepare_s if model.configuration.parametric else guess.network_s
    per_sample_s = gflops / guess.gflops
    if alike:
        prepare_s = statistics.median(max(0.0, r["seconds"] - r["repeats"] * r["latency_ms"] / 1e3) for r in alike)
    if of_model := [r for r in alike if r["model"] == model.name]:
        per_sample_s = statistics.median(r["latency_ms"] / 1e3 / r["batch"] for r in of_model)
    latency_s = max(per_sample_s * sample.batch, 1e-5)
    repeats_s = min(measurement.repeats * latency_s, measurement.time_budget_s)
    timed_s = max(repeats_s, measurement.min_repeats * latency_s)
    warm_s = min(measurement.warm_ups * latency_s, max(measurement.time_budget_s / 2, latency_s))
    return prepare_s + UNTIMED_CALLS * latency_s + warm_s + timed_s
