"""The row of one run, alone in its CSV file: what was run, how it ended, what it came to, and every repeat of it.

Columns that end in `_ms` are milliseconds, in `_mb` 2²⁰ bytes; `latency_ms` is the statistic of the grid over the repeats of good rounds;
`throughput` is samples a second. The last four columns hold a value a round, separated by `;`: its repeats, the calibrations
before and after it (`matmul/copy`), and the largest share of the cores that others took. So every verdict can be drawn again.
"""

import csv
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nnirp.compilers.configuration import Measurement
from nnirp.compilers.grid import Model
from nnirp.errors import InputError
from nnirp.profiling.calibration import KERNELS, floor_of
from nnirp.profiling.rounds import Floor, calibrations, each_round, good_repeats
from nnirp.profiling.settings import ProfileSettings
from nnirp.profiling.statistics import statistic, summarise

TEXTS = ("device", "compiler", "experiment", "model", "run", "precision", "status", "error", "note")
WHOLE = ("width", "depth", "batch", "size", "threads", "repeats", "kept_repeats", "warm_ups")
FLAGS = ("disturbed", "settled")
NUMBERS = (
    "latency_ms",
    "latency_min_ms",
    "latency_p10_ms",
    "latency_mean_ms",
    "throughput",
    "settling",
    "first_call_ms",
    "convert_ms",
    "compile_ms",
    "difference_from_eager",
    "peak_ram_mb",
    "peak_vram_mb",
    "cpu_percent",
    "gpu_percent",
    "energy_j",
    "seconds",
)
TRAILING = ("started", "fingerprint", "settings", "source")
PER_ROUND = ("rounds_ms", "calibration_before_ms", "calibration_after_ms", "taken")
COLUMNS = (
    *TEXTS[:5],
    "width",
    "depth",
    "batch",
    "size",
    "precision",
    "threads",
    "status",
    "error",
    "note",
    *NUMBERS[:5],
    "repeats",
    "kept_repeats",
    "disturbed",
    "settled",
    "settling",
    "warm_ups",
    *NUMBERS[6:],
    *TRAILING,
    *PER_ROUND,
)
METRICS = {
    "peak_ram_mb": "Peak RAM (MB)",
    "peak_vram_mb": "Peak VRAM (MB)",
    "cpu_percent": "CPU Utilization (%)",
    "gpu_percent": "GPU Utilization (%)",
    "energy_j": "Energy (J)",
}
MEASURED, WRONG = "ok", "wrong"
LEAST_OF_A_QUARTER = 2  # repeats: one alone says nothing about whether a model had settled
Row = dict[str, Any]


def blank(**values: Any) -> Row:
    """A row with these values and None elsewhere."""
    return {**dict.fromkeys(COLUMNS), **values}


def row_of(
    record: Mapping[str, Any], model: Model, compiler: str, device: str, measurement: Measurement, floor: Floor
) -> Row:
    """The row of a profiling record.

    Args:
        record: of the profiler, with rounds.
        model: that was run.
        compiler: its name.
        device: the label.
        measurement: of the grid.
        floor: the machine at its quietest, see `nnirp.profiling.calibration.floor_of`.
    """
    meta = record["_meta"]
    runtime, seconds = meta["runtime"], meta.get("seconds", {})
    row = blank(
        device=device,
        compiler=compiler,
        experiment=model.experiment,
        model=model.name,
        run=meta["sample"],
        width=model.width,
        depth=model.depth,
        batch=meta["batch"],
        size=meta["size"],
        precision=meta["precision"],
        threads=meta["threads"],
        status=meta["status"],
        error=meta["error"],
        note="untuned" if runtime.get("settings", {}).get("tuned") is False else None,
        first_call_ms=meta.get("first_call_ms"),
        convert_ms=runtime.get("convert_ms"),
        compile_ms=runtime.get("compile_ms"),
        difference_from_eager=runtime.get("largest_difference_from_eager"),
        warm_ups=len(meta.get("warm_up_ms", ())) or None,
        seconds=sum(seconds.get(part, 0.0) for part in ("prepare", "visits")) or None,
        started=meta.get("started") or datetime.now(UTC).isoformat(timespec="seconds"),
        fingerprint=(meta.get("fingerprint") or {}).get("digest"),
        settings=json.dumps(runtime["settings"], sort_keys=True) if "settings" in runtime else None,
        **{column: (record.get(metric) or {}).get("mean") for column, metric in METRICS.items()},
    )
    if row["status"] == MEASURED:
        row |= _per_round(meta)
        row = judged(row, measurement, floor)
        difference = row["difference_from_eager"]
        if difference is not None and not difference <= measurement.tolerance:
            row["status"] = WRONG
            row["error"] = f"outputs differ from eager's by {difference:.2g}, more than {measurement.tolerance:g}"
    return row


