"""The onnx-graphs layer: every sample of a catalog exported, a configuration an archive, a failure a row."""

import hashlib
import json
import logging
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nnirp.errors import NnirpError
from nnirp.layers.archives import write_archive

log = logging.getLogger(__name__)
VERSION = 2
"""Raised when an exported graph changes its meaning, so that kept work is not taken for new."""
TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class ExportRow:
    """What became of one sample. `seconds` is kept out of the manifest, whose bytes are deterministic."""

    sample: str
    configuration: int
    status: str
    error: str | None
    nodes: int
    seconds: float


def export_configuration(configuration: Any, output: Path, *, opset: int, build: Callable[..., Any]) -> list[ExportRow]:
    """Export every sample of one configuration into one flat archive.

    Args:
        configuration: with `id` and `samples`.
        output: path of `<id>.tar.gz`; not written when no sample could be exported.
        build: `build(configuration, sample, device)` with `.module` and `.inputs`.
    """
    from nnirp.graphs.export import export_graph

    rows, members = [], []
    for sample in configuration.samples:
        started = time.perf_counter()
        try:
            built = build(configuration, sample, "meta")
            graph = export_graph(built.module, built.inputs, opset=opset)
        except Exception as error:
            reason = " ".join(f"{'' if isinstance(error, NnirpError) else type(error).__name__ + ': '}{error}".split())
            rows.append(
                ExportRow(sample.name, configuration.id, "failed", reason[:500], 0, time.perf_counter() - started)
            )
            continue
        members.append((f"{sample.name}.onnx", graph.SerializeToString(deterministic=True)))
        rows.append(
            ExportRow(sample.name, configuration.id, "ok", None, len(graph.graph.node), time.perf_counter() - started)
        )
    if members:
        write_archive(output, members)
    return rows


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
        work: keeps finished archives by a digest of the configuration, the version of this layer and the libraries.
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
    lost: dict[int, list[ExportRow]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(_in_process, catalog_path, c, folders[c.id], opset): c for c in left}
        for future in as_completed(futures):
            configuration = futures[future]
            if reason := future.result():
                log.warning("%s: %s", configuration.name, reason)
                lost[configuration.id] = [
                    ExportRow(s.name, configuration.id, "failed", reason, 0, 0.0) for s in configuration.samples
                ]
            done += 1
            on_progress(done, len(folders), configuration.name)
    rows = []
    for configuration in catalog.configurations:
        if configuration.id in lost:
            rows += lost[configuration.id]
            continue
        folder = folders[configuration.id]
        rows += [ExportRow(**row) for row in json.loads((folder / "rows.json").read_text(encoding="utf-8"))]
        archive = folder / f"{configuration.id}.tar.gz"
        if archive.is_file():
            shutil.copyfile(archive, output / archive.name)
    return rows


def export_manifest(rows: Sequence[ExportRow], opset: int) -> dict[str, Any]:
    """The content of `manifests/export.json`; without times, so that the same graphs give the same bytes."""
    from nnirp.graphs.export import environment

    samples = {row.sample: {"status": row.status, "error": row.error, "nodes": row.nodes} for row in rows}
    return {"schema": 1, "environment": environment(opset), "samples": samples}


def _in_process(catalog_path: Path, configuration: Any, folder: Path, opset: int) -> str | None:
    """Export one configuration in a process of its own; the reason when that dies, and then nothing is kept."""
    draft = folder.with_name(folder.name + ".part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    command = [
        sys.executable,
        "-m",
        "nnirp.graphs.layer",
        str(catalog_path),
        str(configuration.id),
        str(draft),
        str(opset),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"no end after {TIMEOUT_S:.0f} s"
    if not (draft / "rows.json").is_file():
        return f"the exporting process ended with code {done.returncode}: {' '.join(done.stderr.split())[-300:]}"
    draft.replace(folder)
    return None


def _write_rows(rows: Sequence[ExportRow], folder: Path) -> None:
    (folder / "rows.json").write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def main(catalog_path: str, identifier: str, folder: str, opset: str) -> None:
    """Export one configuration of a catalog: what `export_catalog` runs in a process of its own."""
    import torch

    from nnirp.catalog import Catalog, build

    torch.set_num_threads(1)
    configuration = Catalog.from_json(Path(catalog_path)).by_id(int(identifier))
    target = Path(folder)
    rows = export_configuration(configuration, target / f"{identifier}.tar.gz", opset=int(opset), build=build)
    _write_rows(rows, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
