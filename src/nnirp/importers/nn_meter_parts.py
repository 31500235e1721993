"""One source configuration of an nn-Meter import: graphs, records and features in a folder that survives a kill."""

import json
import math
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nnirp.importers.assembling import Measured, record
from nnirp.importers.nn_meter_source import Tables

NO_LABEL = "the source has no latency of this graph on this device"
BATCH, PRECISION = 1, "fp32"


@dataclass(frozen=True)
class Task:
    """What a worker gets: the graphs of one configuration, their row numbers in the source, and labels in ms (NaN: none)."""

    configuration: int
    tables: Tables
    numbers: Sequence[int]
    labels_ms: Sequence[float]
    fingerprint: dict[str, Any]
    folder: Path


@dataclass(frozen=True)
class Part:
    """What became of one configuration; samples by name. `bigrams` are [producer, consumer, edges] of its ONNX graphs."""

    configuration: int
    graphs: int
    nodes: int
    refused_nodes: int
    refused: dict[str, str]
    unmapped: dict[str, int]
    dropped: dict[str, str]
    bigrams: list[tuple[str, str, int]]


def read_part(folder: Path) -> Part | None:
    """A part that is finished, else None."""
    path = folder / "part.json"
    return Part(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def make_part(task: Task) -> Part:
    """Write `onnx-graphs/`, `profiling/`, `pyg-features/`, `dataset.json`, `memory.json` and `part.json` of a configuration."""
    from nnirp.importers.nn_meter_graph import UnmappedError, to_onnx
    from nnirp.layers.archives import write_archive

    draft = task.folder.with_name(f".{task.folder.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    graphs, records, refused, unlabelled = [], [], {}, {}
    unmapped: Counter[str] = Counter()
    bigrams: Counter[tuple[str, str]] = Counter()
    refused_nodes = 0
    for position, number in enumerate(task.numbers):
        source = task.tables.graph(position)
        name = sample_name(task.tables, position, number)
        label = task.labels_ms[position]
        if not 0 < label < math.inf:
            unlabelled[name] = f"profiling skipped: {NO_LABEL}"
        try:
            mapped = to_onnx(source)
        except UnmappedError as error:
            refused[name] = str(error)
            unmapped[error.operator] += 1
            refused_nodes += len(source.op)
            continue
        bigrams += mapped.bigrams
        graphs.append((f"{name}.onnx", mapped.model.SerializeToString(deterministic=True)))
        records.append((f"{name}.json", _record(task, name, number, label)))
    dropped = {name: reason for name, reason in unlabelled.items() if name not in refused}
    if graphs:
        archive = f"{task.configuration}.tar.gz"
        write_archive(draft / "onnx-graphs" / archive, graphs)
        write_archive(draft / "profiling" / archive, records)
        if len(dropped) < len(graphs):
            dropped |= _encode(draft)
    part = Part(
        task.configuration,
        len(graphs),
        int(task.tables.node_ptr[-1]),
        refused_nodes,
        refused,
        dict(unmapped),
        dropped,
        sorted((*pair, edges) for pair, edges in bigrams.items()),
    )
    draft.mkdir(parents=True, exist_ok=True)
    (draft / "part.json").write_text(json.dumps(asdict(part), indent=1) + "\n", encoding="utf-8")
    draft.replace(task.folder)
    return part


def sample_name(tables: Tables, position: int, number: int) -> str:
    """`<family>-<row in labels.parquet>_im<size>_b1_fp32`."""
    size = int(tables.outputs[tables.node_ptr[position]][1])  # of the Placeholder, the first node
    return f"{tables.family[position]}-{number:05d}_im{size}_b{BATCH}_{PRECISION}"


def _record(task: Task, name: str, number: int, label_ms: float) -> bytes:
    known = 0 < label_ms < math.inf
    meta = {
        "fingerprint": task.fingerprint,
        "batch": BATCH,
        "precision": PRECISION,
        "runtime": {"name": "tflite"},
        "imported_from": f"nn-Meter, graph {number}",
        "reported": "the mean of an unstated number of runs, published as one number: count is 1 and the variance is not known",
    }
    if not known:
        meta |= {"status": "skipped", "error": NO_LABEL}
    return record(Measured(name, task.configuration, Path(), {"runtime_ms": [float(label_ms)]} if known else {}, meta))


def _encode(draft: Path) -> dict[str, str]:
    from nnirp.layers.encode_layer import encode_layer

    manifest = encode_layer(
        draft,
        features=draft / "pyg-features",
        dataset_manifest=draft / "dataset.json",
        memory_manifest=draft / "memory.json",
        targets=("runtime_ms",),
        statistic="mean",
    )
    return manifest.dropped
