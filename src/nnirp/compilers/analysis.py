"""From rows to metrics with intervals, rankings and their reversals; what cannot be known is undefined with a reason, never zero."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nnirp.compilers import metrics
from nnirp.compilers.bootstrap import interval, replicates
from nnirp.compilers.configuration import BASELINE, Measurement
from nnirp.compilers.rows import MEASURED, Row, common_floor, judged, kept_rounds
from nnirp.errors import InputError
from nnirp.profiling.statistics import statistic as of_repeats

METRICS = ("throughput", "rtr", "ase", "speed_up", "rse", "friction", "mitigation")
GROUP = ("device", "compiler", "experiment", "model", "width", "depth")
ONE_LATENCY = "fewer than three repeats: no interval"


@dataclass(frozen=True)
class Value:
    """A figure with the replicates of its bootstrap, or why it is undefined."""

    value: float = math.nan
    replicates: np.ndarray | None = None
    reason: str = ""

    @property
    def defined(self) -> bool:
        """Whether there is a figure."""
        return not self.reason

    def bounds(self) -> tuple[float, float]:
        """The 95 % interval; NaN where there is none."""
        found = interval(self.replicates) if self.replicates is not None else None
        return found or (math.nan, math.nan)


@dataclass(frozen=True)
class Analysis:
    """Everything the rows say.

    Attributes:
        runs: the rows without their raw repeats, judged by the floor of their device.
        metrics: a line a run: the metrics of `METRICS`, each with `_low`, `_high` and `_reason`.
        areas: a line a model and compiler: the area under ASE.
        best: a line a model and batch: the fastest compiler, its speed-up, and whether its interval is clear of the next one's.
        reversals: a line a pair of models whose order a compiler turns.
        pairs: a line an experiment, compiler and batch: pairs compared and pairs turned.
        depth: a line a stack of blocks, batch and compiler: the speed-up, and its slope over log2 of the depth.
        statistic: of the repeats, that latencies are.
    """

    runs: pd.DataFrame
    metrics: pd.DataFrame
    areas: pd.DataFrame
    best: pd.DataFrame
    reversals: pd.DataFrame
    pairs: pd.DataFrame
    depth: pd.DataFrame
    statistic: str

    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table by its name."""
        names = ("runs", "metrics", "areas", "best", "reversals", "pairs", "depth")
        return {name: getattr(self, name) for name in names}


def analyse(rows: Sequence[Row], measurement: Measurement, statistic: str | None = None) -> Analysis:
    """Metrics, areas, rankings and reversals of every device among the rows.

    Args:
        rows: of any devices and compilers.
        measurement: of the grid: thresholds of a disturbed round, and the statistic that is the latency.
        statistic: mean, median, p10 or min instead.

    Raises:
        InputError: there is no row.
    """
    if not rows:
        raise InputError("no run to analyse; `nnirp compilers run architectures identity --quick` measures some")
    measurement = measurement.model_copy(update={"statistic": statistic}) if statistic else measurement
    runs: list[Row] = []
    throughputs: dict[tuple, Value] = {}
    for device in sorted({row["device"] for row in rows}):
        own = [row for row in rows if row["device"] == device]
        floor = common_floor(own)
        for row in own:
            if row["status"] == MEASURED:
                row = judged(row, measurement, floor)
            runs.append(row)
            throughputs[_key(row)] = _throughput(row, measurement, floor)
    lines = [_metrics_of(key, throughputs) for key in sorted(throughputs, key=_order)]
    table = pd.DataFrame([_line(key, found) for key, found in lines])
    found = dict(lines)
    return Analysis(
        runs=pd.DataFrame(runs).drop(columns=["rounds_ms", "calibration_before_ms", "calibration_after_ms", "taken"]),
        metrics=table,
        areas=pd.DataFrame(_areas(found), columns=[*GROUP, "area", "area_low", "area_high", "largest_batch", "reason"]),
        best=pd.DataFrame(_best(found), columns=[*GROUP[:1], *GROUP[2:], "batch", "best", "speed_up", "next", "clear"]),
        **_rankings(found),
        depth=pd.DataFrame(
            _depth(found),
            columns=[
                "device",
                "experiment",
                "compiler",
                "width",
                "batch",
                "depths",
                "speed_ups",
                "slope",
                "slope_low",
                "slope_high",
            ],
        ),
        statistic=measurement.statistic,
    )


