"""A dataset root as one table: every sample of its catalog, what it is, whether it was exported and measured, and what came out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from nnirp.layers.archives import iter_archive
from nnirp.layers.manifests import (
    CatalogManifest,
    Clusters,
    ExportManifest,
    MemoryManifest,
    read_manifest,
    read_optional,
)
from nnirp.layers.records import ProfileRecord, read_record
from nnirp.layers.samples import load_sample

COLUMNS: dict[str, tuple[str, str]] = {
    "sample": ("text", "Name of the sample: the file of this name in each layer."),
    "configuration": ("integer", "Id of the source configuration: the archive of this name in each layer."),
    "configuration_name": ("text", "Hub id, timm name or parametric family of the source configuration."),
    "family": ("text", "First level of the taxonomy."),
    "sub_family": ("text", "Second level of the taxonomy."),
    "cluster": ("text", "Near-duplicate source configurations share one; the canonical split keeps clusters whole."),
    "library": ("text", "Library the architecture is built from."),
    "model_type": ("text", "Model type of transformers, where it is one of its architectures."),
    "parametric": ("boolean", "True where the configuration sweeps its own sizes, false for a real architecture."),
    "mode": ("text", "forward, prefill or decode (one token with a cache)."),
    "batch": ("integer", "Batch size."),
    "size": ("integer", "Pixels a side, tokens, frames, samples or steps."),
    "size_kind": ("text", "What `size` counts: im, seq, frames or steps."),
    "precision": ("text", "fp32 or bf16."),
    "export": ("text", "ok, failed, or absent where the layer has no graph of it."),
    "status": ("text", "How measuring ended: ok, skipped, error, timeout, memory, crash, or absent."),
    "reason": ("text", "Why it was not exported or not measured."),
    "repeats": ("integer", "Measured inferences that the runtime statistics are made of."),
    "runtime_min_ms": ("number", "Shortest repeat, milliseconds."),
    "runtime_p10_ms": ("number", "10th percentile of the repeats, milliseconds."),
    "runtime_median_ms": ("number", "Median of the repeats, milliseconds."),
    "runtime_mean_ms": ("number", "Mean of the repeats, milliseconds."),
    "peak_ram_mb": (
        "number",
        "Resident memory that building and running the model added at its peak, units of 2^20 bytes.",
    ),
    "operators": ("integer", "Nodes of the encoded graph."),
    "gflops": ("number", "Floating-point operations of one inference, 10^9; a multiply-add counts as two."),
    "weights_mb": ("number", "Bytes of the weights, units of 2^20 bytes."),
    "activations_mb": ("number", "Largest sum of live activations over the execution order, units of 2^20 bytes."),
}
"""{column: (kind, description)}, in the order of the table."""


def sample_index(root: Path) -> pd.DataFrame:
    """The table of a dataset root, by configuration and sample; a cell that is not known is empty.

    Raises:
        NotPulledError: `manifests/catalog.json` is absent.
        InputError: a manifest, record or graph is not valid.
    """
    root = Path(root)
    catalog = read_manifest(root / "manifests" / "catalog.json", CatalogManifest)
    places = _places(root)
    exports = read_optional(root, "export.json", ExportManifest)
    memory = read_optional(root, "memory.json", MemoryManifest)
    rows = []
    for configuration in sorted(catalog.configurations, key=lambda c: c.id):
        measured, encoded = (dict(found(root, configuration.id)) for found in (_measurements, _graphs))
        for sample in sorted(configuration.samples, key=lambda s: s.name):
            row: dict[str, Any] = {
                "sample": sample.name,
                "configuration": configuration.id,
                "configuration_name": configuration.name,
                "family": configuration.family,
                "sub_family": configuration.sub_family,
                "cluster": places.get(configuration.id),
                "library": configuration.library,
                "model_type": configuration.model_type,
                "parametric": configuration.parametric,
                "mode": sample.mode,
                "batch": sample.batch,
                "size": sample.size,
                "size_kind": sample.size_kind,
                "precision": sample.precision,
            }
            exported = exports.samples.get(sample.name) if exports else None
            record = measured.get(sample.name)
            row["export"] = exported.status if exported else "absent"
            row["status"] = record.meta.status if record else "absent"
            row["reason"] = (exported.error if exported else None) or (record.meta.error if record else None)
            rows.append(row | _numbers(record) | encoded.get(sample.name, {}) | _bytes(memory, sample.name))
    kinds = {"integer": "Int64", "number": "Float64", "boolean": "boolean", "text": "string"}
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({name: kinds[kind] for name, (kind, _) in COLUMNS.items()})


def _places(root: Path) -> dict[int, str]:
    clusters = read_optional(root, "clusters.json", Clusters)
    return {case: name for case, (name, _, _) in clusters.by_configuration.items()} if clusters else {}


def _measurements(root: Path, configuration: int) -> Iterator[tuple[str, ProfileRecord]]:
    path = root / "profiling" / f"{configuration}.tar.gz"
    if path.is_file():
        for member, content in iter_archive(path):
            yield member.removesuffix(".json"), read_record(content, f"{path}: {member}")


def _graphs(root: Path, configuration: int) -> Iterator[tuple[str, dict[str, Any]]]:
    path = root / "pyg-features" / f"{configuration}.tar.gz"
    if path.is_file():
        for member, content in iter_archive(path):
            graph = load_sample(content)
            totals = torch.exp2(graph.u[0].double())
            yield (
                member.removesuffix(".pt.zst"),
                {"operators": len(graph.op_type_id), "gflops": _round(totals[2].item() / 1e9)},
            )


def _numbers(record: ProfileRecord | None) -> dict[str, Any]:
    if record is None or not record.ok:
        return {}
    runtime, memory = record.metrics.get("Runtime (ms)"), record.metrics.get("Peak RAM (MB)")
    numbers: dict[str, Any] = {"peak_ram_mb": _round(memory.median) if memory else None}
    if runtime:
        numbers |= {
            f"runtime_{name}_ms": None if (value := getattr(runtime, name)) is None else _round(value)
            for name in ("min", "p10", "median", "mean")
        }
        numbers["repeats"] = runtime.count
    return numbers


def _bytes(memory: MemoryManifest | None, sample: str) -> dict[str, float]:
    found = memory.root.get(sample) if memory else None
    return {"weights_mb": _round(found[0] / 2**20), "activations_mb": _round(found[1] / 2**20)} if found else {}


def _round(value: float) -> float:
    """Six significant digits, far below the noise of any of them."""
    return json.loads(f"{value:.6g}")
