"""nn-Meter's 26,000 measured operator graphs as a dataset root."""

import hashlib
import json
import logging
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnirp.errors import InputError
from nnirp.importers.assembling import REPORT, claim, draw_splits
from nnirp.importers.nn_meter_configurations import FAMILY_STEP, configurations
from nnirp.importers.nn_meter_parts import Part, Task, make_part, read_part
from nnirp.importers.nn_meter_source import Tables, read_tables, source_digest
from nnirp.layers.manifests import write_manifest

if TYPE_CHECKING:
    from nnirp.layers.store import GraphStore

log = logging.getLogger(__name__)
NAME = "nn-meter"
VERSION = 1
"""Raised when the same tables become other graphs or records, so that kept work is not taken for new."""
LAYERS = ("onnx-graphs", "profiling", "pyg-features")
# What the source's columns stand for: kind of device and its name. Source: nn-Meter, MobiSys 2021, table 2.
DEVICES = {"cortex_a76": ("cpu", "Cortex-A76"), "adreno640": ("gpu", "Adreno 640")}


def import_nn_meter(
    source: Path,
    output: Path,
    *,
    device: str = "cortex_a76",
    families: Sequence[str] | None = None,
    limit_per_family: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    on_progress: Callable[..., None] = lambda *_: None,
) -> dict[str, Any]:
    """Map every graph to ONNX, label it with one device's latency, encode it, and draw clusters and splits.

    The root appears when it is complete. A kill loses at most one configuration a process; the same call goes on.

    Args:
        source: folder with nodes.parquet, edges.parquet and labels.parquet.
        output: the dataset root to write.
        device: a column `<device>_ms` of the labels.
        families: only these; all where None.
        limit_per_family: at most this many graphs of each, evenly spaced in the source.
        seed: of the splits.
        jobs: processes.
        on_progress: called with graphs done, their number, and a note.

    Returns:
        The content of `manifests/import.json`: what was mapped, what was not and why, graphs without a label, splits.

    Raises:
        NotPulledError: a table is absent.
        InputError: a table is malformed, device or family are unknown, or no graph has a label.
    """
    source, output = Path(source), Path(output)
    claim(output, NAME)
    tables = read_tables(source)
    if device not in tables.labels:
        raise InputError(f"--device {device}: labels.parquet has latencies of {', '.join(tables.labels)}")
    numbers = configurations(tables)
    graphs = choose(tables, families, limit_per_family)
    digest = source_digest(source)
    work = output / ".work" / f"nn-meter-{_key(digest, device, graphs)}"
    work.mkdir(parents=True, exist_ok=True)
    parts = _make_parts(tables, graphs, numbers, device, work, jobs, on_progress)
    if not any((work / str(part.configuration) / "pyg-features").is_dir() for part in parts):
        raise InputError(f"{source}: none of {len(graphs)} graphs has a latency on {device} and could be mapped")
    report = {
        "schema": 1,
        "importer": NAME,
        "source": {"sha256": digest},
        "device": device,
        "fingerprint": fingerprint(device),
        **_mapping_report(parts),
        "families": _family_report(tables, graphs, device),
    }
    names = (*LAYERS, "manifests", "splits", ".store")
    from nnirp.project import publishing

    with publishing(*(output / name for name in names), work=output / ".work") as drafts:
        draft = drafts[0].with_name("root")
        on_progress(len(graphs), len(graphs), "splits")
        write_manifest(
            draft / "manifests" / REPORT, _assemble(draft, work, parts, tables, graphs, numbers, report, seed)
        )
        for name, target in zip(names, drafts, strict=True):
            (draft / name).rename(target)
    for folder in (path for path in work.parent.iterdir() if path.is_dir()):  # also what a killed or other choice left
        shutil.rmtree(folder)
    return json.loads((output / "manifests" / REPORT).read_text(encoding="utf-8"))


def choose(tables: Tables, families: Sequence[str] | None, limit_per_family: int | None) -> np.ndarray:
    """int64, the graphs of these families, at most so many of each, evenly spaced.

    Raises:
        InputError: there is no such family.
    """
    known = np.unique(tables.family).tolist()
    if unknown := sorted(set(families or ()) - set(known)):
        raise InputError(f"--families {unknown[0]}: the source has {', '.join(known)}")
    chosen = []
    for family in families or known:
        rows = np.flatnonzero(tables.family == family)
        if limit_per_family is not None and limit_per_family < len(rows):
            rows = rows[np.linspace(0, len(rows) - 1, limit_per_family).round().astype(np.int64)]
        chosen.append(rows)
    return np.sort(np.concatenate(chosen))


def fingerprint(device: str) -> dict[str, Any]:
    """The device of a column, as far as the source says it."""
    kind, name = DEVICES.get(device, ("unknown", device))
    return {
        "device": kind,
        "gpu" if kind == "gpu" else "processor": {"name": name},
        "libraries": {"tflite": "not stated"},
    }


def _make_parts(
    tables: Tables,
    graphs: np.ndarray,
    numbers: np.ndarray,
    device: str,
    work: Path,
    jobs: int,
    on_progress: Callable[..., None],
) -> list[Part]:
    """Every configuration, finished ones as they are, the largest first."""
    from joblib import Parallel, delayed

    of = {int(number): graphs[numbers[graphs] == number] for number in np.unique(numbers[graphs])}
    kept = {number: read_part(work / str(number)) for number in of}
    parts = {number: part for number, part in kept.items() if part is not None}
    nodes = np.diff(tables.node_ptr)
    left = sorted(of.keys() - parts.keys(), key=lambda number: -int(nodes[of[number]].sum()))
    done = sum(len(of[number]) for number in parts)
    on_progress(done, len(graphs), "graphs")

    def tasks() -> Iterator[Task]:
        for number in left:
            rows = of[number]
            labels = tables.labels[device][rows].tolist()
            yield Task(number, tables.take(rows), rows.tolist(), labels, fingerprint(device), work / str(number))

    made = Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(make_part)(task) for task in tasks())
    for part in made:
        parts[part.configuration] = part
        done += len(of[part.configuration])
        on_progress(done, len(graphs), "graphs")
    return [parts[number] for number in sorted(parts)]


