"""The noise floor: how far two measurements of the same sample, far apart in time, differ."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from nnirp.profiling.statistics import STATISTICS, quantile, relative_difference, statistic


def pair(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any] | None:
    """Two records of a sample side by side; None unless both are measurements."""
    if first["_meta"]["status"] != "ok" or second["_meta"]["status"] != "ok":
        return None
    one, other = first["_meta"], second["_meta"]
    times = {s: (statistic(one["times_ms"], s), statistic(other["times_ms"], s)) for s in STATISTICS}
    ram = [record["Peak RAM (MB)"] for record in (first, second)]
    speeds = [_speed(meta["calibration"]) for meta in (one, other)]
    found = {
        "sample": one["sample"],
        "family": one["family"],
        "started": [one["started"], other["started"]],
        "runtime_ms": {s: list(values) for s, values in times.items()},
        "relative_difference": {s: relative_difference(*values) for s, values in times.items()},
        "peak_ram_relative_difference": relative_difference(ram[0]["median"], ram[1]["median"]) if all(ram) else None,
        "drift_corrected_relative_difference": None,
    }
    if all(speeds):
        found["drift_corrected_relative_difference"] = relative_difference(
            times["median"][0] / speeds[0], times["median"][1] / speeds[1]
        )
    return found


def _speed(calibration: Mapping[str, Any]) -> float | None:
    """Mean milliseconds of the arithmetic kernel around a sample."""
    held = [calibration[moment]["matmul_ms"] for moment in ("before", "after") if calibration.get(moment)]
    return statistics.fmean(held) if held else None


def noise_floor(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Median and 90th percentile of the relative test–retest difference, for each statistic of the runtime.

    `best_statistic` has the smallest median difference, the smaller 90th percentile deciding between equals.
    `drift_corrected` divides the medians by the calibration kernel's time: what it lowers is the machine's drift.
    """
    if not pairs:
        return {"pairs": 0}
    families = sorted({entry["family"] for entry in pairs})
    by_statistic = {s: _spread([p["relative_difference"][s] for p in pairs]) for s in STATISTICS}
    ram = [p["peak_ram_relative_difference"] for p in pairs if p["peak_ram_relative_difference"] is not None]
    corrected = [v for p in pairs if (v := p["drift_corrected_relative_difference"]) is not None]
    return {
        "pairs": len(pairs),
        "best_statistic": min(STATISTICS, key=lambda s: (by_statistic[s]["median"], by_statistic[s]["p90"])),
        "runtime": by_statistic,
        "runtime_by_family": {
            family: {
                s: _spread([p["relative_difference"][s] for p in pairs if p["family"] == family]) for s in STATISTICS
            }
            for family in families
        },
        "runtime_median_drift_corrected": _spread(corrected) if corrected else None,
        "peak_ram": _spread(ram) if ram else None,
    }


def _spread(values: Sequence[float]) -> dict[str, float | int]:
    return {"count": len(values), "median": statistics.median(values), "p90": quantile(values, 0.9), "max": max(values)}
