"""Is a dataset root whole: what is wrong, and where."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from nnirp.errors import InputError
from nnirp.layers import manifests as m
from nnirp.layers.archives import iter_archive
from nnirp.layers.packing import CARD_TARGETS
from nnirp.layers.records import read_record
from nnirp.layers.samples import load_sample

LAYERS = {"onnx-graphs": ".onnx", "profiling": ".json", "pyg-features": ".pt.zst"}
_MANIFESTS = {
    "catalog.json": m.CatalogManifest,
    "clusters.json": m.Clusters,
    "splits.json": m.Splits,
    "hf_model_type_case_ids.json": m.ModelTypes,
    "export.json": m.ExportManifest,
    "dataset.json": m.DatasetManifest,
    "memory.json": m.MemoryManifest,
}
PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class Problem:
    """Something wrong with a dataset root: the file (and member), and what was found and expected."""

    where: str
    what: str


def verify(root: str | Path) -> list[Problem]:
    """Check schemas, counts, hashes, shapes, finite values, labels, splits and the device of a dataset root.

    Layers and manifests that are absent are not checked, as a download may hold one layer only; a root without any is a
    problem. Every file is read to its end, so that checksums of archives and frames are compared.
    """
    root = Path(root)
    found: list[Problem] = []
    read = {name: _manifest(root, name, found) for name in _MANIFESTS}
    layers = {layer: _layer(root, layer, read, found) for layer in LAYERS if (root / layer).is_dir()}
    if not layers:
        found.append(Problem(str(root), f"holds none of the layers {', '.join(LAYERS)}"))
    found.extend(_pairs(layers, read))
    found.extend(_taxonomy(layers, read))
    found.extend(_splits(root, layers.get("pyg-features", {})))
    found.extend(_vocabulary(read))
    found.extend(_hashes(root))
    return found


def _manifest(root: Path, name: str, found: list[Problem]) -> object:
    try:
        return m.read_optional(root, name, _MANIFESTS[name])
    except InputError as error:
        found.append(Problem(f"manifests/{name}", str(error)))
        return None


def _layer(root: Path, layer: str, read: dict, found: list[Problem]) -> dict[str, int]:
    """{sample: configuration} of one layer; for the profiles only those that ended well."""
    suffix, samples = LAYERS[layer], {}
    fingerprints: dict[str, str] = {}
    widths: dict[int, str] = {}
    for path in sorted((root / layer).iterdir()):
        where = f"{layer}/{path.name}"
        number = path.name.removesuffix(".tar.gz")
        if path.name.startswith("."):
            continue
        if not number.isdigit() or number == path.name:
            found.append(Problem(where, "is not named <configuration id>.tar.gz"))
            continue
        try:
            for member, content in iter_archive(path):
                name, place = member.removesuffix(suffix), f"{where}: {member}"
                if name == member:
                    found.append(Problem(place, f"is not a {suffix} file"))
                    continue
                if name in samples:
                    found.append(Problem(place, f"is also in {samples[name]}.tar.gz; a sample has one place"))
                try:
                    keep = _CHECKS[layer](content, place, read, found, fingerprints, widths)
                except InputError as error:
                    found.append(Problem(place, str(error)))
                    continue
                if keep:
                    samples[name] = int(number)
        except InputError as error:
            found.append(Problem(where, str(error)))
    if len(fingerprints) > 1:
        places = " and ".join(list(fingerprints.values())[:2])
        found.append(Problem(layer, f"records of {len(fingerprints)} devices, expected one; see {places}"))
    if len(widths) > 1:
        found.append(
            Problem(
                layer, f"graphs with {sorted(widths)} targets, expected one number; see {', '.join(widths.values())}"
            )
        )
    return samples


def _check_graph(content: bytes, where: str, read: dict, *_: object) -> bool:
    """Not empty; and whole, where the root's own manifest says that it was exported. The card promises neither shapes nor a clean check."""
    if not content:
        raise InputError("is empty; export it again")
    exported = read["export.json"]
    row = exported.samples.get(where.rsplit(": ", 1)[-1].removesuffix(".onnx")) if exported else None
    if row is None or row.status != "ok":
        return True
    import onnx

    from nnirp.graphs.static import defect

    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # of protobuf, whose classes differ between its implementations
        raise InputError(f"is no ONNX file ({type(error).__name__}); export it again") from None
    if not model.graph.node:
        raise InputError("has no operator; export it again")
    if found := defect(model):
        raise InputError(f"{found}; export it again")
    return True


def _check_record(content: bytes, where: str, read: dict, found: list[Problem], fingerprints: dict, _: object) -> bool:
    record = read_record(content, where)
    if record.meta.fingerprint is not None:
        fingerprints.setdefault(json.dumps(record.meta.fingerprint, sort_keys=True), where)
    return record.ok


def _check_features(content: bytes, where: str, read: dict, found: list[Problem], _: object, widths: dict) -> bool:
    data = load_sample(content, where=where)
    if data.y is None or torch.isnan(data.y).all():
        found.append(Problem(where, "has no label"))
    else:
        widths.setdefault(data.y.shape[1], where)
    dataset = read["dataset.json"]
    if dataset is not None and data.y is not None and data.y.shape[1] != len(dataset.targets):
        found.append(Problem(where, f"has {data.y.shape[1]} targets, dataset.json names {len(dataset.targets)}"))
    elif dataset is None and data.y is not None and data.y.shape[1] not in CARD_TARGETS:
        found.append(Problem(where, f"has {data.y.shape[1]} targets and no manifests/dataset.json names them"))
    return True


