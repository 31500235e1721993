"""The runs of one compiler on one device as a dataset root: graphs, records, features and splits, to train a predictor of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nnirp.compilers.configuration import Grid
from nnirp.compilers.grid import Model, models_of
from nnirp.compilers.models import build
from nnirp.compilers.places import MACHINE
from nnirp.compilers.rows import MEASURED, Row, common_floor, kept_rounds, read_rows
from nnirp.errors import InputError, NnirpError

NAME = "compilers"


def import_runs(
    source: Path,
    output: Path,
    grid: Grid,
    *,
    statistic: str = "median",
    jobs: int = 1,
    on_progress: Callable[..., None] = lambda *_: None,
) -> dict[str, Any]:
    """Export the graph of every measured run and label it with the run's repeats; a kill loses one graph.

    Args:
        source: `data/benchmarks/<device>/<compiler>`.
        output: the dataset root to write.
        grid: that the runs are of.
        statistic: which statistic of the repeats is the label: mean, median or min.
        jobs: processes of the encoder.
        on_progress: called with what is done, how much there is, and a note.

    Returns:
        The content of `manifests/import.json`.

    Raises:
        InputError: the folder holds no run of this grid that was measured, or the output is something else.
    """
    from nnirp.importers.assembling import Measured, assemble, claim

    if statistic not in ("mean", "median", "min"):
        raise InputError(f"--statistic {statistic}: expected mean, median or min")
    rows = read_rows(source)
    known = {sample.name: (model, sample) for model in models_of(grid) for sample in model.samples}
    left_out = {row["run"]: f"{row['status']}: {row['error']}" for row in rows if row["status"] != MEASURED}
    left_out |= {row["run"]: "not of this grid" for row in rows if row["run"] not in known}
    usable = [row for row in rows if row["run"] not in left_out]
    if not usable:
        raise InputError(f"{source} holds no measured run of this grid; `nnirp compilers list` shows what there is")
    claim(output, NAME)
    floor = common_floor(rows)
    fingerprint = _fingerprint(source)
    samples = []
    for done, row in enumerate(usable, start=1):
        model, sample = known[row["run"]]
        graph = output / ".work" / "graphs" / f"{sample.name}.onnx"
        try:
            _export(model, sample, graph)
        except NnirpError as error:
            left_out[row["run"]] = f"export: {error}"
            continue
        samples.append(Measured(sample.name, model.number, graph, _values(row, grid, floor), _meta(row, fingerprint)))
        on_progress(done, len(usable), sample.name)
    if not samples:
        raise InputError(f"{source}: no graph could be exported; {next(iter(left_out.items()))}")
    report = {
        "importer": NAME,
        "source": {"name": f"{source.parent.name}/{source.name}"},
        "fingerprint": fingerprint,
        "rows": len(rows),
        "samples": len(samples),
        "left_out": dict(sorted(left_out.items())),
    }
    taxonomy = {model.number: _taxonomy(model) for model, _ in known.values()}
    return assemble(
        output,
        samples,
        {sample.configuration: taxonomy[sample.configuration] for sample in samples},
        targets=["runtime_ms", *(["peak_ram_mb"] if any(row["peak_ram_mb"] for row in usable) else [])],
        statistic=statistic,
        report=report,
        jobs=jobs,
        on_progress=on_progress,
    )


def _export(model: Model, sample: Any, path: Path) -> None:
    if path.is_file():
        return
    from nnirp.graphs.export import export_graph

    built = build(model.configuration, sample, "meta")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_bytes(export_graph(built.module, built.inputs).SerializeToString(deterministic=True))
    draft.replace(path)


def _values(row: Row, grid: Grid, floor: Any) -> dict[str, list[float]]:
    repeats = [time for times in kept_rounds(row, grid.measurement, floor) for time in times]
    return {"runtime_ms": repeats, "peak_ram_mb": [row["peak_ram_mb"]] if row["peak_ram_mb"] else []}


def _meta(row: Row, fingerprint: dict[str, Any]) -> dict[str, Any]:
    return {
        "fingerprint": fingerprint,
        "runtime": {"name": row["compiler"], "settings": json.loads(row["settings"] or "{}")},
        "batch": row["batch"],
        "precision": row["precision"],
        "threads": row["threads"],
        "first_call_ms": row["first_call_ms"],
        "compile_ms": row["compile_ms"],
        "started": row["started"],
    }


def _fingerprint(source: Path) -> dict[str, Any]:
    """The fingerprint that the compiler's folder was measured with."""
    path = source / "compiler.json"
    if path.is_file():
        return json.loads(path.read_text(encoding="utf-8"))["fingerprint"]
    return {**dict.fromkeys(MACHINE), "device": source.parent.name}


def _taxonomy(model: Model) -> tuple[str, str]:
    """Family and sub-family: those of timm's module for an architecture, the experiment for blocks and layers."""
    if "architecture" not in model.configuration.arguments:
        return model.experiment, model.experiment
    from nnirp.importers.timm_models import find

    found = find(model.name)
    return found.family, found.module
