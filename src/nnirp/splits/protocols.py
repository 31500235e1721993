"""The protocols, from easy to hard: what each keeps apart, and how it is drawn.

Every assignment comes from a hash of the seed and a name, or from a search that uses nothing else: row order, clock and
random state do not enter. Adding samples: `random` never moves a sample that was there; in `config`, `subfamily`,
`family` and `cluster` a sample follows its configuration and moves nobody, as long as it brings its cluster no operator
bigram that makes the search's coverage rule fail; `fewshot` may swap a labelled sample for a new one with a lower hash;
`size` cuts at quantiles, so its border moves with the data. A new unit moves at most one other per border of its family.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnirp.errors import InputError
from nnirp.splits.bigrams import held_out_coverage
from nnirp.splits.hashing import fraction
from nnirp.splits.index import PARTS, Fold, Index
from nnirp.splits.search import Units, search
from nnirp.splits.units import HELD_OUT, SplitInput, assign_by_rank, describe, strata, unit_names

__all__ = ["PROTOCOLS", "SplitInput", "canonical_manifest", "describe", "make_split"]

VERSION = 1
"""Raised when a protocol's rule changes, so that an old index file is told from a new one."""


@dataclass(frozen=True)
class Drawn:
    """parts: {fold: part of each sample}; explanation: one sentence per decision; threshold: the coverage reached."""

    parts: dict[str, np.ndarray]
    explanation: tuple[str, ...]
    threshold: float | None = None


def _parts(units: np.ndarray, part: Mapping[str, str]) -> np.ndarray:
    return np.array([part[unit] for unit in units], dtype=object)


def _column(data: SplitInput, name: str) -> np.ndarray:
    return data.samples[name].to_numpy(dtype=object)


def random(data: SplitInput, seed: int) -> Drawn:
    """By sample: below 0.6 of the hash is training, below 0.8 validation. Equal graphs stay together."""
    units = unit_names(_column(data, "sample"), data.hashes.exact)
    names = sorted(set(units))
    hashed = {u: fraction(seed, u) for u in names}
    part = {u: "train" if h < 1 - 2 * HELD_OUT else "val" if h < 1 - HELD_OUT else "test" for u, h in hashed.items()}
    if set(part.values()) != set(PARTS):
        part = assign_by_rank(dict.fromkeys(names, "all"), seed, "different samples")
    return Drawn({"0": _parts(units, part)}, (f"{len(names)} different graphs, each drawn by the hash of its name",))


def config(data: SplitInput, seed: int) -> Drawn:
    """By source configuration, a fifth of each family; configurations with an identical graph stay together."""
    units = unit_names((f"{int(c):09d}" for c in _column(data, "configuration")), data.hashes.exact)
    part = assign_by_rank(strata(units, _column(data, "family")), seed, "configurations")
    return Drawn({"0": _parts(units, part)}, (f"{len(part)} configurations, ranked by hash in each family",))


def _cluster_units(data: SplitInput) -> np.ndarray:
    return unit_names(_column(data, "cluster"), data.hashes.topology)


def cluster(data: SplitInput, seed: int) -> Drawn:
    """By cluster, with bigram coverage of every held-out cluster; clusters that share a topology stay together."""
    unit = _cluster_units(data)
    cluster_name = np.array([str(c) for c in _column(data, "cluster")])
    names, first = np.unique(cluster_name, return_index=True)
    unit_family = strata(unit, _column(data, "family"))
    unit_list = tuple(sorted(unit_family))
    position = {u: i for i, u in enumerate(unit_list)}
    configurations = data.samples.assign(_unit=unit).drop_duplicates("configuration")
    size = configurations.groupby("_unit").size()
    parametric = configurations.assign(_p=configurations.get("parametric", False)).groupby("_unit")["_p"].sum()
    found = search(
        Units(
            unit_list,
            tuple(unit_family[u] for u in unit_list),
            size.reindex(unit_list, fill_value=0).to_numpy(dtype=np.float64),
            parametric.reindex(unit_list, fill_value=0).to_numpy(dtype=np.float64),
            tuple(names.tolist()),
            np.array([position[u] for u in unit[first]]),
            data.bigrams.group(cluster_name).distinct(),
        ),
        seed,
    )
    return Drawn({"0": _parts(unit, found.part)}, found.explanation, found.threshold)


def subfamily(data: SplitInput, seed: int) -> Drawn:
    """By sub-family, a fifth of each family's; sub-families that share a topology stay together."""
    units = unit_names(_column(data, "sub_family"), data.hashes.topology, data.samples["cluster"].astype(str))
    unit_family = strata(units, _column(data, "family"))
    part = assign_by_rank(unit_family, seed, "independent sub-families")
    return Drawn({"0": _parts(units, part)}, tuple(f"sub-family {u}: {part[u]}" for u in sorted(part)))


def family(data: SplitInput, seed: int) -> Drawn:
    """A fold per family, which is its test; validation is a fifth of the clusters of each of the others."""
    families = _column(data, "family")
    names = sorted(set(families))
    if len(names) < 2:
        raise InputError(f"only the family {names[0]!r} in the data set; leaving one out needs two: extend the catalog")
    folds, lines = {}, []
    unit = _cluster_units(data)
    for name in names:
        part = np.array(["test"] * len(families), dtype=object)
        others = families != name
        unit_family = strata(unit[others], families[others])
        drawn = dict.fromkeys(unit_family, "train")
        for stratum in sorted(set(unit_family.values())):
            ranked = sorted((fraction(seed, u), u) for u, f in unit_family.items() if f == stratum)
            drawn |= {u: "val" for _, u in ranked[: round(HELD_OUT * len(ranked)) if len(ranked) >= 3 else 0]}
        if "val" not in drawn.values():
            drawn[min(drawn, key=lambda u: (fraction(seed, u), u))] = "val"
        if "train" not in drawn.values():
            raise InputError(f"without family {name!r} there is one cluster: extend the catalog")
        part[others] = _parts(unit[others], drawn)
        folds[name] = part
        lines.append(f"fold {name}: {sum(p == 'val' for p in drawn.values())} validation clusters of other families")
    return Drawn(folds, tuple(lines))


