"""A downloaded copy of the published dataset, of either version of its card, adopted as a dataset root."""

import logging
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nnirp.errors import InputError
from nnirp.importers.assembling import REPORT, claim, draw_splits
from nnirp.importers.conclusions import Notes, conclude, named, read_labels, records
from nnirp.layers import manifests as m
from nnirp.layers.packing import CARD_TARGETS
from nnirp.layers.records import target_metric

log = logging.getLogger(__name__)
NAME = "nnirp"
LAYERS = ("onnx-graphs", "profiling", "pyg-features")
FEATURES = "pyg-features"
_KINDS = {
    "catalog.json": m.CatalogManifest,
    "clusters.json": m.Clusters,
    "splits.json": m.Splits,
    "hf_model_type_case_ids.json": m.ModelTypes,
    "export.json": m.ExportManifest,
    "dataset.json": m.DatasetManifest,
    "memory.json": m.MemoryManifest,
}


def import_published(
    root: Path,
    output: Path,
    *,
    copy: bool = False,
    encode: bool = False,
    device: str | None = None,
    seed: int = 0,
    jobs: int = 1,
    on_progress: Callable[..., None] = lambda *_: None,
) -> dict[str, Any]:
    """Check a copy, link or copy its layers, complete its manifests, and draw the splits it lacks.

    The canonical split of the copy stays; clusters that its `clusters.json` names stay.

    Args:
        root: the folder with `pyg-features/` or, with `encode`, `onnx-graphs/` and `profiling/`, and `manifests/`.
        output: the dataset root to write.
        copy: copy archives; hard links where the file system has them otherwise.
        encode: make the features anew from graphs and records instead of taking those of the copy.
        device: what was measured on, where no record says it.
        seed: of the splits that are drawn.
        jobs: processes of the encoder.
        on_progress: called with what is done, how much there is, and a note.

    Returns:
        The content of `manifests/import.json`.

    Raises:
        InputError: a file of the copy is broken or contradicts another, its features were encoded with another vocabulary,
            or neither `clusters.json` nor `catalog.json` says which family a configuration is of.
    """
    from nnirp.features.vocabulary import load_vocabulary
    from nnirp.project import publishing

    root, output = Path(root), Path(output)
    notes = Notes()
    held = {name: m.read_optional(root, name, kind) for name, kind in _KINDS.items()}
    if (stated := held["dataset.json"]) is not None and not encode:
        load_vocabulary().require(stated.vocabulary.digest, str(root / "manifests" / "dataset.json"))
    archives = _archives(root, encode, notes)
    claim(output, NAME)
    names = (*archives, *([FEATURES] if encode else []), "manifests", "splits")
    with publishing(*(output / name for name in names), work=output / ".work") as drafts:
        draft = drafts[0].with_name("root")
        for layer, paths in archives.items():
            for path in paths:
                adopt(path, draft / layer / path.name, copy=copy)
        _write_manifests(root, draft, held)
        dataset = _encode(draft, jobs, on_progress) if encode else _taken(draft, held, notes, on_progress)
        if not dataset.fingerprint:
            dataset = dataset.model_copy(update={"fingerprint": named(device)})
        m.write_manifest(draft / "manifests" / "dataset.json", dataset)
        _clusters(draft, held, notes)
        _refuse_problems(draft, root)
        splits = draw_splits(draft, seed=seed, canonical=held["splits.json"])
        report = {
            "schema": 1,
            "importer": NAME,
            "layers": {layer: len(paths) for layer, paths in archives.items()},
            "targets": list(dataset.targets),
            "derived": notes.derived,
            "assumed": notes.assumed,
            "left_out": notes.left_out,
            "splits": splits,
        }
        m.write_manifest(draft / "manifests" / REPORT, report)
        for name, target in zip(names, drafts, strict=True):
            (draft / name).rename(target)
    for layer in set(LAYERS) - set(names):  # of an earlier copy
        shutil.rmtree(output / layer, ignore_errors=True)
    return report