def _key(row: Row) -> tuple:
    return (*(row[name] for name in GROUP), row["batch"])


def _order(key: tuple) -> tuple:
    return tuple((value is not None, value if value is not None else 0) for value in key)


def _throughput(row: Row, measurement: Measurement, floor: Any) -> Value:
    if row["status"] != MEASURED:
        return Value(
            reason=f"{row['compiler']} at batch {row['batch']}: {row['status']}: {row['error'] or 'no measurement'}"
        )
    rounds = kept_rounds(row, measurement, floor)
    latency = of_repeats([time for times in rounds for time in times], measurement.statistic)
    drawn = replicates(rounds, measurement.statistic, f"{row['device']}/{row['compiler']}/{row['run']}")
    return Value(metrics.throughput(row["batch"], latency), metrics.throughput(row["batch"], drawn))


def _metrics_of(key: tuple, known: dict[tuple, Value]) -> tuple[tuple, dict[str, Value]]:
    """All metrics of one run, from the throughputs of all."""
    batch, compiler = key[-1], key[1]

    def at(name: str, size: int) -> Value:
        absent = Value(reason=f"{name} was not run at batch {size}")
        return known.get((key[0], name, *key[2:-1], size), absent)

    here, one = known[key], at(compiler, 1)
    base, base_one = at(BASELINE, batch), at(BASELINE, 1)
    ase = _derive(lambda t, t1: metrics.absolute_scaling_efficiency(batch, t, t1), here, one)
    base_ase = _derive(lambda t, t1: metrics.absolute_scaling_efficiency(batch, t, t1), base, base_one)
    lost, base_lost = _derive(metrics.friction, ase), _derive(metrics.friction, base_ase)
    if compiler == BASELINE:
        base_ase, base_lost = ase, lost
    return key, {
        "throughput": here,
        "rtr": _derive(metrics.relative_throughput_rate, here, one),
        "ase": ase,
        "speed_up": _derive(metrics.speed_up, here, base),
        "rse": _derive(metrics.relative_scaling_efficiency, ase, base_ase),
        "friction": lost,
        "mitigation": _mitigation(lost, base_lost),
    }


def _derive(formula: Callable[..., Any], *parts: Value) -> Value:
    """A metric of other figures; undefined where one of them is, for the same reason."""
    if reason := next((part.reason for part in parts if not part.defined), ""):
        return Value(reason=reason)
    return Value(float(formula(*(part.value for part in parts))), formula(*(part.replicates for part in parts)))


def _mitigation(compiled: Value, baseline: Value) -> Value:
    if baseline.defined and baseline.value <= 0:
        return Value(reason=f"{BASELINE} has no friction here")
    return _derive(metrics.mitigation, compiled, baseline)


def _line(key: tuple, found: dict[str, Value]) -> dict[str, Any]:
    line = dict(zip((*GROUP, "batch"), key, strict=True))
    for name in METRICS:
        value = found[name]
        low, high = value.bounds()
        reason = value.reason or ("" if low == low else ONE_LATENCY)
        line |= {name: value.value, f"{name}_low": low, f"{name}_high": high, f"{name}_reason": reason}
    return line


def _areas(found: dict[tuple, dict[str, Value]]) -> Iterable[list[Any]]:
    models: dict[tuple, dict[int, Value]] = defaultdict(dict)
    for key, values in found.items():
        models[key[:-1]][key[-1]] = values["ase"]
    for key, by_batch in models.items():
        undefined = next((value.reason for value in by_batch.values() if not value.defined), "")
        if not undefined and len(by_batch) < 2:
            undefined = "only batch 1 was run"
        if undefined:
            yield [*key, math.nan, math.nan, math.nan, max(by_batch), undefined]
            continue
        batches = sorted(by_batch)
        value = _derive(
            lambda *ases, b=batches: metrics.area(dict(zip(b, ases, strict=True))), *map(by_batch.get, batches)
        )
        yield [*key, value.value, *value.bounds(), max(by_batch), ""]


