"""A profiling campaign as runs: one a family with its samples as rows of a Parquet file, never one run a sample."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nnirp.tracking.record import RunRecord
from nnirp.tracking.run import start_run
from nnirp.tracking.store import Store

ROWS = "rows.parquet"
STATISTICS = ("min", "p10", "median", "mean")
OF_META = (
    "sample",
    "configuration_name",
    "family",
    "sub_family",
    "batch",
    "size",
    "precision",
    "mode",
    "status",
    "error",
)
METRICS = {"peak_ram_mb": "Peak RAM (MB)", "peak_vram_mb": "Peak VRAM (MB)", "energy_j": "Energy (J)"}


def row(record: Mapping[str, Any]) -> dict[str, Any]:
    """One profiling record as a flat row; times in milliseconds, memory in MB, None where nothing was measured."""
    meta, runtime = record["_meta"], record.get("Runtime (ms)") or {}
    moment = meta.get("moment") or {}
    return {
        **{name: meta.get(name) for name in OF_META},
        **{f"runtime_{name}_ms": runtime.get(name) for name in STATISTICS},
        "repeats": runtime.get("count"),
        "rounds": moment.get("rounds"),
        "good_rounds": moment.get("good_rounds"),
        "drift": moment.get("drift"),
        "first_call_ms": meta.get("first_call_ms"),
        "compile_ms": (meta.get("runtime") or {}).get("compile_ms"),
        **{name: (record.get(metric) or {}).get("median") for name, metric in METRICS.items()},
        "started": meta.get("started"),
    }


def record_families(
    folder: Path,
    records: Iterable[Mapping[str, Any]],
    campaign: RunRecord,
    noise: Mapping[str, Any],
    store: Store | None = None,
) -> list[Path]:
    """Write `folder/<family>/run.json` and `rows.parquet` of every family and take each into MLflow as one run.

    Args:
        folder: of the campaign's own run.
        records: of the profiling layer.
        campaign: the run they belong to; its tags and parameters are theirs.
        noise: see `nnirp.profiling.noise.noise_floor`.
        store: see `nnirp.tracking.run.start_run`.

    Returns:
        The folders written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    families: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        families[str(record["_meta"].get("family"))].append(row(record))
    written = []
    for family, rows in sorted(families.items()):
        place = folder / family
        place.mkdir(parents=True, exist_ok=True)
        tags = {**campaign.tags, "family": family, "campaign": campaign.id}
        with start_run(
            "profile", f"{campaign.name}: {family}", place, parameters=campaign.parameters, tags=tags, store=store
        ) as run:
            run.record.parent = campaign.id
            parquet.write_table(pa.Table.from_pylist(sorted(rows, key=lambda r: str(r["sample"]))), place / ROWS)
            run.artifact(ROWS)
            run.metrics({f"status/{name}": count for name, count in Counter(r["status"] for r in rows).items()})
            run.metrics({"samples": len(rows)})
            for name, spread in noise.get("runtime_by_family", {}).get(family, {}).items():
                run.metrics({f"retest_{part}/{name}": spread[part] for part in ("median", "p90")})
        written.append(place)
    return written