_CHECKS = {"onnx-graphs": _check_graph, "profiling": _check_record, "pyg-features": _check_features}


def _pairs(layers: dict[str, dict[str, int]], read: dict) -> Iterator[Problem]:
    """Each encoded sample has its record and graph in the same configuration; what is not encoded has a reason."""
    features = layers.get("pyg-features")
    if features is None:
        return
    dataset = read["dataset.json"]
    for layer in ("profiling", "onnx-graphs"):
        for name in sorted(features.keys() - layers[layer].keys() if layer in layers else ()):
            yield Problem(f"pyg-features/{features[name]}.tar.gz: {name}", f"has no usable entry in {layer}")
        for name in sorted(features.keys() & layers.get(layer, {}).keys()):
            if features[name] != layers[layer][name]:
                yield Problem(
                    f"{layer}/{layers[layer][name]}.tar.gz: {name}", f"is in {features[name]}.tar.gz of pyg-features"
                )
    dropped = dataset.dropped if dataset else {}
    if "profiling" in layers and "onnx-graphs" in layers:
        for name in sorted(
            (layers["profiling"].keys() & layers["onnx-graphs"].keys()) - features.keys() - dropped.keys()
        ):
            yield Problem(
                f"pyg-features: {name}", "is measured and has a graph, but is neither encoded nor recorded as dropped"
            )
    for name in sorted(features.keys() & dropped.keys()):
        yield Problem(f"manifests/dataset.json: {name}", "is recorded as dropped, but is in the layer")
    memory = read["memory.json"]
    if memory is not None:
        for name in sorted(features.keys() ^ memory.root.keys()):
            lacks = "memory.json" if name in features else "pyg-features"
            yield Problem(f"manifests/memory.json: {name}", f"is missing in {lacks}")


def _taxonomy(layers: dict[str, dict[str, int]], read: dict) -> Iterator[Problem]:
    clusters = read["clusters.json"]
    if clusters is None:
        return
    places = defaultdict(list)
    for name, cluster in clusters.clusters.items():
        if cluster.sub_family not in clusters.subfamily_to_family:
            yield Problem(f"manifests/clusters.json: {name}", f"sub-family {cluster.sub_family!r} has no family")
        for case in cluster.cases:
            places[case].append(name)
    for case, names in sorted(places.items()):
        if len(names) > 1:
            yield Problem(
                "manifests/clusters.json", f"configuration {case} is in {len(names)} clusters: {', '.join(names)}"
            )
    for case in sorted(set(layers.get("pyg-features", {}).values()) - places.keys()):
        yield Problem("manifests/clusters.json", f"configuration {case} of pyg-features is in no cluster")
    splits = read["splits.json"]
    if splits is None:
        return
    part_of: dict[str, set[str]] = defaultdict(set)
    for part in PARTS:
        for case in getattr(splits, part):
            for name in places.get(case, [f"configuration {case} without a cluster"]):
                part_of[name].add(part)
    for name, parts in sorted(part_of.items()):
        if len(parts) > 1:
            yield Problem("manifests/splits.json", f"cluster {name} straddles {', '.join(sorted(parts))}")


def _splits(root: Path, samples: dict[str, int]) -> Iterator[Problem]:
    """Index files: readable, of the digest they state, and naming samples of the layer."""
    paths = sorted((root / "splits").glob("*.json"))
    if not paths:
        return
    from nnirp.splits.index import read_index

    for path in paths:
        try:
            read_index(path, samples or None)
        except InputError as error:
            yield Problem(f"splits/{path.name}", str(error))


def _vocabulary(read: dict) -> Iterator[Problem]:
    if read["dataset.json"] is None:
        return
    from nnirp.features.vocabulary import load_vocabulary

    try:
        load_vocabulary().require(read["dataset.json"].vocabulary.digest, "manifests/dataset.json")
    except InputError as error:
        yield Problem("manifests/dataset.json", str(error))


def _hashes(root: Path) -> Iterator[Problem]:
    """Files against the hashes in `dvc.lock` beside the root, where there is one."""
    lock = root.resolve().parent / "dvc.lock"
    if not lock.is_file():
        return
    try:
        import yaml
    except ImportError:  # a measuring box: DVC checks the hashes there, if it is there
        return
    stages = (yaml.safe_load(lock.read_text(encoding="utf-8")) or {}).get("stages", {})
    for entry in (out for stage in stages.values() for out in stage.get("outs", ())):
        path = lock.parent / entry["path"]
        if root.resolve() not in path.parents or not path.exists() or "md5" not in entry:
            continue
        if (actual := _dvc_hash(path)) != entry["md5"]:
            yield Problem(entry["path"], f"has the hash {actual}, dvc.lock records {entry['md5']}")


def _dvc_hash(path: Path) -> str:
    """MD5 of a file; of a folder, MD5 of the list of its files, as DVC writes its `.dir` objects."""

    def digest(file: Path) -> str:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "md5").hexdigest()

    if path.is_file():
        return digest(path)
    files = sorted((p.relative_to(path).as_posix(), p) for p in path.rglob("*") if p.is_file())
    listing = [{"md5": digest(p), "relpath": name} for name, p in files]
    return hashlib.md5(json.dumps(listing, sort_keys=True).encode()).hexdigest() + ".dir"
