"""Graphs and measurements of a dataset root become its features layer."""

import json
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nnirp.errors import InputError, NotPulledError
from nnirp.layers.archives import iter_archive, write_archive
from nnirp.layers.manifests import CatalogManifest, DatasetManifest, ExportManifest, read_optional, write_manifest
from nnirp.layers.records import read_record, target_metric

log = logging.getLogger(__name__)
LEVEL = 9  # of zstandard; level 19 saves a few per cent and takes most of the stage's time


@dataclass(frozen=True)
class _Labels:
    """What the profiling archive of one configuration says."""

    y: dict[str, tuple[float, ...]]
    batch: dict[str, int | None]
    dropped: dict[str, str]
    fingerprints: dict[str, str]  # canonical JSON: a sample that has it


@dataclass(frozen=True)
class _Encoded:
    """What became of one configuration."""

    samples: int
    memory: dict[str, list[int]]
    dropped: dict[str, str]
    warnings: int


def encode_layer(
    root: Path,
    *,
    features: Path,
    dataset_manifest: Path,
    memory_manifest: Path,
    targets: Sequence[str] = ("runtime_ms", "peak_ram_mb"),
    statistic: str = "median",
    form: str = "canonical",
    jobs: int = 1,
    on_progress: Callable[..., None] | None = None,
) -> DatasetManifest:
    """Encode every sample that has a graph and a measurement.

    Args:
        root: dataset root with `onnx-graphs/` and `profiling/`; `manifests/catalog.json` and `export.json` where present.
        features: folder to fill with one archive a source configuration.
        dataset_manifest: where `dataset.json` is written.
        memory_manifest: where `memory.json` is written: bytes of weights, peak live activations, inputs + outputs,
            largest tensor, by sample.
        targets: the columns of `y`, log2 of the metric; NaN where a metric is null.
        statistic: which statistic of the record: mean, median, p10 or min.
        form: "canonical" or "executed", see `nnirp.features.encode`.
        jobs: processes.
        on_progress: called with configurations done, their number, and a note.

    Returns:
        The dataset manifest; its `dropped` has a reason for every sample that is not in the layer.

    Raises:
        NotPulledError: a layer is absent.
        InputError: the records come from two devices, a record is malformed, or no sample is left.
    """
    from nnirp.features.vocabulary import load_vocabulary

    root, features = Path(root), Path(features)
    for target in targets:
        target_metric(target)
    graphs, profiles = (_archives(root / name) for name in ("onnx-graphs", "profiling"))
    labels = dict(
        zip(profiles, _each(partial(_labels, tuple(targets), statistic), profiles.values(), jobs), strict=True)
    )
    fingerprint = _single_fingerprint(labels.values())
    dropped, batches = _catalog(root)
    for found in labels.values():
        dropped |= found.dropped
    features.mkdir(parents=True, exist_ok=True)
    empty = _Labels({}, {}, {}, {})
    tasks = [(path, features / path.name, labels.get(number, empty), batches, form) for number, path in graphs.items()]
    memory: dict[str, list[int]] = {}
    warnings = 0
    for done, result in enumerate(_each(_encode_configuration, tasks, jobs), start=1):
        memory |= result.memory
        dropped |= result.dropped
        warnings += result.warnings
        if on_progress is not None:
            on_progress(done, len(tasks), f"({len(memory)} samples)")
    for number in labels.keys() - graphs.keys():
        dropped |= dict.fromkeys(labels[number].y, "measured, but has no graph")
    dropped = {name: reason for name, reason in sorted(dropped.items()) if name not in memory}
    if not memory:
        reason = next(iter(dropped.values()), "the archives are empty")
        raise InputError(
            f"{root}: no sample has both a graph and a measurement ({reason}); run `dvc repro export profile`"
        )
    if warnings:
        log.warning("encode: %d warnings of the encoder; see one with `nnirp encode FILE`", warnings)
    vocabulary = load_vocabulary()
    manifest = DatasetManifest(
        targets=tuple(targets),
        target_statistic=statistic,
        vocabulary={"version": vocabulary.version, "digest": vocabulary.digest},
        form=form,
        encoder_version=_encoder_version(),
        fingerprint=fingerprint,
        dropped=dropped,
    )
    write_manifest(dataset_manifest, manifest)
    write_manifest(memory_manifest, memory)
    return manifest


