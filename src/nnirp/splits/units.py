"""What a protocol moves as one: units that never straddle a cut, and their assignment by rank of a seeded hash."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from nnirp.errors import InputError
from nnirp.splits.bigrams import BigramTable
from nnirp.splits.hashing import GraphHashes, fraction, graph_hashes

HELD_OUT = 0.20
"""Share of each family that is validation, and again of test; the published split holds out 0.20 and 0.18."""
NEEDED = ("configuration", "cluster", "sub_family", "family")


@dataclass(frozen=True)
class SplitInput:
    """What protocols look at, one row per sample, sorted by sample name.

    samples: the store's samples frame; bigrams: one row per sample; work: float64 [n], log2 of the graph's FLOPs.
    """

    samples: pd.DataFrame
    bigrams: BigramTable
    work: np.ndarray
    hashes: GraphHashes


def describe(store: Any) -> SplitInput:
    """Reads a packed store once; every protocol is then made from the result. Row order does not matter."""
    names = store.samples["sample"].to_numpy(dtype=object).astype(str)
    if len(np.unique(names)) < len(names):
        values, counts = np.unique(names, return_counts=True)
        raise InputError(f"sample {values[counts > 1][0]!r} is twice in the store; run `nnirp encode` again")
    absent = [c for c in NEEDED if c not in store.samples or store.samples[c].isna().any()]
    if absent:
        raise InputError(f"samples without {absent[0]!r} in the store; run `nnirp split` after `dvc repro cluster`")
    order = np.argsort(names)
    hashes = graph_hashes(store)
    return SplitInput(
        store.samples.iloc[order].reset_index(drop=True),
        BigramTable.from_store(store).take(order),
        np.asarray(store.u, dtype=np.float64)[order, 2],
        GraphHashes(hashes.exact[order], hashes.topology[order]),
    )


def components(*labels: Sequence[Any]) -> np.ndarray:
    """int [n]: rows that share a value of any of the labels, directly or through others, have the same number."""
    rows = len(labels[0])
    columns, width = [], 0
    for label in labels:
        _, code = np.unique(np.asarray(label), return_inverse=True)
        columns.append(code + width)
        width += int(code.max(initial=-1)) + 1
    column = np.concatenate(columns)
    row = np.tile(np.arange(rows), len(labels))
    ones = np.ones(len(row), dtype=np.int8)
    graph = sparse.csr_array((ones, (row, column + rows)), shape=(rows + width, rows + width))
    return connected_components(graph, directed=False)[1][:rows]


def unit_names(label: Iterable[Any], *ties: Sequence[Any]) -> np.ndarray:
    """str [n]: the unit of each row, named by the smallest label in it.

    Rows of one label are one unit, and so are labels tied by a shared value of `ties` (such as a graph's hash).
    """
    label = np.array([str(v) for v in label], dtype=object)
    component = components(label.astype(str), *ties)
    smallest: dict[int, str] = {}
    for c, name in zip(component.tolist(), label, strict=True):
        if c not in smallest or name < smallest[c]:
            smallest[c] = name
    return np.array([smallest[c] for c in component.tolist()], dtype=object)


def strata(units: np.ndarray, families: Iterable[str]) -> dict[str, str]:
    """{unit: its family}; a unit that touches several families counts as the first by name."""
    result: dict[str, str] = {}
    for unit, family in zip(units, families, strict=True):
        result[unit] = min(result.get(unit, family), family)
    return result


def _quota(n: int, every_second: bool) -> tuple[int, int]:
    """(validation, test) units of a family of n: a fifth each, at least one where it leaves two to learn from."""
    if n < 4:
        return (int(n == 3 and every_second), int(n >= 2))
    return (max(1, round(HELD_OUT * n)),) * 2


def assign_by_rank(unit_family: Mapping[str, str], seed: int, what: str) -> dict[str, str]:
    """{unit: part}: in each family the units are ranked by hash; the first are test, the next validation.

    Stability: samples added to a known unit follow it and move nothing; a new unit moves at most one other per boundary
    of its own family. Families of three lend validation every second one, so that small data keep enough to train on.
    Raises InputError with fewer than three units.
    """
    if len(unit_family) < 3:
        raise InputError(
            f"only {len(unit_family)} {what} in the data set; a split needs at least 3: extend the catalog"
        )
    groups: dict[str, list[str]] = {}
    for unit, family in sorted(unit_family.items()):
        groups.setdefault(family, []).append(unit)
    if all(len(g) == 1 for g in groups.values()):
        groups = {"all": sorted(unit_family)}
    for group in groups.values():
        group.sort(key=lambda unit: (fraction(seed, unit), unit))
    threes = sorted((f for f, g in groups.items() if len(g) == 3), key=lambda f: (fraction(seed, f), f))
    part = dict.fromkeys(unit_family, "train")
    for family, group in groups.items():
        val, test = _quota(len(group), family in threes[::2])
        part |= dict.fromkeys(group[:test], "test") | dict.fromkeys(group[test : test + val], "val")
    if "val" not in part.values():
        spare = {f: [u for u in g if part[u] == "train"] for f, g in groups.items()}
        richest = max(sorted(spare), key=lambda f: (len(spare[f]), fraction(seed, f)))
        part[spare[richest][0]] = "val"
    return part