def adopt(path: Path, target: Path, *, copy: bool = False) -> None:
    """A hard link to a file, or a copy where that is asked for or the file system has no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not copy:
        try:
            os.link(path, target)
            return
        except OSError:
            log.debug("%s cannot be linked; it is copied", path)
    shutil.copyfile(path, target)


def _archives(root: Path, encode: bool, notes: Notes) -> dict[str, list[Path]]:
    """The archives of each layer that is complete, measured by the features, or else by the graphs."""
    found = {
        layer: sorted(
            (p for p in (root / layer).glob("*.tar.gz") if p.name.removesuffix(".tar.gz").isdigit()),
            key=lambda path: int(path.name.split(".")[0]),
        )
        for layer in LAYERS
    }
    needed = ("onnx-graphs", "profiling") if encode else (FEATURES,)
    for layer in needed:
        if not found[layer]:
            raise InputError(
                f"{root / layer} holds no <configuration>.tar.gz; bring the layer with `nnirp fetch REPOSITORY --layer {layer} --output {root}`"
            )
    if encode:
        found.pop(FEATURES)
        return found
    wanted = {path.name for path in found[FEATURES]}
    for layer in ("onnx-graphs", "profiling"):
        absent = wanted - {path.name for path in found[layer]}
        if absent or not found[layer]:
            if found[layer]:
                notes.left_out[layer] = (
                    f"{len(absent)} of the {len(wanted)} configurations of {FEATURES} have no archive"
                )
            found.pop(layer)
    return found


def _write_manifests(root: Path, draft: Path, held: Mapping[str, Any]) -> None:
    """The manifests of the copy as they are, but for model types, whose ids become lists, and those that depend on the features."""
    for name, content in held.items():
        if isinstance(content, m.ModelTypes):
            m.write_manifest(draft / "manifests" / name, content.root)
        elif content is not None and name not in ("dataset.json", "memory.json"):
            adopt(root / "manifests" / name, draft / "manifests" / name, copy=True)


def _encode(draft: Path, jobs: int, on_progress: Callable[..., None]) -> m.DatasetManifest:
    """Features from the graphs and records of the copy, labelled with the targets of the card that the records have."""
    from nnirp.layers.encode_layer import encode_layer

    first = next((record for _, record in records(draft) if record.ok), None)
    if first is None:
        raise InputError("no record of the profiling layer ended well; there is nothing to learn from")
    targets = [target for target in CARD_TARGETS[2] if first.metrics.get(target_metric(target))]
    return encode_layer(
        draft,
        features=draft / FEATURES,
        dataset_manifest=draft / "manifests" / "dataset.json",
        memory_manifest=draft / "manifests" / "memory.json",
        targets=targets,
        jobs=jobs,
        on_progress=on_progress,
    )


def _taken(draft: Path, held: Mapping[str, Any], notes: Notes, on_progress: Callable[..., None]) -> m.DatasetManifest:
    """The dataset manifest of the copy's features, and a `memory.json` of the samples that are there."""
    labels = read_labels(draft, on_progress)
    if (memory := held["memory.json"]) is not None:
        rows = {name: row for name, row in memory.root.items() if name in labels}
        if len(rows) < len(labels):
            notes.left_out["memory.json"] = f"it lacks {len(labels) - len(rows)} of {len(labels)} samples"
        else:
            m.write_manifest(draft / "manifests" / "memory.json", rows)
    return held["dataset.json"] or conclude(draft, labels, notes)


def _clusters(draft: Path, held: Mapping[str, Any], notes: Notes) -> None:
    if held["clusters.json"] is not None:
        return
    if held["catalog.json"] is None:
        raise InputError(
            "neither manifests/clusters.json nor manifests/catalog.json is there, and nothing else says the family of a "
            "configuration; bring the manifests with `nnirp fetch`, which always takes them"
        )
    from nnirp.layers.store import pack
    from nnirp.splits.clusters import compute_clusters

    m.write_manifest(draft / "manifests" / "clusters.json", compute_clusters(pack(draft, cache=False)))
    notes.derived["clusters"] = (
        "computed from the operator bigrams of the features, in the sub-families of catalog.json"
    )


def _refuse_problems(draft: Path, root: Path) -> None:
    from nnirp.layers.verify import verify

    if problems := verify(draft):
        first = "; ".join(f"{problem.where}: {problem.what}" for problem in problems[:3])
        raise InputError(f"{root} is not whole, {len(problems)} problems: {first}; see all with `nnirp verify {root}`")