def _labels(targets: tuple[str, ...], statistic: str, path: Path) -> _Labels:
    found = _Labels({}, {}, {}, {})
    for member, content in iter_archive(path):
        name = member.removesuffix(".json")
        record = read_record(content, f"{path}: {member}")
        if record.meta.fingerprint is not None:
            found.fingerprints.setdefault(json.dumps(record.meta.fingerprint, sort_keys=True), name)
        if not record.ok:
            error = " ".join((record.meta.error or "").split())[:200]
            found.dropped[name] = f"profiling {record.meta.status}" + (f": {error}" if error else "")
            continue
        y = tuple(record.target(target, statistic) for target in targets)
        if all(math.isnan(value) for value in y):
            found.dropped[name] = f"none of the targets was measured: {', '.join(targets)}"
            continue
        found.y[name] = y
        found.batch[name] = record.meta.batch
    return found


def _encode_configuration(task: tuple[Path, Path, _Labels, dict[str, int], str]) -> _Encoded:
    path, output, labels, batches, form = task
    from nnirp.features.data import to_data
    from nnirp.features.encoder import encode
    from nnirp.graphs.reading import read_onnx
    from nnirp.layers.samples import dump_sample

    result: dict[str, bytes] = {}
    memory: dict[str, list[int]] = {}
    dropped: dict[str, str] = {}
    warnings = 0
    seen = set()
    for member, content in iter_archive(path):
        name = member.removesuffix(".onnx")
        seen.add(name)
        if name not in labels.y:
            dropped[name] = labels.dropped.get(name, "has a graph, but was not measured")
            continue
        try:
            batch = batches.get(name) or labels.batch.get(name)
            encoded = encode(read_onnx(content), batch=batch, form=form)
            result[f"{name}.pt.zst"] = dump_sample(to_data(encoded, labels.y[name]), LEVEL)
        except InputError as error:
            dropped[name] = f"encoding failed: {' '.join(str(error).split())[:300]}"
            continue
        memory[name] = [int(value) for value in encoded.memory]
        warnings += len(encoded.warnings)
    dropped |= {name: "measured, but has no graph" for name in labels.y if name not in seen}
    if result:
        write_archive(output, result.items())
    return _Encoded(len(result), memory, dropped, warnings)


def _single_fingerprint(labels: Sequence[_Labels]) -> dict[str, Any] | None:
    found: dict[str, str] = {}
    for entry in labels:
        for fingerprint, sample in entry.fingerprints.items():
            found.setdefault(fingerprint, sample)
    if len(found) > 1:
        (first, a), (second, b) = list(found.items())[:2]
        one, two = json.loads(first), json.loads(second)
        keys = sorted(k for k in one.keys() | two.keys() if one.get(k) != two.get(k))
        key = keys[0]
        raise InputError(
            f"profiling: the records come from {len(found)} devices: {a} and {b} differ in `{key}` ({one.get(key)!r:.80} and {two.get(key)!r:.80}); "
            "keep one device a dataset root, measure the others into another"
        )
    return json.loads(next(iter(found))) if found else None


def _catalog(root: Path) -> tuple[dict[str, str], dict[str, int]]:
    """Samples that the catalog or the export knows, with why they would be missing, and the batch of each."""
    catalog = read_optional(root, "catalog.json", CatalogManifest)
    export = read_optional(root, "export.json", ExportManifest)
    samples = [s for c in catalog.configurations for s in c.samples] if catalog else []
    reasons = {s.name: "neither exported nor measured" for s in samples}
    for name, row in (export.samples if export else {}).items():
        if row.status != "ok":
            reasons[name] = f"export failed: {' '.join((row.error or 'no reason given').split())[:200]}"
    return reasons, {s.name: s.batch for s in samples}


def _archives(folder: Path) -> dict[int, Path]:
    paths = {int(p.name.split(".")[0]): p for p in folder.glob("*.tar.gz") if p.name.split(".")[0].isdigit()}
    if not paths:
        raise NotPulledError(f"{folder} holds no archive; run `dvc pull {folder}`")
    return dict(sorted(paths.items()))


def _each(function: Callable, items: Any, jobs: int) -> Iterator:
    """Results in the order of the items, from as many processes as asked for."""
    if jobs <= 1:
        yield from map(function, items)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(function)(item) for item in items)


def _encoder_version() -> int | str:
    from nnirp.features import encoder

    return getattr(encoder, "ENCODER_VERSION", 1)
