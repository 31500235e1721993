"""The search behind the canonical split: hold out whole clusters whose operator bigrams the training pool still knows.

Greedy with restarts. One restart ranks units by a seeded hash, then keeps serving the family and part (validation, test)
that lacks most of its fifth of configurations, with the first unit by rank that (a) brings family and whole closer to
their fifths, (b) leaves the family something to learn from, and (c) keeps the coverage of every cluster held out so far,
its own included, at or above the threshold. Of all restarts the best balanced one wins: least sum of the families'
deviations, parametric configurations counted once more, since they hold most of the samples. Samples are not counted, so
adding samples to known configurations does not move the balance. No random state, no clock: same data, same split.
"""

from dataclasses import dataclass

import numpy as np

from nnirp.errors import InputError
from nnirp.splits.hashing import fraction
from nnirp.splits.units import HELD_OUT

COVERAGE = 0.80
"""Least distinct bigram coverage of a held-out cluster (dataset card)."""
RESTARTS = 64
RELAX = 0.05


@dataclass(frozen=True)
class Units:
    """names, family: per unit; size, parametric: configurations; has: bool [clusters, bigrams]; unit: int [clusters]."""

    names: tuple[str, ...]
    family: tuple[str, ...]
    size: np.ndarray
    parametric: np.ndarray
    clusters: tuple[str, ...]
    unit: np.ndarray
    has: np.ndarray


@dataclass(frozen=True)
class Found:
    """part per unit, the threshold that was reached, and one sentence per unit and decision."""

    part: dict[str, str]
    threshold: float
    explanation: tuple[str, ...]


class _Pool:
    """Which clusters are still trained on, and how many of them hold each bigram."""

    def __init__(self, units: Units):
        self.has = units.has.astype(np.float32)
        self.members = [np.flatnonzero(units.unit == u) for u in range(len(units.names))]
        self.total = self.has.sum(axis=1)
        self.support = self.has.sum(axis=0)
        self.held = np.zeros(len(units.clusters), dtype=bool)

    def coverage_without(self, unit: int) -> tuple[float, float]:
        """(coverage of the unit's own clusters, of those held out before), the worst of each, were it held out too."""
        rows = self.members[unit]
        pool = (self.support - self.has[rows].sum(axis=0) > 0).astype(np.float32)
        return self.worst(rows, pool), self.worst(np.flatnonzero(self.held), pool)

    def worst(self, rows: np.ndarray, pool: np.ndarray) -> float:
        if not len(rows):
            return 1.0
        total = self.total[rows]
        found = self.has[rows] @ pool
        return float(np.divide(found, total, out=np.ones_like(found), where=total > 0).min())

    def hold_out(self, unit: int) -> None:
        self.support = self.support - self.has[self.members[unit]].sum(axis=0)
        self.held[self.members[unit]] = True


def _improves(have: float, add: float, want: float) -> bool:
    return abs(have + add - want) < abs(have - want) - 1e-9


def _restart(units: Units, seed: int, restart: int, threshold: float) -> tuple[np.ndarray, _Pool]:
    pool = _Pool(units)
    rank = [fraction(seed, f"{restart}/{name}") for name in units.names]
    order = sorted(range(len(rank)), key=lambda u: (rank[u], units.names[u]))
    families = sorted(set(units.family))
    of_family = {f: [u for u in order if units.family[u] == f] for f in families}
    total = float(units.size.sum())
    want = {f: HELD_OUT * float(units.size[of_family[f]].sum()) for f in families}
    have = {(f, p): 0.0 for f in families for p in ("test", "val")}
    whole = {"test": 0.0, "val": 0.0}
    part = np.array(["train"] * len(units.names), dtype=object)
    open_ = {(f, p): rank_ for f in families for p, rank_ in (("test", 0), ("val", 1))}
    while open_:
        family, side = max(
            open_, key=lambda k: (1 - have[k] / want[k[0]], -open_[k], fraction(seed, f"{restart}/{k[0]}"), k[0])
        )
        left = [u for u in of_family[family] if part[u] == "train"]
        for u in left if len(left) > 1 else ():
            n = float(units.size[u])
            balanced = _improves(have[family, side], n, want[family]) and _improves(whole[side], n, HELD_OUT * total)
            if balanced and min(pool.coverage_without(u)) >= threshold - 1e-6:
                pool.hold_out(u)
                part[u] = side
                have[family, side] += n
                whole[side] += n
                break
        else:
            del open_[family, side]
    return part, pool


