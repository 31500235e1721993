"""Which settings of a predictor carry to unseen families of nn-Meter, told without the family that is tested later.

The 13 families are the points of the projective plane of order 3: its 13 lines have 4 families each, and any two families share exactly
one line. Every fit leaves out the families of a line and is asked about them. For a family that is held out in
`nn_meter_predictors.py`, the choice may use the errors on the other three families of each of its 4 lines: 12 families, each once,
predicted by fits that saw neither them nor it. Settings that win for all 13 families can be a default without having been chosen on test.

    python benchmarks/nn_meter_choices.py <root> <file>.jsonl --settings '{}' '{"context": "none"}' [--device adreno640 --labels <folder>]

A fit is one line of the file; a second run with the same file fits what is missing. No error of a single family is printed.
"""

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from machine import describe, markdown
from nn_meter_predictors import KEY, device_store, fit, identity, read_lines, thin
from nnirp.layers.store import GraphStore
from nnirp.splits.index import Fold

DIFFERENCES = (0, 1, 3, 9)  # every number from 1 to 12 is the difference of one pair modulo 13
TESTED = 100  # graphs of each family


def lines_of(families: list[str]) -> list[tuple[str, ...]]:
    """The 13 lines of the plane whose points are 13 families."""
    return [tuple(families[(i + d) % 13] for d in DIFFERENCES) for i in range(13)]


def folds(store: GraphStore) -> list[Fold]:
    """One for each line: its families are tested."""
    family = store.samples.set_index("sample")["family"]
    made = []
    for number, line in enumerate(lines_of(sorted(family.unique()))):
        left, held = family.index[~family.isin(line)], family.index[family.isin(line)]
        (test,) = thin(held, family, TESTED * len(line))
        made.append(Fold(name=str(number), train=tuple(left), val=(), test=tuple(test)))
    return made


def summary(lines: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each settings: validation error, error on families left out, and for how many families it is the choice."""
    rows = [
        (line["predictor"], line["device"], line["train"], json.dumps(line["settings"]), line["validation"]["mape_percent"], line["fold"], family, error)
        for line in lines
        for family, error in line["test"]["mape_percent_by_family"].items()
    ]  # fmt: skip
    cells = pd.DataFrame(
        rows, columns=["predictor", "device", "train", "settings", "validation", "line", "family", "error"]
    )
    found = []
    for (predictor, device, train), group in cells.groupby(["predictor", "device", "train"]):
        used = group.groupby("line")["settings"].nunique() == group["settings"].nunique()
        group = group[group["line"].map(used)]  # lines that all settings have been fitted on
        if group.empty:
            continue
        others = {
            f: group[(group["family"] != f) & group["line"].isin(group.loc[group["family"] == f, "line"])]
            for f in group["family"].unique()
        }
        choices = [o.groupby("settings")["error"].mean().idxmin() for o in others.values() if len(o)]
        for settings, part in group.groupby("settings"):
            error = part["error"]
            geometric = float(np.exp(np.log(error).mean()))
            figures = (part["validation"].mean(), error.mean(), error.median(), geometric)
            counted = f"{choices.count(settings)} of {len(choices)}"
            found.append((predictor, device, str(train), settings, str(part["line"].nunique()), *(f"{v:.2f} %" for v in figures), counted))  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="what `nnirp import nn-meter` wrote")
    parser.add_argument("output", type=Path, help="a file of JSON lines, one a fit")
    parser.add_argument("--predictor", default="additive_roofline")
    parser.add_argument("--settings", nargs="*", type=json.loads, default=[{}], help="each a JSON object")
    parser.add_argument("--device", default="cortex_a76", help="whose latencies")
    parser.add_argument("--labels", type=Path, help="folder with labels.parquet, where the root has another device's")
    parser.add_argument("--lines", nargs="+", type=int, default=list(range(13)))
    parser.add_argument("--train", type=int, default=720, help="training graphs a fit, at most")
    parser.add_argument("--validation", type=int, default=270, help="validation graphs a fit, at most")
    arguments = parser.parse_args()
    print(describe(["torch", "torch-geometric", "numpy"]))
    done = {identity(line) for line in read_lines(arguments.output)}
    store = device_store(arguments.root, arguments.device, arguments.labels)
    made = folds(store)
    for number, settings in itertools.product(arguments.lines, arguments.settings):
        values = (arguments.device, arguments.predictor, "lines", made[number].name, 0, arguments.train, settings)
        key = dict(zip(KEY, values, strict=True))
        if identity(key) in done:
            continue
        line = fit(store, made[number], key, arguments.validation)
        if line is not None:
            with arguments.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, sort_keys=True) + "\n")
    header = ("predictor", "device", "graphs", "settings", "lines", "validation", "left out, mean", "median", "geometric mean", "chosen for")  # fmt: skip
    print("\n" + markdown(header, summary(read_lines(arguments.output))))


if __name__ == "__main__":
    main()
