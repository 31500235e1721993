"""What a split lets through: overlaps, duplicate graphs, coverage and shift, and which of them its protocol forbids."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from nnirp.errors import InputError
from nnirp.splits.bigrams import BigramTable, held_out_coverage
from nnirp.splits.hashing import GraphHashes, graph_hashes
from nnirp.splits.index import PARTS, Fold, Index
from nnirp.splits.search import COVERAGE

_UP_TO = ("sample", "exact_duplicate", "configuration", "cluster", "near_duplicate", "sub_family", "family")
_LEVELS = {"random": 2, "size": 2, "config": 3, "cluster": 5, "subfamily": 6}
EXAMPLES = 5


@dataclass(frozen=True)
class Leak:
    """One kind of thing that two parts share although the protocol forbids it."""

    fold: str
    kind: str
    between: tuple[str, str]
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.examples)
        return f"fold {self.fold}: {self.count} × {self.kind} in both {self.between[0]} and {self.between[1]}: {shown}"


@dataclass(frozen=True)
class AuditReport:
    """findings: {fold: {overlap, coverage, labels, size, missing}}, everything seen; leaks: the forbidden part of it."""

    protocol: str
    digest: str
    findings: dict[str, Any]
    leaks: tuple[Leak, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing that the protocol forbids was found."""
        return not self.leaks

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, as for JSON."""
        leaks = [asdict(leak) | {"between": list(leak.between), "examples": list(leak.examples)} for leak in self.leaks]
        return {"protocol": self.protocol, "digest": self.digest, "leaks": leaks, "findings": self.findings}

    def write(self, path: str | Path) -> None:
        """Writes `to_dict` as JSON."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def summary(self) -> str:
        """One line."""
        found = "no leak" if self.ok else f"{len(self.leaks)} leaks, first: {self.leaks[0]}"
        return f"{self.protocol}: {len(self.findings)} folds, {found}"

    def lines(self) -> list[str]:
        """The report for a reader, a line a fact."""
        lines = [f"protocol {self.protocol}: {len(self.leaks)} leaks"] + [f"LEAK {leak}" for leak in self.leaks]
        for fold, found in self.findings.items():
            for pair, kinds in found["overlap"].items():
                shared = ", ".join(f"{kind} {entry['count']}" for kind, entry in kinds.items() if entry["count"])
                lines.append(f"fold {fold}, {pair}: shared {shared or 'nothing'}")
            for part, clusters in found["coverage"].items():
                low = sum(c["distinct"] < COVERAGE for c in clusters.values())
                least = min(clusters.items(), key=lambda item: item[1]["distinct"], default=None)
                if least:
                    name, c = least
                    lines.append(
                        f"fold {fold}, {part}: {low} of {len(clusters)} clusters below coverage {COVERAGE:.2f}; least "
                        f"{name} {c['distinct']:.3f} distinct, {c['weighted']:.3f} weighted"
                    )
            for part, shift in found["size"].items():
                lines.append(f"fold {fold}, {part}: median 2^{shift['flops_log2']['median']:.1f} FLOPs a graph")
            if found["missing"]:
                lines.append(f"fold {fold}: {found['missing']} samples of the data set are in no part")
        return lines


def forbidden(protocol: str, pair: tuple[str, str]) -> frozenset[str]:
    """Kinds that the protocol forbids two of its parts to share."""
    if protocol.startswith("fewshot"):
        level = 2 if pair == ("train", "test") else 5
    elif protocol == "family":
        # A topology that two families share is reported, not forbidden: the taxonomy decides what a family is.
        if pair == ("train", "test"):
            return frozenset(_UP_TO) - {"near_duplicate"}
        level = 4 if "test" in pair else 5
    elif protocol in _LEVELS:
        level = _LEVELS[protocol]
    else:
        raise InputError(
            f"unknown protocol {protocol!r} in the index file; the audit knows what these forbid: "
            f"{', '.join([*_LEVELS, 'family', 'fewshot-1'])}"
        )
    return frozenset(_UP_TO[:level])


def audit(index: Index, store: Any, hashes: GraphHashes | None = None, table: BigramTable | None = None) -> AuditReport:
    """Audits every fold of an index (read it with strict=False) against the packed store it names samples of.

    Exact duplicates are graphs of two samples with equal operators, features and wiring; near-duplicates have equal
    operators and wiring, and other features (another batch, size or precision). hashes and table are read from the store
    unless given (rows in its order), which saves time over many indices. Raises InputError for an unknown sample.
    """
    names = store.samples["sample"].astype(str)
    position = dict(zip(names, range(len(names)), strict=True))
    unknown = sorted({s for f in index.folds for p in PARTS for s in f.part(p)} - position.keys())
    if unknown:
        raise InputError(
            f"{len(unknown)} samples of the index are not in the data set, such as {unknown[0]!r}; "
            "audit it against the data it was made from"
        )
    hashes = graph_hashes(store) if hashes is None else hashes
    table = BigramTable.from_store(store) if table is None else table
    findings, leaks = {}, []
    for fold in index.folds:
        rows = {p: np.array(sorted({position[s] for s in fold.part(p)}), dtype=np.int64) for p in PARTS}
        found = _audit_fold(fold, rows, store, hashes, table)
        findings[fold.name] = found
        leaks += _leaks(index, fold, rows, found, np.asarray(store.u)[:, 2], store.samples)
    return AuditReport(index.protocol, index.digest, findings, tuple(leaks))


