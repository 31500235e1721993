"""Every predictor on nn-Meter's phone latencies: a random split beside each family held out, with few training graphs.

    nnirp import nn-meter <folder with the Parquet tables> <root>
    python benchmarks/nn_meter_predictors.py <root> <file>.jsonl [--predictors a b] [--protocols random family] [--seeds 0 1 2]

Each fit is the project's own loop on a fold of the root's index files, whose training and validation parts are thinned evenly over
the families by a hash of the sample's name; every test graph is scored. A fit is one line of the file; a second run with the
same file fits what is missing and prints the table of all. Nothing here reads a test label before the fit is done.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from machine import describe, markdown
from nnirp.evaluation.metrics import ape_percent, interval_coverage_percent, within_percent
from nnirp.layers.store import GraphSet, GraphStore, pack
from nnirp.predictors import create, names
from nnirp.splits.hashing import fraction
from nnirp.splits.index import Fold, read_index

KEY = ("predictor", "protocol", "fold", "seed", "train", "settings")
TARGET = "runtime_ms"


def thin(samples: Sequence[str], family: pd.Series, limit: int) -> list[str]:
    """At most `limit` samples, as many of each family as there are, those whose names hash lowest.

    Args:
        samples: names.
        family: of every sample, by name.
        limit: of all families together.
    """
    ranked = pd.DataFrame({"family": family.loc[list(samples)].to_numpy()}, index=list(samples))
    ranked["hash"] = [fraction(0, f"thin {name}") for name in samples]
    ranked = ranked.sort_values("hash")
    ranked["rank"] = ranked.groupby("family").cumcount()
    return sorted(ranked.sort_values(["rank", "hash"]).index[:limit])


def fit(store: GraphStore, fold: Fold, key: dict[str, Any], validation: int) -> dict[str, Any]:
    """One line of the file: what was fitted, and its errors in percent on validation and test."""
    samples = store.samples.set_index("sample")
    position = pd.Series(np.arange(len(store)), index=samples.index)
    kept = {
        "train": thin(fold.train, samples["family"], key["train"]),
        "val": thin(fold.val, samples["family"], validation),
        "test": fold.test,
    }
    train, val, test = (store.subset(position.loc[list(part)].to_numpy()) for part in kept.values())
    model = create(key["predictor"], **key["settings"])
    started = time.process_time()
    model.fit(train, val, seed=key["seed"])
    seconds = time.process_time() - started
    errors = {part: _errors(model, graphs) for part, graphs in (("validation", val), ("test", test))}
    sizes = {"graphs": {part: len(part_samples) for part, part_samples in kept.items()}}
    return key | sizes | {"cpu_seconds": round(seconds, 1), "parameters": model.parameter_count()} | errors


def _errors(model: Any, graphs: GraphSet) -> dict[str, Any]:
    column = graphs.targets.index(TARGET)
    prediction = model.predict(graphs)
    y, mean = graphs.y[:, column].astype(np.float64), prediction.mean[:, column]
    error = pd.Series(ape_percent(y, mean))
    shares = {f"within_{t}_percent": within_percent(y, mean, t) for t in (5, 10, 20)}
    covered = interval_coverage_percent(y, prediction.low[:, column], prediction.high[:, column])
    families = error.groupby(graphs.samples["family"].to_numpy()).mean()
    found = {"mape_percent": error.mean(), "median_ape_percent": error.median(), "coverage_percent": covered} | shares
    return {name: round(float(value), 3) for name, value in found.items()} | {
        "mape_percent_by_family": families.round(3).to_dict()
    }


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The fits that a file holds."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def identity(line: dict[str, Any]) -> str:
    """Equal for two lines about the same fit."""
    return json.dumps([line[name] for name in KEY], sort_keys=True)


def summary(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """A row of the table for each predictor, settings, protocol and size: means over seeds of means over folds, and the worst fold."""
    key = ("predictor", "settings", "protocol", "train")
    rows = sorted(lines, key=lambda line: json.dumps([line[name] for name in key]))
    for group, found in itertools.groupby(rows, key=lambda line: [line[name] for name in key]):
        predictor, settings, protocol, train = group
        table = pd.DataFrame(
            [{"fold": f["fold"], "seed": f["seed"], "seconds": f["cpu_seconds"], **f["test"]} for f in found]
        )
        seeds = table.groupby("seed")[["mape_percent", "within_10_percent", "coverage_percent"]].mean()
        folds = table.groupby("fold")["mape_percent"].mean()
        spread = f" ± {seeds['mape_percent'].std():.1f}" if len(seeds) > 1 else ""
        yield (
            predictor + "".join(f", {name} {value}" for name, value in settings.items()),
            f"{protocol}, {train} graphs",
            f"{len(folds)} × {len(seeds)}",
            f"{seeds['mape_percent'].mean():.1f}{spread} %",
            f"{folds.median():.1f} %",
            f"{folds.max():.1f} % ({folds.idxmax()})" if len(folds) > 1 else "",
            f"{seeds['within_10_percent'].mean():.1f} %",
            f"{seeds['coverage_percent'].mean():.0f} %",
            f"{table['seconds'].mean():.0f} s",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="what `nnirp import nn-meter` wrote")
    parser.add_argument("output", type=Path, help="a file of JSON lines, one a fit")
    parser.add_argument("--predictors", nargs="+", default=names())
    parser.add_argument("--protocols", nargs="+", default=["random", "family"])
    parser.add_argument("--folds", nargs="+", help="only these")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--train", type=int, default=2000, help="training graphs a fold, at most")
    parser.add_argument("--validation", type=int, default=400, help="validation graphs a fold, at most")
    parser.add_argument("--settings", type=json.loads, default={}, help="of the predictors, as JSON")
    arguments = parser.parse_args()
    print(describe(["torch", "torch-geometric", "lightgbm", "numpy"]))
    done = {identity(line) for line in read_lines(arguments.output)}
    store = pack(arguments.root)
    for protocol, predictor, seed in itertools.product(arguments.protocols, arguments.predictors, arguments.seeds):
        for fold in read_index(arguments.root / "splits" / f"{protocol}.json").folds:
            values = (predictor, protocol, fold.name, seed, arguments.train, arguments.settings)
            key = dict(zip(KEY, values, strict=True))
            if identity(key) in done or fold.name not in (arguments.folds or [fold.name]):
                continue
            line = fit(store, fold, key, arguments.validation)
            with arguments.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, sort_keys=True) + "\n")
            print(f"{predictor} {protocol} {fold.name} {seed}: {line['test']['mape_percent']:.2f} %", flush=True)
    header = (
        "predictor",
        "protocol",
        "folds × seeds",
        "MAPE",
        "median fold",
        "worst fold",
        "within 10 %",
        "coverage",
        "CPU",
    )
    print("\n" + markdown(header, summary(read_lines(arguments.output))))


if __name__ == "__main__":
    main()
