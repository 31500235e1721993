"""The noise floor: how far two measurements of the same sample, far apart in time, differ."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from nnirp.profiling.calibration import KERNELS
from nnirp.profiling.rounds import each_round, kept_times
from nnirp.profiling.statistics import STATISTICS, quantile, relative_difference, statistic


def pair(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any] | None:
    """Two records of a sample side by side, by the repeats that each keeps; None unless both are measurements."""
    if first["_meta"]["status"] != "ok" or second["_meta"]["status"] != "ok":
        return None
    one, other = first["_meta"], second["_meta"]
    kept = [kept_times(meta) for meta in (one, other)]
    times = {s: tuple(statistic(values, s) for values in kept) for s in STATISTICS}
    ram = [record["Peak RAM (MB)"] for record in (first, second)]
    speeds = [speed(meta) for meta in (one, other)]
    corrected = None
    if all(speeds):
        corrected = {s: relative_difference(a / speeds[0], b / speeds[1]) for s, (a, b) in times.items()}
    return {
        "sample": one["sample"],
        "family": one["family"],
        "started": [one["started"], other["started"]],
        "repeats": [len(values) for values in kept],
        "runtime_ms": {s: list(values) for s, values in times.items()},
        "relative_difference": {s: relative_difference(*values) for s, values in times.items()},
        "drift_corrected_relative_difference": corrected,
        "drift": relative_difference(*speeds) if all(speeds) else None,
        "peak_ram_relative_difference": relative_difference(ram[0]["median"], ram[1]["median"]) if all(ram) else None,
    }


def speed(meta: Mapping[str, Any]) -> float | None:
    """How slow the machine was around the kept rounds: the geometric mean of both calibration kernels, milliseconds.

    The median over the rounds of the mean of before and after; None without calibrations.
    """
    entries = [entry for entry, _ in each_round(meta) if meta.get("kept") == "all" or entry["good"]]
    if "rounds" not in meta:
        entries = [meta.get("calibration", {})]
    held = []
    for entry in entries:
        if found := [entry[moment] for moment in ("before", "after") if entry.get(moment)]:
            held.append(statistics.geometric_mean(c[kernel] for c in found for kernel in KERNELS))
    return statistics.median(held) if held else None


def noise_floor(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Median and 90th percentile of the relative test–retest difference, for each statistic of the runtime.

    `best_statistic` has the smallest median difference, the smaller 90th percentile deciding between equals.
    `drift_corrected` divides by the calibration kernels' time: what it lowers is the machine's drift. `drift` is how far the
    kernels themselves differ between the two measurements.
    """
    if not pairs:
        return {"pairs": 0}
    families = sorted({entry["family"] for entry in pairs})
    by_statistic = _by_statistic(pairs, "relative_difference")
    ram = [p["peak_ram_relative_difference"] for p in pairs if p["peak_ram_relative_difference"] is not None]
    calibrated = [p for p in pairs if p["drift"] is not None]
    return {
        "pairs": len(pairs),
        "best_statistic": min(STATISTICS, key=lambda s: (by_statistic[s]["median"], by_statistic[s]["p90"])),
        "runtime": by_statistic,
        "runtime_by_family": {
            family: _by_statistic([p for p in pairs if p["family"] == family], "relative_difference")
            for family in families
        },
        "runtime_drift_corrected": _by_statistic(calibrated, "drift_corrected_relative_difference")
        if calibrated
        else None,
        "drift": _spread([p["drift"] for p in calibrated]) if calibrated else None,
        "peak_ram": _spread(ram) if ram else None,
    }


def _by_statistic(pairs: Sequence[Mapping[str, Any]], name: str) -> dict[str, dict[str, float | int]]:
    return {s: _spread([p[name][s] for p in pairs]) for s in STATISTICS}


def _spread(values: Sequence[float]) -> dict[str, float | int]:
    return {"count": len(values), "median": statistics.median(values), "p90": quantile(values, 0.9), "max": max(values)}