def judged(row: Row, measurement: Measurement, floor: Floor) -> Row:
    """The row with its statistics over the repeats of rounds that are good by this floor; over all where those are too few."""
    meta = meta_of(row)
    good = [times for times in good_repeats(meta, floor, _thresholds(measurement)) if times]
    disturbed = sum(map(len, good)) < measurement.min_repeats
    kept = [time for times in (repeats_by_round(row) if disturbed else good) for time in times]
    found = summarise(kept)
    settling = None
    if (quarter := len(kept) // 4) >= LEAST_OF_A_QUARTER:
        settling = statistic(kept[:quarter], "median") / statistic(kept[-quarter:], "median") - 1
    latency = statistic(kept, measurement.statistic)
    return row | {
        "latency_ms": latency,
        "latency_min_ms": found["min"],
        "latency_p10_ms": found["p10"],
        "latency_mean_ms": found["mean"],
        "throughput": 1e3 * row["batch"] / latency,
        "repeats": len(meta["times_ms"]),
        "kept_repeats": len(kept),
        "disturbed": disturbed,
        "settling": settling,
        "settled": None if settling is None else abs(settling) <= measurement.settled_within,
    }


def kept_rounds(row: Row, measurement: Measurement, floor: Floor) -> list[list[float]]:
    """The repeats that `judged` keeps, a list a round, milliseconds."""
    good = [times for times in good_repeats(meta_of(row), floor, _thresholds(measurement)) if times]
    return good if sum(map(len, good)) >= measurement.min_repeats else repeats_by_round(row)


def repeats_by_round(row: Row) -> list[list[float]]:
    """Every repeat of a row, a list a round, milliseconds."""
    return [list(map(float, part.split())) for part in (row["rounds_ms"] or "").split(";") if part]


def common_floor(rows: Sequence[Row]) -> Floor:
    """The machine at its quietest over the rows of one device."""
    return floor_of(calibrations([meta_of(row) for row in rows if row["rounds_ms"]]))


def meta_of(row: Row) -> dict[str, Any]:
    """The part of a profiling record that says which repeats were taken in which moment."""
    repeats = repeats_by_round(row)
    empty = [""] * len(repeats)
    columns = [row[name].split(";") if row[name] else empty for name in PER_ROUND[1:]]
    rounds = [
        {
            "count": len(times),
            "before": _calibration(before),
            "after": _calibration(after),
            "taken": {"others": float(taken)} if taken else {},
        }
        for times, before, after, taken in zip(repeats, *columns, strict=True)
    ]
    return {"times_ms": [time for times in repeats for time in times], "rounds": rounds}


def _per_round(meta: Mapping[str, Any]) -> Row:
    rounds, before, after, taken = [], [], [], []
    for entry, times in each_round(meta):
        rounds.append(" ".join(f"{time:.5f}".rstrip("0").rstrip(".") for time in times))
        for texts, moment in ((before, "before"), (after, "after")):
            found = entry.get(moment)
            texts.append("/".join(str(found[kernel]) for kernel in KERNELS) if found else "")
        taken.append(str(max([0.0, *(entry.get("taken") or {}).values()])))
    return dict(zip(PER_ROUND, (";".join(texts) for texts in (rounds, before, after, taken)), strict=True))


def _calibration(text: str) -> dict[str, float] | None:
    return dict(zip(KERNELS, map(float, text.split("/")), strict=True)) if text else None


def _thresholds(measurement: Measurement) -> ProfileSettings:
    return ProfileSettings(drift_threshold=measurement.drift_threshold)


def write_row(row: Row, path: Path) -> None:
    """Write one row beside `path`, flush it to storage and rename it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerow({name: _text(row[name]) for name in COLUMNS})
    draft = path.with_name(path.name + ".draft")
    with draft.open("w", encoding="utf-8") as handle:
        handle.write(text.getvalue())
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(path)


def read_row(path: Path) -> Row:
    """Read the row of one file.

    Raises:
        InputError: it is not one row with these columns, or a value does not fit.
    """
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            rows = list(csv.DictReader(handle))
        if len(rows) != 1 or None in rows[0].values() or not set(COLUMNS) <= set(rows[0]):
            raise ValueError(f"{len(rows)} rows, expected one with the columns {', '.join(COLUMNS[:5])}, …")
        row = {name: _value(name, rows[0][name]) for name in COLUMNS}
        if row["batch"] is None or not row["status"]:
            raise ValueError("no batch or no status")
        if row["status"] == MEASURED and not meta_of(row)["times_ms"]:
            raise ValueError("measured without a repeat")
    except (OSError, ValueError, csv.Error, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is not a row of the compiler benchmark ({' '.join(str(error).split())[:160]}); delete it and sweep again"
        ) from None
    return row


def read_rows(folder: Path) -> list[Row]:
    """Every row under a folder of results, by path.

    Raises:
        InputError: a file is not a row.
    """
    return [read_row(path) for path in row_files(folder)]


def row_files(folder: Path) -> Iterator[Path]:
    """Files of rows under a folder of results."""
    yield from sorted(folder.rglob("*.csv"))


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "" if value is None or value != value else "inf"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(name: str, text: str) -> Any:
    if not text:
        return None
    if name in WHOLE:
        return int(text)
    if name in NUMBERS:
        return float(text)
    return text == "True" if name in FLAGS else text
