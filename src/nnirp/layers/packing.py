"""From the features layer and the manifests to a packed store, cached under the digest of its sources."""

import hashlib
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from torch_geometric.data import Data

from nnirp.errors import InputError, NotPulledError
from nnirp.layers.archives import iter_archive
from nnirp.layers.manifests import read_dataset_manifest, read_memory, sample_table
from nnirp.layers.samples import load_sample
from nnirp.layers.store import SCHEMA, GraphStore, StoreWriter, log_memory

log = logging.getLogger(__name__)
CACHE = ".store"
KEPT = 3  # stores of earlier sources that stay, for processes that still read them
SUFFIX = ".pt.zst"
_MANIFESTS = ("catalog.json", "clusters.json", "dataset.json", "memory.json")
# what the two versions of the card call their columns, where no manifest says so
CARD_TARGETS = {1: ("runtime_ms",), 2: ("runtime_ms", "peak_vram_mb")}


def pack(root: Path, *, cache: bool = True) -> GraphStore:
    """The store of a dataset root.

    Args:
        root: the folder with `pyg-features/` and `manifests/`.
        cache: keep the packed arrays in `<root>/.store/<digest of the sources>` and map them the next time.

    Raises:
        NotPulledError: the features are absent.
        InputError: a sample is broken, two have different targets, or they were encoded with another vocabulary.
    """
    root = Path(root)
    check_vocabulary(root)
    folder = root / CACHE / source_digest(root)
    if (folder / "store.json").is_file():
        return GraphStore.open(folder)
    if not cache:
        return _in_memory(root)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        (folder.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        log.info("%s is not writable (%s); the store stays in memory", folder.parent, error.strerror)
        return _in_memory(root)
    targets = _targets(root)
    names, configurations, batches = [], [], []
    with StoreWriter(folder, targets) as writer:
        for configuration, name, data in iter_samples(root):
            _add(writer, data, name)
            names.append(name)
            configurations.append(configuration)
            batches.append(float(data.u[0, 4]))
        writer.append("memory", log_memory(read_memory(root, names), len(names)))
        writer.finish(sample_table(root, names, configurations, np.array(batches)))
    _forget(folder)
    return GraphStore.open(folder)


def iter_samples(root: Path) -> Iterator[tuple[int, str, Data]]:
    """Every graph of the features layer: configuration, sample name, graph; by configuration, then by name.

    Raises:
        NotPulledError: the layer is absent or empty.
    """
    for path in feature_archives(root):
        for member, content in iter_archive(path):
            if not member.endswith(SUFFIX):
                raise InputError(
                    f"{path}: member {member!r} is not a {SUFFIX} file; encode the layer again with `dvc repro encode`"
                )
            yield (
                int(path.name.split(".")[0]),
                member.removesuffix(SUFFIX),
                load_sample(content, where=f"{path}: {member}"),
            )


def feature_archives(root: Path) -> list[Path]:
    """The archives of the features layer in the order of their configuration ids."""
    folder = Path(root) / "pyg-features"
    paths = [p for p in folder.glob("*.tar.gz") if p.name.split(".")[0].isdigit()]
    if not paths:
        raise NotPulledError(f"{folder} holds no archive; run `dvc pull {folder}` or `dvc repro encode`")
    return sorted(paths, key=lambda p: int(p.name.split(".")[0]))


def check_vocabulary(root: Path) -> None:
    """Refuse features whose operator numbers mean something else here.

    Raises:
        InputError: `manifests/dataset.json` names another vocabulary.
    """
    if (manifest := read_dataset_manifest(root)) is not None:
        from nnirp.features.vocabulary import load_vocabulary

        load_vocabulary().require(manifest.vocabulary.digest, f"{Path(root) / 'manifests' / 'dataset.json'}")


def source_digest(root: Path) -> str:
    """SHA-256 over the names and bytes of everything a store is built from."""
    digest = hashlib.sha256(f"store schema {SCHEMA}\n".encode())
    manifests = [Path(root) / "manifests" / name for name in _MANIFESTS]
    for path in (*feature_archives(root), *(p for p in manifests if p.is_file())):
        with path.open("rb") as file:
            digest.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()[:32]


def _in_memory(root: Path) -> GraphStore:
    rows = list(iter_samples(root))
    names = [name for _, name, _ in rows]
    batches = np.array([float(data.u[0, 4]) for *_, data in rows])
    table = sample_table(root, names, [configuration for configuration, *_ in rows], batches)
    return GraphStore.from_graphs((d for *_, d in rows), table, _targets(root), read_memory(root, names))


def _targets(root: Path) -> tuple[str, ...]:
    manifest = read_dataset_manifest(root)
    if manifest is not None:
        return manifest.targets
    first = next((data for *_, data in iter_samples(root)), None)
    width = 1 if first is None or first.y is None else first.y.shape[1]
    return CARD_TARGETS.get(width) or tuple(f"target_{i}" for i in range(width))


def _add(writer: StoreWriter, data: Data, name: str) -> None:
    try:
        writer.add(data)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _forget(folder: Path) -> None:
    """Drop all but the newest stores of this root."""
    stores = sorted((p for p in folder.parent.glob("[0-9a-f]*") if p.is_dir()), key=lambda p: p.stat().st_mtime)
    for old in stores[:-KEPT]:
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)