def _cuts(work: np.ndarray) -> tuple[float, float]:
    """Largest work of training and of validation: quantiles, moved down until each part has a value, where there are three."""
    values = np.unique(work)
    last = len(values) - 1
    low, high = np.searchsorted(values, np.quantile(work, [1 - 2 * HELD_OUT, 1 - HELD_OUT], method="lower"))
    high = max(0, min(int(high), last - 1))
    low = max(0, min(int(low), high - 1))
    return float(values[low]), float(values[high])


def size(data: SplitInput, seed: int) -> Drawn:
    """Train below the 60th percentile of a family's FLOPs, validate up to the 80th, test above; equals stay together.

    FLOPs, not nodes: batch and resolution grow a graph's work without growing its node count.
    """
    families, part = _column(data, "family"), np.full(len(data.work), "train", dtype=object)
    lines = []
    unit = unit_names(_column(data, "sample"), data.hashes.exact)
    for name in sorted(set(families)):
        inside = families == name
        low, high = _cuts(data.work[inside])
        part[inside & (data.work > low)] = "val"
        part[inside & (data.work > high)] = "test"
        lines.append(f"family {name}: trained to 2^{low:.2f} FLOPs, tested above 2^{high:.2f}")
    # Equal graphs do equal work, but two families may cut the same work differently: the unit's first by name decides.
    decided = dict(zip(unit[::-1], part[::-1], strict=True))
    return Drawn({"0": _parts(unit, decided)}, tuple(lines))


def _fewshot(shots: int) -> Callable[[SplitInput, int], Drawn]:
    def fewshot(data: SplitInput, seed: int) -> Drawn:
        """The cluster split, with that many labelled samples of each test cluster moved to training, at most half."""
        base = cluster(data, seed)
        part = base.parts["0"].copy()
        unit = unit_names(_column(data, "sample"), data.hashes.exact)
        clusters = _column(data, "cluster")
        moved = 0
        for name in sorted(set(clusters[part == "test"])):
            rows = np.flatnonzero((clusters == name) & (part == "test"))
            limit, taken = min(shots, len(rows) // 2), 0
            for u in sorted(set(unit[rows]), key=lambda u: (fraction(seed, u), u)):
                members = np.flatnonzero(unit == u)
                if taken + len(members) <= limit:
                    part[members] = "train"
                    taken += len(members)
            moved += taken
        explanation = (f"{moved} labelled samples of test clusters moved to training", *base.explanation)
        return Drawn({"0": part}, explanation, base.threshold)

    return fewshot


PROTOCOLS: dict[str, Callable[[SplitInput, int], Drawn]] = {
    "random": random,
    "config": config,
    "cluster": cluster,
    "subfamily": subfamily,
    "family": family,
    "size": size,
    "fewshot-1": _fewshot(1),
    "fewshot-5": _fewshot(5),
    "fewshot-20": _fewshot(20),
}


def make_split(protocol: str, data: Any, seed: int = 0) -> Index:
    """The index of a protocol over the samples, with the coverage of each held-out cluster.

    data: a packed store, or `describe(store)`, which saves reading it again for each of several protocols.

    Raises InputError for an unknown protocol or for data too small to be cut.
    """
    if protocol not in PROTOCOLS:
        raise InputError(f"unknown protocol {protocol!r}; choose one of: {', '.join(PROTOCOLS)}")
    data = data if isinstance(data, SplitInput) else describe(data)
    if not len(data.samples):
        raise InputError("the data set has no samples to split; run `nnirp encode` first")
    drawn = PROTOCOLS[protocol](data, seed)
    names = _column(data, "sample")
    clusters = np.array([str(c) for c in _column(data, "cluster")])
    folds, coverage = [], {}
    for fold, part in drawn.parts.items():
        parts = {p: tuple(sorted(names[part == p])) for p in PARTS}
        empty = [p for p in PARTS if not parts[p]]
        if empty:
            raise InputError(f"protocol {protocol}, fold {fold}: nothing is left for {empty[0]!r}: extend the catalog")
        folds.append(Fold(fold, **parts))
        coverage[fold] = {
            p: {
                name: {"distinct": round(c.distinct, 6), "weighted": round(c.weighted, 6)}
                for name, c in held_out_coverage(data.bigrams, clusters, part == p, part == "train").items()
            }
            for p in ("val", "test")
        }
    frame = data.samples
    counts = {key: int(frame[key].nunique()) for key in ("configuration", "cluster", "sub_family", "family")}
    dataset: dict[str, Any] = {"sample": len(frame)} | counts
    if drawn.threshold is not None:
        dataset["coverage_threshold"] = drawn.threshold
    return Index(protocol, tuple(folds), VERSION, seed, dataset, coverage, drawn.explanation)


def canonical_manifest(index: Index, data: Any, path: str | Path | None = None) -> dict[str, list[int]]:
    """The content of `manifests/splits.json`: configuration ids of each part of the cluster split; written to `path`."""
    configuration = dict(zip(data.samples["sample"], data.samples["configuration"], strict=True))
    fold = index.folds[0]
    content = {part: sorted({int(configuration[s]) for s in fold.part(part)}) for part in PARTS}
    if path is not None:
        Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return content