def _audit_fold(
    fold: Fold, rows: dict[str, np.ndarray], store: Any, hashes: GraphHashes, table: BigramTable
) -> dict[str, Any]:
    samples = store.samples
    overlap = {}
    for a, b in combinations(PARTS, 2):
        kinds = {}
        for kind in ("sample", "configuration", "cluster", "sub_family", "family"):
            values = samples[kind].to_numpy(dtype=object)
            kinds[kind] = _shared(values[rows[a]], values[rows[b]])
        kinds["exact_duplicate"], kinds["near_duplicate"] = _duplicates(samples, hashes, rows[a], rows[b])
        overlap[f"{a}-{b}"] = kinds
    mask = {p: np.isin(np.arange(len(samples)), rows[p]) for p in PARTS}
    clusters = np.array([str(c) for c in samples["cluster"]])
    coverage = {
        p: {
            name: {"distinct": c.distinct, "weighted": c.weighted, "samples": int(((clusters == name) & mask[p]).sum())}
            for name, c in held_out_coverage(table, clusters, mask[p], mask["train"]).items()
        }
        for p in ("val", "test")
    }
    y, u = np.asarray(store.y, dtype=np.float64), np.asarray(store.u, dtype=np.float64)
    labels = {t: {p: _range(y[rows[p], j], y[rows["train"], j]) for p in PARTS} for j, t in enumerate(store.targets)}
    size = {
        p: {
            "nodes_log2": _range(u[rows[p], 0], u[rows["train"], 0]),
            "flops_log2": _range(u[rows[p], 2], u[rows["train"], 2]),
        }
        for p in PARTS
    }
    missing = len(samples) - len(np.unique(np.concatenate(list(rows.values()))))
    return {"overlap": overlap, "coverage": coverage, "labels": labels, "size": size, "missing": missing}


def _shared(a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
    both = sorted({str(v) for v in a} & {str(v) for v in b})
    return {"count": len(both), "examples": both[:EXAMPLES]}


def _pairs(names: np.ndarray, key: np.ndarray, a: Iterable[int], b: Iterable[int]) -> tuple[set[int], list[str]]:
    """Rows of b whose key is also in a under another sample name, and the first examples."""
    first: dict[int, list[int]] = {}
    for i in a:
        kept = first.setdefault(int(key[i]), [])
        if len(kept) < 2:
            kept.append(i)
    hit, examples = set(), []
    for j in b:
        twin = [i for i in first.get(int(key[j]), ()) if names[i] != names[j]]
        if twin:
            hit.add(j)
            examples.append(f"{names[twin[0]]} ≅ {names[j]}")
    return hit, sorted(examples)[:EXAMPLES]


def _duplicates(
    samples: Any, hashes: GraphHashes, a: np.ndarray, b: np.ndarray
) -> tuple[dict[str, Any], dict[str, Any]]:
    names = samples["sample"].to_numpy(dtype=object)
    exact, exact_examples = _pairs(names, hashes.exact, a.tolist(), b.tolist())
    near, near_examples = _pairs(names, hashes.topology, a.tolist(), [j for j in b.tolist() if j not in exact])
    return (
        {"count": len(exact), "examples": exact_examples},
        {"count": len(near), "examples": near_examples},
    )


def _range(values: np.ndarray, train: np.ndarray) -> dict[str, float | int | None]:
    values, train = values[np.isfinite(values)], train[np.isfinite(train)]
    if not len(values):
        return {"count": 0, "min": None, "median": None, "max": None, "outside_train_share": None}
    outside = float(np.mean((values < train.min()) | (values > train.max()))) if len(train) else 1.0
    low, middle, high = (float(f(values)) for f in (np.min, np.median, np.max))
    return {"count": len(values), "min": low, "median": middle, "max": high, "outside_train_share": outside}


def _leaks(
    index: Index, fold: Fold, rows: dict[str, np.ndarray], found: dict[str, Any], work: np.ndarray, samples: Any
) -> list[Leak]:
    leaks, protocol = [], index.protocol
    for a, b in combinations(PARTS, 2):
        for kind in _UP_TO:
            entry = found["overlap"][f"{a}-{b}"][kind]
            if entry["count"] and kind in forbidden(protocol, (a, b)):
                leaks.append(Leak(fold.name, kind, (a, b), entry["count"], tuple(entry["examples"])))
    for part in PARTS:
        listed = fold.part(part)
        twice = len(listed) - len(set(listed))
        if twice:
            examples = tuple(sorted(s for s, n in Counter(listed).items() if n > 1)[:EXAMPLES])
            leaks.append(Leak(fold.name, "repeated_sample", (part, part), twice, examples))
    if protocol == "cluster":
        least = float(index.dataset.get("coverage_threshold", COVERAGE))
        for part, clusters in found["coverage"].items():
            low = {name: c["distinct"] for name, c in clusters.items() if c["distinct"] < least - 1e-6}
            if low:
                examples = tuple(f"{name} ({value:.3f})" for name, value in sorted(low.items())[:EXAMPLES])
                leaks.append(Leak(fold.name, "coverage", ("train", part), len(low), examples))
    if protocol == "size":
        families = samples["family"].to_numpy(dtype=object)
        for name in sorted(set(families)):
            train, test = (work[r[families[r] == name]] for r in (rows["train"], rows["test"]))
            if len(train) and len(test) and train.max() > test.min():
                count = int((train > test.min()).sum())
                leaks.append(Leak(fold.name, "size_order", ("train", "test"), count, (str(name),)))
    return leaks