def _assemble(
    draft: Path,
    work: Path,
    parts: Sequence[Part],
    tables: Tables,
    graphs: np.ndarray,
    numbers: np.ndarray,
    report: Mapping[str, Any],
    seed: int,
) -> dict[str, Any]:
    """Bring the parts together in `draft` and draw clusters and splits; the whole report."""
    from nnirp.layers.store import pack
    from nnirp.splits.clusters import compute_clusters

    memory: dict[str, Any] = {}
    dataset: dict[str, Any] = {}
    for part in parts:
        folder = work / str(part.configuration)
        for layer in LAYERS:
            if (archive := folder / layer / f"{part.configuration}.tar.gz").is_file():
                (draft / layer).mkdir(parents=True, exist_ok=True)
                _link(archive, draft / layer / archive.name)
        if (folder / "dataset.json").is_file():
            dataset = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
            memory |= json.loads((folder / "memory.json").read_text(encoding="utf-8"))
    dropped = {name: reason for part in parts for name, reason in part.dropped.items()}
    write_manifest(draft / "manifests" / "dataset.json", dataset | {"dropped": dict(sorted(dropped.items()))})
    write_manifest(draft / "manifests" / "memory.json", memory)
    family_of = {part.configuration: part.configuration // FAMILY_STEP for part in parts}
    names = dict(enumerate(np.unique(tables.family).tolist(), start=1))
    clusters = compute_clusters(
        {p.configuration: [{(a, b): edges for a, b, edges in p.bigrams}] for p in parts if p.graphs},
        {number: names[place] for number, place in family_of.items()},
        {name: name for name in names.values()},
    )
    write_manifest(draft / "manifests" / "clusters.json", clusters)
    store = pack(draft)
    return {
        **report,
        "samples": len(store),
        "not_encoded": {n: r for n, r in dropped.items() if not r.startswith("profiling skipped")},
        "without_label": sorted(n for n, r in dropped.items() if r.startswith("profiling skipped")),
        "configurations": len(set(store.samples["configuration"])),
        "clusters": len(clusters["clusters"]),
        "arithmetic": cross_check(store, tables),
        "splits": draw_splits(draft, seed=seed),
    }


def cross_check(store: "GraphStore", tables: Tables) -> dict[str, Any]:
    """FLOPs of convolutions and matrix products in the features against those counted straight from the tables."""
    from nnirp.features.vocabulary import load_vocabulary
    from nnirp.importers.nn_meter_statistics import product_flops

    products = [load_vocabulary().index[name] for name in ("Conv", "Gemm")]
    chosen = np.isin(np.asarray(store.op), products)
    flops = np.where(chosen, np.exp2(np.asarray(store.x)[:, 0].astype(np.float64)) - 1, 0.0)
    graph = np.repeat(np.arange(len(store)), np.diff(np.asarray(store.node_ptr)))
    encoded = np.bincount(graph, weights=flops, minlength=len(store))
    rows = [source_row(name) for name in store.samples["sample"]]
    expected = product_flops(tables)[rows]
    return {"compared": len(store), "largest_relative_difference": float(np.abs(encoded / expected - 1).max())}


def source_row(sample: str) -> int:
    """The row of labels.parquet that a sample is from."""
    return int(sample.split("_")[0].rsplit("-", 1)[1])


def _mapping_report(parts: Sequence[Part]) -> dict[str, Any]:
    nodes, refused = sum(p.nodes for p in parts), sum(p.refused_nodes for p in parts)
    unmapped: Counter[str] = Counter()
    for part in parts:
        unmapped.update(part.unmapped)
    return {
        "graphs": sum(p.graphs + len(p.refused) for p in parts),
        "mapped": sum(p.graphs for p in parts),
        "nodes": nodes,
        "nodes_mapped": nodes - refused,
        "nodes_mapped_percent": round(100 * (1 - refused / nodes), 4),
        "unmapped_operators": dict(sorted(unmapped.items())),
        "left_out": {name: reason for part in parts for name, reason in sorted(part.refused.items())},
    }


def _family_report(tables: Tables, graphs: np.ndarray, device: str) -> dict[str, Any]:
    label = tables.labels[device][graphs]
    return {
        str(family): {
            "graphs": int((rows := tables.family[graphs] == family).sum()),
            "labelled": int((known := np.isfinite(label) & rows).sum()),
            "median_ms": float(np.median(label[known])) if known.any() else None,
        }
        for family in np.unique(tables.family[graphs])
    }


def _link(path: Path, target: Path) -> None:
    """A hard link, so that a kill before the end leaves the part whole; a copy where the file system has none."""
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)


def _key(digest: str, device: str, graphs: np.ndarray) -> str:
    from nnirp.features.encoder import ENCODER_VERSION
    from nnirp.features.vocabulary import load_vocabulary

    parts = [digest, device, hashlib.sha256(graphs.tobytes()).hexdigest(), VERSION, ENCODER_VERSION]
    return hashlib.sha256(json.dumps([*parts, load_vocabulary().digest]).encode()).hexdigest()[:12]
