"""Graphs and their measurements become an ordinary dataset root: layers, clusters, features and the splits that can be drawn."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nnirp.errors import InputError, NnirpError
from nnirp.layers.archives import write_archive
from nnirp.layers.manifests import Splits, write_manifest

log = logging.getLogger(__name__)
REPORT = "import.json"
"""The manifest that says what an importer took, and what it left out and why."""
METRICS = {
    "runtime_ms": "Runtime (ms)",
    "peak_ram_mb": "Peak RAM (MB)",
    "peak_vram_mb": "Peak VRAM (MB)",
    "energy_j": "Energy (J)",
}


@dataclass(frozen=True)
class Measured:
    """One sample: its graph's file, and what was measured, by target in the unit of its name; a value a repetition.

    `meta` goes into the `_meta` of the record: batch, precision, fingerprint, runtime, where it is from.
    """

    sample: str
    configuration: int
    graph: Path
    values: Mapping[str, Sequence[float]]
    meta: Mapping[str, Any] = field(default_factory=dict)


def claim(output: Path, importer: str) -> None:
    """Mark a folder as this importer's, which may be empty, begun, or finished before.

    Raises:
        InputError: the folder holds something else.
    """
    mark, report = output / ".work" / "importer", output / "manifests" / REPORT
    if mark.is_file():
        owner = mark.read_text(encoding="utf-8").strip()
    elif report.is_file():
        owner = json.loads(report.read_text(encoding="utf-8")).get("importer")
    else:
        owner = importer if not output.exists() or (output.is_dir() and not any(output.iterdir())) else None
    if owner != importer:
        raise InputError(f"{output} exists and is not what `nnirp import {importer}` wrote; name a new folder")
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(f"{importer}\n", encoding="utf-8")


def assemble(
    output: Path,
    samples: Sequence[Measured],
    taxonomy: Mapping[int, tuple[str, str]],
    *,
    targets: Sequence[str],
    statistic: str,
    report: Mapping[str, Any],
    seed: int = 0,
    jobs: int = 1,
    on_progress: Callable[..., None] | None = None,
) -> dict[str, Any]:
    """Write a dataset root, replacing the layers that are there when all of them are complete.

    Args:
        output: the root.
        samples: what to write, one archive a configuration and layer.
        taxonomy: {configuration: (family, sub-family)}.
        targets: columns of `y`.
        statistic: which statistic of the values is the label: mean, median or min.
        report: content of `manifests/import.json`; `clusters` and `splits` are added.
        jobs: processes of the encoder.
        on_progress: called with configurations encoded and their number.

    Returns:
        The report as it was written.

    Raises:
        InputError: no sample can be encoded.
    """
    from nnirp.layers.encode_layer import encode_layer
    from nnirp.project import publishing
    from nnirp.splits.clusters import compute_clusters, graph_bigrams

    names = ("onnx-graphs", "profiling", "pyg-features", "manifests", "splits")
    with publishing(*(output / name for name in names), work=output / ".work") as drafts:
        draft = drafts[0].with_name("root")
        by_configuration: dict[int, list[Measured]] = {}
        for sample in samples:
            by_configuration.setdefault(sample.configuration, []).append(sample)
        for number, members in sorted(by_configuration.items()):
            graphs = ((f"{s.sample}.onnx", s.graph.read_bytes()) for s in members)
            write_archive(draft / "onnx-graphs" / f"{number}.tar.gz", graphs)
            write_archive(draft / "profiling" / f"{number}.tar.gz", ((f"{s.sample}.json", record(s)) for s in members))
        bigrams = graph_bigrams(draft / "onnx-graphs", by_configuration)
        clusters = compute_clusters(
            bigrams, {n: taxonomy[n][1] for n in bigrams}, {sub: family for family, sub in taxonomy.values()}
        )
        write_manifest(draft / "manifests" / "clusters.json", clusters)
        manifest = encode_layer(
            draft,
            features=draft / "pyg-features",
            dataset_manifest=draft / "manifests" / "dataset.json",
            memory_manifest=draft / "manifests" / "memory.json",
            targets=targets,
            statistic=statistic,
            jobs=jobs,
            on_progress=on_progress,
        )
        splits = draw_splits(draft, seed=seed)
        whole = {"schema": 1, **report, "clusters": len(clusters["clusters"]), "splits": splits}
        if manifest.dropped:
            whole["not_encoded"] = manifest.dropped
        write_manifest(draft / "manifests" / REPORT, whole)
        for name, target in zip(names, drafts, strict=True):
            (draft / name).rename(target)
    return whole


def record(sample: Measured) -> bytes:
    """The profiling record of a sample; a metric that nobody measured is null with a reason."""
    from nnirp.layers.records import CARD_METRICS, Meta, ProfileRecord, statistics, write_record

    metrics = {METRICS[name]: statistics(values) for name, values in sample.values.items() if values}
    absent = [name for name in CARD_METRICS if name not in metrics]
    meta = Meta(**sample.meta, reasons=dict.fromkeys(absent, "not in the table that was imported"))
    return write_record(ProfileRecord(metrics={**dict.fromkeys(absent), **metrics}, meta=meta))


def draw_splits(root: Path, *, seed: int = 0, canonical: Splits | None = None) -> dict[str, str]:
    """Write the index file of every protocol that the data are large enough for, and `manifests/splits.json`.

    Args:
        root: with features and manifests.
        seed: of the splits.
        canonical: a split that came with the data; it is the cluster split and stays as it is, leaks and all.

    Returns:
        {protocol: "drawn", "taken", or why it could not be}.
    """
    from nnirp.layers.store import pack
    from nnirp.splits import PROTOCOLS, canonical_manifest, describe, make_split, write_index
    from nnirp.splits.audit import audit

    store = pack(root, cache=False)
    described = describe(store)
    folder = root / "splits"
    (folder / "audit").mkdir(parents=True, exist_ok=True)
    drawn: dict[str, str] = {}
    for protocol in PROTOCOLS:
        try:
            taken = protocol == "cluster" and canonical is not None
            index = _given(canonical, described) if taken else make_split(protocol, described, seed=seed)
        except InputError as error:
            drawn[protocol] = str(error)
            log.info("no %s split: %s", protocol, error)
            continue
        found = audit(index, store)
        if not found.ok and not taken:
            raise NnirpError(f"the {protocol} split leaks, {found.leaks[0]}; nothing was published")
        write_index(index, folder / f"{protocol}.json")
        text = json.dumps(found.to_dict(), indent=1) + "\n"
        (folder / "audit" / f"{protocol}.json").write_text(text, encoding="utf-8")
        if protocol == "cluster" and not taken:
            canonical_manifest(index, described, root / "manifests" / "splits.json")
        drawn[protocol] = "drawn" if not taken else f"taken{'' if found.ok else f', leaks: {found.leaks[0]}'}"
    return drawn


def _given(splits: Splits, data: Any) -> Any:
    """A canonical split as an index of the samples that are there."""
    from nnirp.splits.index import PARTS, Fold, Index, check_index

    part_of = {configuration: part for part in PARTS for configuration in getattr(splits, part)}
    parts: dict[str, list[str]] = {part: [] for part in PARTS}
    for sample, configuration in zip(data.samples["sample"], data.samples["configuration"], strict=True):
        if configuration in part_of:
            parts[part_of[configuration]].append(str(sample))
    fold = Fold("0", **{part: tuple(sorted(names)) for part, names in parts.items()})
    index = Index("cluster", (fold,), explanation=("the canonical split that came with the data",))
    check_index(index, where="manifests/splits.json")
    return index
