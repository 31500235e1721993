"""A dataset root as train, validation and test graphs, in three lines."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnirp.errors import InputError
from nnirp.layers.manifests import Splits, read_manifest, read_optional
from nnirp.layers.packing import pack
from nnirp.layers.store import GraphSet


@dataclass(frozen=True)
class Dataset:
    """The three parts of one fold; each yields PyTorch Geometric graphs with the metadata of their sample."""

    train: GraphSet
    val: GraphSet
    test: GraphSet
    protocol: str
    fold: str


def load_dataset(root: str | Path, protocol: str = "cluster", fold: int | str = 0) -> Dataset:
    """Load a dataset root.

    Args:
        root: the folder that holds `pyg-features/`, `manifests/` and, but for the canonical split, `splits/`.
        protocol: random, config, cluster, subfamily, family, size or fewshot-k.
        fold: position or name of the fold.

    Returns:
        Parts whose graphs carry `sample`, `configuration`, `cluster`, `sub_family`, `family`, `input_batch`, `precision`.

    Raises:
        NotPulledError: the features or the split are absent.
        InputError: no such fold, or the split names no sample of the features.
    """
    root = Path(root)
    path = root / "splits" / f"{protocol}.json"
    store = pack(root)
    if protocol == "cluster" and not path.is_file() and read_optional(root, "splits.json", Splits):
        splits = read_manifest(root / "manifests" / "splits.json", Splits)
        column, name = store.samples["configuration"].to_numpy(), "0"
        parts = {part: np.isin(column, getattr(splits, part)) for part in ("train", "val", "test")}
    else:
        from nnirp.splits.index import read_index

        chosen = read_index(path).fold(fold)
        column, name = store.samples["sample"].to_numpy(dtype=str), chosen.name
        parts = {part: np.isin(column, np.array(getattr(chosen, part), dtype=str)) for part in ("train", "val", "test")}
    if not any(mask.any() for mask in parts.values()):
        raise InputError(
            f"{root}: the {protocol} split names none of the {len(store)} samples; run `nnirp split` again"
        )
    return Dataset(
        **{part: store.subset(np.flatnonzero(mask)) for part, mask in parts.items()}, protocol=protocol, fold=name
    )
