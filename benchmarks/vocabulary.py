"""Chooses the 88 operators of the vocabulary from how often graphs have them, and writes the vocabulary's file.

An operator is ranked by, in this order: source configurations of the training pool that have it; its nodes there; source
configurations of the whole catalog; imported source configurations; users' exports of catalog models; files that packages ship; files
that ONNX Runtime quantised or fused; graphs among the onnx package's own backend tests; its name. Both forms of the encoder count. A
configuration gives up to as many samples as `--samples` says, evenly spaced. Only operators on tensors that have a formula are chosen.

    python benchmarks/vocabulary.py --version 2 --cache .work/benchmark-graphs --roots ~/scratch/site-packages --write

`--graphs` is also a folder of a running or finished export (`.work/export`), whose archives lie one folder deeper.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from machine import describe, markdown
from nnirp.errors import NnirpError
from nnirp.features import encode
from nnirp.features.cost import knows
from nnirp.features.vocabulary import UNKNOWN, vocabulary_digest
from nnirp.graphs.reading import read_onnx
from nnirp.layers.archives import iter_archive
from third_party import LIST, find

SIZE = 88
FILE = Path("src/nnirp/features/vocabulary.json")
EVIDENCE = (
    "pool_configurations",
    "pool_nodes",
    "catalog_configurations",
    "imported_configurations",
    "user_exports",
    "shipped_files",
    "quantised_files",
    "onnx_tests",
)
NOT_ON_TENSORS = ("Sequence", "Optional", "String", "SplitToSequence", "ConcatFromSequence", "TfIdf", "LabelEncoder")
TESTS = Path(onnx.__file__).parent / "backend/test/data"


@dataclass
class Counts:
    """How many of each kind of evidence have an operator."""

    of: dict[str, Counter] = field(default_factory=lambda: {name: Counter() for name in EVIDENCE})
    seen: Counter = field(default_factory=Counter)

    def rank(self, operator: str) -> tuple:
        return (*(-self.of[name][operator] for name in EVIDENCE), operator)


def operators(content: bytes | Path, **sizes) -> Counter:
    """Nodes of each operator, the larger number of the two forms; nothing for a file that cannot be encoded."""
    found: Counter = Counter()
    for form in ("canonical", "executed"):
        try:
            encoded = encode(read_onnx(content), form=form, **sizes)
        except NnirpError:
            return Counter()
        found |= Counter(encoded.op_names)
    return found


def archives_below(folder: Path) -> dict[int, Path]:
    """Finished archives by source configuration, in the folder or in its folders."""
    paths = sorted([*folder.glob("*.tar.gz"), *folder.glob("*/*.tar.gz")])
    return {int(p.name.split(".")[0]): p for p in paths if p.parent.suffix != ".part"}


def spaced(archive: Path, samples: int) -> Iterator[bytes]:
    """At most so many members of an archive, evenly spaced."""
    total = sum(1 for _ in iter_archive(archive))
    chosen = {round(i * (total - 1) / max(samples - 1, 1)) for i in range(samples)}
    yield from (content for number, (_, content) in enumerate(iter_archive(archive)) if number in chosen)


def catalog_graphs(folder: Path, cache: Path, samples: int) -> Iterator[tuple[int, Iterable[bytes]]]:
    """Graphs by source configuration: of its archive, else the small sample that an agreement benchmark exported."""
    archives = archives_below(folder)
    exported = {int(p.name.split("-")[0]): p for p in cache.glob("*.onnx") if not p.name.endswith("-user.onnx")}
    for number in sorted(archives.keys() | exported.keys()):
        yield number, spaced(archives[number], samples) if number in archives else [exported[number].read_bytes()]


def count(arguments: argparse.Namespace, pool: set[int] | None) -> Counts:
    """All the evidence. `pool` is every configuration where None."""
    counts, cache = Counts(), arguments.cache
    for number, contents in catalog_graphs(arguments.graphs, cache, arguments.samples):
        nodes: Counter = Counter()
        for content in contents:
            nodes += operators(content, batch=1)
        counts.seen["catalog_configurations"] += 1
        counts.of["catalog_configurations"].update(nodes.keys())
        if pool is None or number in pool:
            counts.seen["pool_configurations"] += 1
            counts.of["pool_configurations"].update(nodes.keys())
            counts.of["pool_nodes"] += nodes
    for root in arguments.imported:
        for archive in archives_below(root / "onnx-graphs").values():
            nodes = sum((operators(content, batch=1) for content in spaced(archive, arguments.samples)), Counter())
            counts.seen["imported_configurations"] += 1
            counts.of["imported_configurations"].update(nodes.keys())
    shipped = [(find(arguments.roots, entry["file"]), entry) for entry in json.loads(LIST.read_text(encoding="utf-8"))]
    others = [("user_exports", path, {"batch": 1}) for path in sorted(cache.glob("*-user.onnx"))]
    others += [("shipped_files", path, {"batch": entry.get("batch", 1), "dims": entry.get("dims", {})}) for path, entry in shipped if path]  # fmt: skip
    others += [("shipped_files", path, {"batch": 1}) for path in sorted(TESTS.glob("light/*.onnx"))]
    others += [("quantised_files", path, {"batch": 1}) for path in sorted(arguments.quantised)]
    others += [("onnx_tests", path, {"batch": 1}) for path in sorted(TESTS.glob("*/*/model.onnx"))]
    for evidence, path, sizes in others:
        found = operators(path, **sizes)
        counts.seen[evidence] += bool(found)
        counts.of[evidence].update(found.keys())
    return counts


def choose(counts: Counts) -> list[str]:
    """The operators in the order of their rank."""
    seen = {operator for found in counts.of.values() for operator in found}
    known = [operator for operator in seen if knows(operator) and not operator.startswith(NOT_ON_TENSORS)]
    return sorted(known, key=counts.rank)[:SIZE]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", type=int, required=True)
    parser.add_argument("--graphs", type=Path, default=Path("data/onnx-graphs"))
    parser.add_argument("--splits", type=Path, default=Path("data/manifests/splits.json"))
    parser.add_argument("--cache", type=Path, default=Path(".work/benchmark-graphs"))
    parser.add_argument("--imported", type=Path, nargs="*", default=[], help="dataset roots that `nnirp import` made")
    parser.add_argument("--samples", type=int, default=4, help="at most, of a source configuration")
    parser.add_argument("--roots", type=Path, nargs="*", default=[])
    parser.add_argument("--quantised", type=Path, nargs="*", default=[], help="ONNX files made by ONNX Runtime's tools")
    parser.add_argument("--write", action="store_true", help=f"write {FILE}")
    arguments = parser.parse_args()
    pool = set(json.loads(arguments.splits.read_text())["train"]) if arguments.splits.is_file() else None
    counts = count(arguments, pool)
    chosen = choose(counts)
    print(describe(("torch", "onnx", "onnxscript", "transformers", "timm")))
    print("evidence:", ", ".join(f"{name} {number}" for name, number in counts.seen.items()))
    rows = [(i, op, *(counts.of[name][op] for name in EVIDENCE)) for i, op in enumerate(chosen, start=1)]
    print(markdown(("index", "operator", *EVIDENCE), rows))
    left = sorted({op for found in counts.of.values() for op in found} - set(chosen), key=counts.rank)
    print("not chosen:", ", ".join(f"{op}{'' if knows(op) else ' (no formula)'}" for op in left))
    if arguments.write:
        operators_in_order = [UNKNOWN, *chosen]
        content = {
            "version": arguments.version,
            "digest": vocabulary_digest(arguments.version, tuple(operators_in_order)),
            "rule": " ".join(__doc__.split("\n\n")[1].split()),
            "evidence": dict(counts.seen),
            "operators": operators_in_order,
        }
        FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