def _best(found: dict[tuple, dict[str, Value]]) -> Iterable[list[Any]]:
    cells: dict[tuple, dict[str, dict[str, Value]]] = defaultdict(dict)
    for key, values in found.items():
        if values["throughput"].defined:
            cells[(key[0], *key[2:])][key[1]] = values
    for key, by_compiler in cells.items():
        ranked = sorted(by_compiler, key=lambda name: by_compiler[name]["throughput"].value, reverse=True)
        second = ranked[1] if len(ranked) > 1 else None
        clear = None
        if second:
            low = by_compiler[ranked[0]]["throughput"].bounds()[0]
            clear = low > by_compiler[second]["throughput"].bounds()[1]
        yield [*key, ranked[0], by_compiler[ranked[0]]["speed_up"].value, second, clear]


def _rankings(found: dict[tuple, dict[str, Value]]) -> dict[str, pd.DataFrame]:
    """Reversals, and how many pairs there were to turn; inside one experiment, at one batch, against the baseline."""
    at: dict[tuple, dict[str, Value]] = defaultdict(dict)
    for key, values in found.items():
        device, compiler, experiment, model, _, _, batch = key
        if values["throughput"].defined:
            at[device, experiment, batch, compiler][model] = values["throughput"]
    turned, counts = [], []
    for (device, experiment, batch, compiler), compiled in at.items():
        baseline = at.get((device, experiment, batch, BASELINE), {})
        models = sorted(set(baseline) & set(compiled))
        if compiler == BASELINE or len(models) < 2:
            continue
        flips = metrics.reversals({m: baseline[m].value for m in models}, {m: compiled[m].value for m in models})
        sure = 0
        for one, other in flips:
            certain = _surely(baseline[one], baseline[other]) and _surely(compiled[other], compiled[one])
            sure += certain
            figures = (baseline[one], baseline[other], compiled[one], compiled[other])
            turned.append([device, experiment, compiler, batch, one, other, *(f.value for f in figures), certain])
        counts.append([device, experiment, compiler, batch, len(models) * (len(models) - 1) // 2, len(flips), sure])
    names = ["device", "experiment", "compiler", "batch"]
    throughputs = [f"{model}_{by}" for by in (BASELINE, "compiled") for model in ("first", "second")]
    order = ["device", "experiment", "compiler", "batch"]
    return {
        "reversals": pd.DataFrame(turned, columns=[*names, "first", "second", *throughputs, "certain"]).sort_values(
            [*order, "first", "second"], ignore_index=True
        ),
        "pairs": pd.DataFrame(counts, columns=[*names, "pairs", "reversed", "certainly"]).sort_values(
            order, ignore_index=True
        ),
    }


def _surely(faster: Value, slower: Value) -> bool:
    """Whether the 95 % interval of the ratio of two throughputs lies above 1."""
    bounds = interval(faster.replicates / slower.replicates)
    return bounds is not None and bounds[0] > 1


def _depth(found: dict[tuple, dict[str, Value]]) -> Iterable[list[Any]]:
    """How the speed-up grows with the number of blocks: the least-squares slope of log2 S over log2 depth."""
    stacks: dict[tuple, dict[int, Value]] = defaultdict(dict)
    for key, values in found.items():
        device, compiler, experiment, _, width, depth, batch = key
        if depth is not None and compiler != BASELINE and values["speed_up"].defined:
            stacks[device, experiment, compiler, width, batch][depth] = values["speed_up"]
    for key, by_depth in sorted(stacks.items()):
        depths = sorted(by_depth)
        if len(depths) < 2:
            continue
        x = np.log2(depths)
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        slope = float(weights @ np.log2([by_depth[d].value for d in depths]))
        drawn = weights @ np.log2(np.stack([by_depth[d].replicates for d in depths]))
        low, high = interval(drawn) or (math.nan, math.nan)
        ups = " ".join(f"{by_depth[d].value:.3g}" for d in depths)
        yield [*key, " ".join(map(str, depths)), ups, slope, low, high]
