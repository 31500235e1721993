"""Features of the project's weight-free export beside those of a user's own export of the same model, by builder or configuration.

The user's export has weights, folded batch normalisations, transposes and constants; the encoder's canonical form has to make both
the same nodes, edges and sizes.

    python benchmarks/canonical_agreement.py --selection full --write docs/tables/canonical-agreement.csv
"""

import argparse
import csv
import logging
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from catalog_samples import cached_graph, cached_user_export, shallow, smallest
from machine import describe, markdown
from nnirp.catalog import Sample, SourceConfiguration
from nnirp.features import EncodedGraph, encode
from nnirp.graphs.reading import read_onnx

FIELDS = ("x", "op", "edge_index", "edge_attr", "u", "memory")
HEADER = ("id", "configuration", "builder", "weight-free nodes", "user nodes", "canonical nodes", "equal", "difference")


def differing(a: EncodedGraph, b: EncodedGraph) -> list[str]:
    """The features in which two graphs differ."""
    return [name for name in FIELDS if not np.array_equal(getattr(a, name), getattr(b, name))]


def difference(a: EncodedGraph, b: EncodedGraph) -> str:
    """One line: which features differ, and which operators only one of the two has."""
    fields = differing(a, b)
    ours, theirs = Counter(a.op_names), Counter(b.op_names)
    only = [f"{'-' if more is ours else '+'}{n} {op}" for more, other in ((ours, theirs), (theirs, ours)) for op, n in sorted((more - other).items())]  # fmt: skip
    return " ".join([", ".join(fields), *only])


def chosen(selection: str, ids: list[int], every: bool) -> Iterator[tuple[SourceConfiguration, Sample]]:
    """Every configuration, or the first of each builder and model type."""
    seen = set()
    for configuration, sample in smallest(selection, ids):
        kind = (
            configuration.builder,
            configuration.model_type if every else None,
            configuration.name if every else None,
        )
        if kind not in seen:
            seen.add(kind)
            yield configuration, sample


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--selection", default="full")
    parser.add_argument("--ids", type=int, nargs="*", default=[])
    parser.add_argument("--every", action="store_true", help="every configuration, not one a builder")
    parser.add_argument("--cache", type=Path, default=Path(".work/benchmark-graphs"))
    parser.add_argument("--write", type=Path, help="CSV to write")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    rows = []
    for configuration, sample in chosen(arguments.selection, arguments.ids, arguments.every):
        start = (configuration.id, configuration.name, configuration.builder)
        try:
            small = shallow(configuration, sample)
            bare = read_onnx(cached_graph(configuration, small, arguments.cache))
            user = read_onnx(cached_user_export(configuration, small, arguments.cache))
            a, b = encode(bare, batch=sample.batch), encode(user, batch=sample.batch)
        except Exception as error:
            rows.append((*start, "", "", "", "failed", f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"))
        else:
            equal = not differing(a, b)
            nodes = (len(bare.graph.node), len(user.graph.node), len(a.op))
            rows.append((*start, *nodes, "yes" if equal else "no", "" if equal else difference(a, b)))
        print(*rows[-1], file=sys.stderr, flush=True)
    if arguments.write:
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
        with arguments.write.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    equal = sum(row[6] == "yes" for row in rows)
    print(describe(("torch", "onnx", "onnxscript", "transformers", "timm")))
    print(f"{equal} of {len(rows)} equal ({equal / max(len(rows), 1):.1%})")
    print(markdown(HEADER, [row for row in rows if row[6] != "yes"]))
    return 0 if equal >= 0.95 * len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
