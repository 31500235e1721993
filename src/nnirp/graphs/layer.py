"""The onnx-graphs layer: every sample of a catalog exported, a configuration an archive, a failure a row."""

import hashlib
import itertools
import json
import logging
import multiprocessing
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nnirp.graphs.configuration import PROGRESS, ConfigurationExport, ExportRow, read_progress
from nnirp.layers.archives import write_archive

log = logging.getLogger(__name__)
VERSION = 6
"""Raised when an exported graph changes its meaning, so that kept work is not taken for new."""
TIMEOUT_S = 1800.0
"""For one group of samples; a group that takes longer is a failure."""
BF16_OPSET = 22
"""The first opset whose convolutions take bfloat16; bfloat16 samples are exported with it where the catalog's is older."""
PRELOADED = ["torch", "torch.onnx._internal.exporter._core", "onnxscript.optimizer", "transformers", "timm"]
"""What the server of fresh processes has imported before it forks them."""


def export_catalog(
    catalog_path: Path,
    output: Path,
    work: Path,
    *,
    opset: int,
    jobs: int = 1,
    on_progress: Callable[..., None] = lambda *_: None,
) -> list[ExportRow]:
    """Export a catalog, a fresh process a configuration; what is finished stays in `work` and is not made again.

    Args:
        catalog_path: `manifests/catalog.json`.
        output: folder to fill with `<id>.tar.gz`.
        work: keeps finished archives by a digest of the configuration, the version of this layer and the libraries, and the
            finished groups of samples of unfinished configurations.
        jobs: processes at once.

    Returns:
        A row a sample, in the catalog's order.
    """
    from nnirp.catalog import Catalog
    from nnirp.graphs.export import environment

    catalog = Catalog.from_json(catalog_path)
    settings = {"version": VERSION, **environment(opset)}
    output.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    folders = {c.id: work / f"{c.id}-{_digest(asdict(c), settings)}" for c in catalog.configurations}
    left = [c for c in catalog.configurations if not (folders[c.id] / "rows.json").is_file()]
    left.sort(key=lambda c: -len(c.samples))
    done = len(folders) - len(left)
    on_progress(done, len(folders))
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(_finish, catalog_path, c, folders[c.id], opset): c for c in left}
        for future in as_completed(futures):
            future.result()
            done += 1
            on_progress(done, len(folders), futures[future].name)
    rows = []
    for configuration in catalog.configurations:
        rows += read_rows(folders[configuration.id])
        archive = folders[configuration.id] / f"{configuration.id}.tar.gz"
        if archive.is_file():
            shutil.copyfile(archive, output / archive.name)
    return rows


def read_rows(folder: Path) -> list[ExportRow]:
    """Rows of one finished configuration."""
    return [ExportRow(**row) for row in json.loads((folder / "rows.json").read_text(encoding="utf-8"))]


def export_manifest(rows: Sequence[ExportRow], opset: int) -> dict[str, Any]:
    """The content of `manifests/export.json`; without times, so that the same graphs give the same bytes."""
    from nnirp.graphs.export import environment

    samples = {
        row.sample: {
            "status": row.status,
            "error": row.error,
            "nodes": row.nodes,
            "method": row.method,
            "note": row.note,
        }
        for row in rows
    }
    return {"schema": 1, "environment": environment(opset), "samples": samples}


def finished_rows(work: Path) -> list[ExportRow]:
    """Rows of every configuration that was finished in a work folder, with the seconds they took."""
    return [row for path in sorted(work.glob("*/rows.json")) for row in read_rows(path.parent)]


def speed(rows: Sequence[ExportRow]) -> dict[str, float]:
    """Graphs made, graphs a second of one core, and the seconds of each part of the work."""
    parts: Counter[str] = Counter()
    for row in rows:
        parts.update(row.seconds)
    total = sum(parts.values())
    return {"graphs": len(rows), "graphs a second": len(rows) / total if total else 0.0} | {
        f"{name} (s)": seconds for name, seconds in parts.most_common()
    }


def _finish(catalog_path: Path, configuration: Any, folder: Path, opset: int) -> None:
    """Export one configuration in processes of its own; a group of samples in which one dies is a group of failures."""
    draft = folder.with_name(folder.name + ".part")
    draft.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    while not (draft / "rows.json").is_file():
        process = context.Process(target=export_one, args=(catalog_path, configuration.id, draft, opset))
        process.start()
        reason = _wait(process, draft / PROGRESS)
        if (draft / "rows.json").is_file():
            break
        log.warning("%s: %s", configuration.name, reason)
        _give_up_group(configuration, draft, reason)
    draft.replace(folder)


def _wait(process: Any, progress: Path) -> str:
    """Wait for a process as long as its progress grows; the reason of its end."""
    seen, since = -1, time.monotonic()
    while process.is_alive():
        process.join(5.0)
        size = progress.stat().st_size if progress.is_file() else 0
        if size != seen:
            seen, since = size, time.monotonic()
        elif time.monotonic() - since > TIMEOUT_S:
            process.kill()
            process.join()
            return f"no end after {TIMEOUT_S:.0f} s"
    log_file = progress.with_name("stderr.txt")
    text = log_file.read_text(encoding="utf-8", errors="replace") if log_file.is_file() else ""
    return f"the exporting process ended with code {process.exitcode}: {' '.join(text.split())[-300:]}"


def _give_up_group(configuration: Any, draft: Path, reason: str) -> None:
    """Write the samples of the group that was under way as failures, so that the next process goes on after it."""
    entries = list(read_progress(draft))
    known = {row["sample"] for entry in entries for row in entry.get("rows", ())}
    names = entries[-1].get("started") if entries else None
    if not names:  # it died before any group: nothing of this configuration can be exported
        names = [sample.name for sample in configuration.samples if sample.name not in known]
    rows = [ExportRow(name, configuration.id, "failed", reason[:500], 0) for name in names if name not in known]
    entries.append({"rows": [asdict(row) for row in rows]})
    (draft / PROGRESS).write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")


def export_one(catalog_path: Path, identifier: int, draft: Path, opset: int) -> None:
    """Export one configuration of a catalog into its draft: what runs in a process of its own."""
    import torch

    from nnirp.catalog import Catalog, build
    from nnirp.graphs.export import Timings, optimise, trace

    with (draft / "stderr.txt").open("w") as stream:
        os.dup2(stream.fileno(), 2)
    torch.set_num_threads(1)

    def export(configuration: Any, sample: Any) -> tuple[Any, Timings]:
        marks = [time.perf_counter()]
        built = build(configuration, sample, "meta")
        marks.append(time.perf_counter())
        traced = trace(
            built.module, built.inputs, opset=max(opset, BF16_OPSET) if sample.precision == "bf16" else opset
        )
        marks.append(time.perf_counter())
        graph = optimise(traced)
        marks.append(time.perf_counter())
        return graph, Timings(*(b - a for a, b in itertools.pairwise(marks)))

    configuration = Catalog.from_json(catalog_path).by_id(identifier)
    rows = ConfigurationExport(configuration, draft, export).run()
    members = [(f"{r.sample}.onnx", (draft / f"{r.sample}.onnx").read_bytes()) for r in rows if r.status == "ok"]
    if members:
        write_archive(draft / f"{identifier}.tar.gz", members)
    for name, _ in members:
        (draft / name).unlink()
    partial = draft / "rows.json.part"
    partial.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    partial.replace(draft / "rows.json")


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]
