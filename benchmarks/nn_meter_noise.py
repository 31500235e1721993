"""How well nn-Meter's latencies can be predicted at all: networks that it measured more than once under several names.

Graphs that are equal operator by operator in every feature form a group (`nnirp.splits.hashing`). A perfect predictor gives each the mean
of its group's true distribution; its error is estimated without bias for normal noise as the mean of |y_i / mean - 1| · sqrt(k / (k - 1)) over the k
members of each group. Only families that have such networks say anything.

    python benchmarks/nn_meter_noise.py <root> <folder with the Parquet tables>
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from machine import describe, markdown
from nnirp.importers.nn_meter import source_row
from nnirp.importers.nn_meter_source import read_tables
from nnirp.layers.store import pack
from nnirp.splits.hashing import graph_hashes


def repeated(latency: pd.Series, group: pd.Series) -> pd.Series:
    """The error in percent that a perfect predictor is expected to have on each graph of a group of two or more."""
    measured = latency[latency > 0]
    each = measured.groupby(group.loc[measured.index])
    count = each.transform("size")
    error = 100 * (measured / each.transform("mean") - 1).abs() * np.sqrt(count / (count - 1).clip(lower=1))
    return error[count > 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="what `nnirp import nn-meter` wrote")
    parser.add_argument("source", type=Path, help="the folder that it was imported from")
    arguments = parser.parse_args()
    store = pack(arguments.root)
    sources = [source_row(name) for name in store.samples["sample"]]
    group, family = pd.Series(graph_hashes(store).exact), store.samples["family"].reset_index(drop=True)
    rows = []
    for device, latency in read_tables(arguments.source).labels.items():
        error = repeated(pd.Series(latency[sources]), group)
        for name, part in [("all", error), *error.groupby(family.loc[error.index])]:
            figures = f"{part.mean():.2f} %", f"{part.median():.2f} %", f"{100 * (part <= 10).mean():.1f} %"
            rows.append((device, name, str(len(part)), str(group.loc[part.index].nunique()), *figures))
    print(describe(["numpy", "pandas"]))
    print("\n" + markdown(("device", "family", "graphs", "networks", "MAPE", "median", "within 10 %"), rows))


if __name__ == "__main__":
    main()
