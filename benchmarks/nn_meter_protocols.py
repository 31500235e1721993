"""What a split does to the same untuned predictors on nn-Meter's phone latencies, beside the published table.

    nnirp import nn-meter <folder with the Parquet tables> <root>
    python benchmarks/nn_meter_protocols.py <root> <folder with the Parquet tables>

The published table's FLOPs row is that of a count in which convolutions have no input channels and depthwise ones no kernel:
`count_without_input_channels` makes that count straight from the tables, with the line through log2 that its name suggests.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from machine import describe, markdown
from nnirp.evaluation.evaluator import evaluate, samples_table
from nnirp.importers.nn_meter import source_row
from nnirp.importers.nn_meter_source import WINDOW, Tables, read_tables
from nnirp.importers.nn_meter_statistics import family_coverage
from nnirp.layers.store import GraphStore, pack
from nnirp.predictors import create
from nnirp.splits.index import Fold, Index, read_index
from nnirp.training.matrix import prediction_frame

PREDICTORS = ("flops", "histogram_ridge", "count_ridge")
PROTOCOLS = ("random", "family")
PUBLISHED = {
    ("flops", "random"): (42.1, 16.0, None),
    ("flops", "family"): (48.9, 15.3, 48.5),
    ("count_ridge", "random"): (5.0, 87.6, None),
    ("count_ridge", "family"): (144.8, 23.6, 38.4),
}


class Scored(NamedTuple):
    """Pooled over the folds, in percent: MAPE, share of predictions within 10 %, median of the families' MAPE."""

    mape: float
    within_10: float
    median_family: float


def scored(predictor: str, index: Index, store: GraphStore) -> Scored:
    """A predictor of the project, trained and asked fold by fold."""
    position = pd.Series(np.arange(len(store)), index=store.samples["sample"].to_numpy())

    def predict(fold: Fold) -> pd.DataFrame:
        train, val, test = (
            store.subset(position.loc[list(names)].to_numpy()) for names in (fold.train, fold.val, fold.test)
        )
        model = create(predictor)
        model.fit(train, val)
        return prediction_frame(model, test)

    return _score(predict, index, store)


def scored_line(log2_count: np.ndarray, index: Index, store: GraphStore) -> Scored:
    """log2 of the latency on a line through log2 of a count [graphs of the store], fitted to the training part."""
    table = samples_table(store).assign(count=log2_count).set_index("sample")

    def predict(fold: Fold) -> pd.DataFrame:
        train = table.loc[list(fold.train)]
        slope, intercept = np.polyfit(train["count"], train["y_runtime_ms"], 1)
        test = table.loc[list(fold.test)]
        return pd.DataFrame({"sample": test.index, "target": "runtime_ms", "mean": slope * test["count"] + intercept})

    return _score(predict, index, store)


def _score(predict: Callable[[Fold], pd.DataFrame], index: Index, store: GraphStore) -> Scored:
    frames = [predict(fold).assign(fold=fold.name) for fold in index.folds]
    scores = evaluate(pd.concat(frames, ignore_index=True), samples_table(store), index)
    rows = scores.rows[(scores.rows["part"] == "test") & (scores.rows["metric"] == "mape_percent")]
    families = rows[rows["scope"] == "family"]["value"]
    return Scored(scores.value(), scores.value("within_10_percent"), float(families.median()))


def count_without_input_channels(tables: Tables) -> np.ndarray:
    """float64 [G]: |Y| · k_h · k_w of each convolution, K · |Y| of each matrix product, |Y| of every other operator."""
    column = dict(zip(WINDOW, tables.window.T.astype(np.float64), strict=True))
    size = np.where(tables.outputs == 0, 1, np.abs(tables.outputs)).astype(np.float64).prod(axis=1)
    factor = {"Conv2D": column["kernel_h"] * column["kernel_w"], "MatMul": tables.inputs[:, 1], "Placeholder": 0 * size}
    for name, values in factor.items():
        rows = tables.op == tables.operators.index(name)
        size[rows] *= values[rows]
    graph = np.repeat(np.arange(len(tables)), np.diff(tables.node_ptr))
    return np.bincount(graph, weights=size, minlength=len(tables))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="what `nnirp import nn-meter` wrote")
    parser.add_argument("source", type=Path, help="the folder that it was imported from")
    arguments = parser.parse_args()
    tables, store = read_tables(arguments.source), pack(arguments.root)
    indices = {name: read_index(arguments.root / "splits" / f"{name}.json") for name in PROTOCOLS}
    print(describe(["numpy", "scikit-learn", "torch"]))
    print(f"\n{len(store)} graphs\n")
    coverage = family_coverage(tables)
    print(markdown(["family", "distinct", "weighted"], [(f, f"{d:.3f}", f"{w:.3f}") for f, (d, w) in coverage.items()]))
    rows = []
    for predictor in PREDICTORS:
        for protocol, index in indices.items():
            published = PUBLISHED.get((predictor, protocol), (None, None, None))
            rows.append((predictor, protocol, *map(_cell, scored(predictor, index, store)), *map(_cell, published)))
    without = np.log2(count_without_input_channels(tables)[[source_row(name) for name in store.samples["sample"]]])
    for protocol, index in indices.items():
        found = map(_cell, scored_line(without, index, store))
        rows.append(("line, no input channels", protocol, *found, *map(_cell, PUBLISHED["flops", protocol])))
    header = ["predictor", "protocol", "MAPE", "within 10 %", "median family"]
    print("\n" + markdown([*header, *(f"{name}, published" for name in header[2:])], rows))


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"


if __name__ == "__main__":
    main()