def _imbalance(units: Units, part: np.ndarray) -> float:
    family = np.array(units.family)
    total, score = float(units.size.sum()), 0.0
    for side in ("val", "test"):
        held = part == side
        for f in set(units.family):
            inside = family == f
            score += abs(units.size[inside & held].sum() - HELD_OUT * units.size[inside].sum())
        score += abs(units.parametric[held].sum() - HELD_OUT * units.parametric.sum())
        score += 0.0 if held.any() else total
    return score / total


def search(units: Units, seed: int, threshold: float = COVERAGE) -> Found:
    """The best balanced assignment whose held-out clusters all reach the coverage threshold.

    Where no cluster at all can be validation or test at that threshold, it is lowered in steps of 0.05 and the
    explanation says so. Raises InputError with fewer than three units.
    """
    if len(units.names) < 3:
        raise InputError(f"only {len(units.names)} independent clusters; a split needs at least 3: extend the catalog")
    restarts = RESTARTS if len(units.names) <= 400 else RESTARTS // 8
    reached = threshold
    while True:
        tried = [_restart(units, seed, r, reached) for r in range(restarts)]
        scores = [_imbalance(units, part) for part, _ in tried]
        best = int(np.argmin(np.round(scores, 9)))
        part, pool = tried[best]
        if {"val", "test"} <= set(part) or reached <= 0:
            break
        reached = max(0.0, round(reached - RELAX, 2))
    if not {"val", "test"} <= set(part):
        part, pool, reached = _by_coverage(units)
        best = -1
    return Found(
        dict(zip(units.names, part, strict=True)), reached, _explain(units, part, pool, threshold, reached, best)
    )


def _by_coverage(units: Units) -> tuple[np.ndarray, _Pool, float]:
    """Too small for fifths: the two units that the rest covers best are test and validation."""
    pool = _Pool(units)
    part = np.array(["train"] * len(units.names), dtype=object)
    for side in ("test", "val"):
        left = np.flatnonzero(part == "train")
        u = max(left, key=lambda i: (min(pool.coverage_without(i)), units.names[i]))
        pool.hold_out(u)
        part[u] = side
    return part, pool, 0.0


def _explain(
    units: Units, part: np.ndarray, pool: _Pool, threshold: float, reached: float, best: int
) -> tuple[str, ...]:
    lines = []
    known = pool.support > 0
    worst = pool.worst(np.flatnonzero(pool.held), known.astype(np.float32))
    counts = {p: int(units.size[part == p].sum()) for p in ("train", "val", "test")}
    lines.append(
        f"{counts['train']}/{counts['val']}/{counts['test']} configurations in train/val/test; restart {best} had the "
        f"least imbalance ({_imbalance(units, part):.3f}); worst held-out coverage {worst:.3f}"
    )
    if reached < threshold:
        lines.append(
            f"no assignment with coverage {threshold:.2f} has both validation and test: the data are too small; "
            f"the threshold was lowered to {reached:.2f}"
        )
    for f in sorted(set(units.family)):
        inside = np.array(units.family) == f
        share = {p: int(units.size[inside & (part == p)].sum()) for p in ("train", "val", "test")}
        lines.append(f"family {f}: {share['train']}/{share['val']}/{share['test']} configurations")
    for u, name in enumerate(units.names):
        own, others = pool.coverage_without(u) if part[u] == "train" else (0.0, 0.0)
        clusters = [units.clusters[c] for c in pool.members[u]]
        tied = (
            f" (one unit with {', '.join(c for c in clusters if c != name)}: same topology)"
            if len(clusters) > 1
            else ""
        )
        alone = units.family.count(units.family[u]) == 1
        if part[u] != "train":
            covered = pool.worst(pool.members[u], known.astype(np.float32))
            reason = f"held out for {part[u]}: coverage {covered:.3f}"
        elif alone:
            reason = f"kept in training: the only unit of family {units.family[u]}"
        elif own < reached:
            reason = f"kept in training: the rest covers only {own:.3f} of its bigrams"
        elif others < reached:
            reason = f"kept in training: without it a held-out cluster falls to {others:.3f}"
        else:
            reason = "kept in training: its family's fifths are served, or it is too large for them"
        lines.append(f"cluster {name}{tied}: {reason}")
    return tuple(lines)
