"""Every predictor on nn-Meter's phone latencies: a random split beside each family held out, with few training graphs.

    nnirp import nn-meter <folder with the Parquet tables> <root>
    python benchmarks/nn_meter_predictors.py <root> <file>.jsonl [--predictors a b] [--protocols random family] [--seeds 0 1 2]
    python benchmarks/nn_meter_predictors.py <root> <file>.jsonl --device adreno640 --labels <folder with the Parquet tables>

Each fit is the project's own loop on a fold of the root's index files: the graphs that are not tested, evenly over their families by a
hash of the sample's name, train (the first of each family) or validate (the next); every test graph is scored. A fit is one line of
the file, written when it is done: a second run with the same file fits what is missing and prints the tables of all. Nothing here
reads a test label before the fit is done. Another device has the graphs and folds of the root and its own latencies.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from machine import describe, markdown
from nnirp.evaluation.metrics import ape_percent, interval_coverage_percent, within_percent
from nnirp.evaluation.statistics import bootstrap_mean
from nnirp.importers.nn_meter import source_row
from nnirp.importers.nn_meter_source import read_tables
from nnirp.layers.store import GraphSet, GraphStore, pack
from nnirp.predictors import create, names
from nnirp.splits.hashing import fraction
from nnirp.splits.index import Fold, read_index

KEY = ("device", "predictor", "protocol", "fold", "seed", "train", "settings")
TARGET = "runtime_ms"
OWN, PUBLISHED = "additive_roofline", ("brp_nas", "dippm", "nnlp")
# (device, protocol, figure of `figures`, whether it is a least or a most, percent): what the project aims at
AIMS = (
    ("cortex_a76", "family", "mean", "at most", 3.0),
    ("cortex_a76", "family", "worst", "at most", 7.0),
    ("cortex_a76", "family", "within 10 %", "at least", 96.0),
    ("cortex_a76", "random", "mean", "at most", 1.5),
    ("adreno640", "family", "mean", "at most", 4.5),
)


def thin(samples: Sequence[str], family: pd.Series, *limits: int) -> list[list[str]]:
    """Disjoint parts, each with as many samples of every family as there are, in the order of a hash of their names.

    Args:
        samples: names.
        family: of every sample, by name.
        limits: the most that each part has, of all families together.
    """
    ranked = pd.DataFrame({"family": family.loc[list(samples)].to_numpy()}, index=list(samples))
    ranked["hash"] = [fraction(0, f"thin {name}") for name in samples]
    ranked = ranked.sort_values("hash")
    ranked["rank"] = ranked.groupby("family").cumcount()
    order = ranked.sort_values(["rank", "hash"]).index
    return [sorted(part) for part in np.split(order, np.cumsum(limits))[: len(limits)]]


def device_store(root: Path, device: str, source: Path | None) -> GraphStore:
    """The graphs of the root; with the latencies of a device of the source's tables instead of the root's where a source is given."""
    store = pack(root)
    if source is None:
        return store
    latency = read_tables(source).labels[device][[source_row(name) for name in store.samples["sample"]]]
    measured = np.log2(np.where(latency > 0, latency, np.nan))
    return store.all().relabel(measured[:, None], (TARGET,)).store


def fit(store: GraphStore, fold: Fold, key: dict[str, Any], validation: int) -> dict[str, Any] | None:
    """One line of the file: what was fitted, and its errors in percent on validation and test; None where nothing tested is measured."""
    samples = store.samples.set_index("sample")
    position = pd.Series(np.arange(len(store)), index=samples.index)
    measured = set(samples.index[np.isfinite(store.y[:, store.targets.index(TARGET)])])
    left, test = ([name for name in part if name in measured] for part in ((*fold.train, *fold.val), fold.test))
    if not test:
        return None
    chosen = (*thin(left, samples["family"], key["train"], validation), test)
    kept = dict(zip(("train", "val", "test"), chosen, strict=True))
    train, val, test = (store.subset(position.loc[list(part)].to_numpy()) for part in chosen)
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


class Figures(NamedTuple):
    """Test errors of one predictor with one protocol: means over seeds of means over folds, in percent."""

    device: str
    protocol: str
    train: int
    predictor: str
    folds: int
    seeds: int
    mean: float
    deviation: float
    validation: float
    median: float
    worst: float
    worst_fold: str
    within_10: float
    coverage: float
    parameters: int
    cpu_seconds: float
    by_cluster: pd.Series


def figures(lines: Iterable[dict[str, Any]]) -> Iterator[Figures]:
    """One for each device, protocol, size, predictor and its settings; by_cluster has the mean error of each family over the seeds."""
    key = ("device", "protocol", "train", "predictor", "settings")
    rows = sorted(lines, key=lambda line: json.dumps([line[name] for name in key]))
    for group, found in itertools.groupby(rows, key=lambda line: [line[name] for name in key]):
        (device, protocol, train, predictor, settings), fits = group, list(found)
        table = pd.DataFrame(
            [line["test"] | {name: line[name] for name in ("fold", "seed", "cpu_seconds")} for line in fits]
        )
        seeds = table.groupby("seed")[["mape_percent", "within_10_percent", "coverage_percent"]].mean()
        folds = table.groupby("fold")["mape_percent"].mean()
        clusters = pd.DataFrame([line["test"]["mape_percent_by_family"] for line in fits]).mean()
        yield Figures(
            device,
            protocol,
            train,
            predictor + "".join(f", {name} {value}" for name, value in settings.items()),
            len(folds),
            len(seeds),
            seeds["mape_percent"].mean(),
            seeds["mape_percent"].std(),
            float(np.mean([line["validation"]["mape_percent"] for line in fits])),
            folds.median(),
            folds.max(),
            str(folds.idxmax()),
            seeds["within_10_percent"].mean(),
            seeds["coverage_percent"].mean(),
            max(line["parameters"] for line in fits),
            table["cpu_seconds"].mean(),
            clusters,
        )


def cells(row: Figures) -> tuple[str, ...]:
    """A row of the table."""
    spread = f" ± {row.deviation:.1f}" if row.seeds > 1 else ""
    return (
        row.predictor,
        f"{row.folds} × {row.seeds}",
        f"{row.validation:.1f} %",
        f"{row.mean:.1f}{spread} %",
        f"{row.median:.1f} %",
        f"{row.worst:.1f} % ({row.worst_fold})" if row.folds > 1 else "",
        f"{row.within_10:.1f} %",
        f"{row.coverage:.0f} %",
        f"{row.parameters}",
        f"{row.cpu_seconds:.0f}",
    )


HEADER = ("predictor", "folds × seeds", "validation", "MAPE", "median fold", "worst fold", "within 10 %", "coverage", "parameters", "CPU s")  # fmt: skip


def differences(rows: Sequence[Figures]) -> Iterator[tuple[str, ...]]:
    """The project's predictor minus every other, as the mean over families and its 95 % interval (bootstrap over families)."""
    own = next((row for row in rows if row.predictor == OWN), None)
    for row in rows:
        if own is not None and row is not own and set(row.by_cluster.index) == set(own.by_cluster.index):
            each = (own.by_cluster - row.by_cluster).to_numpy()
            low, high = bootstrap_mean(each)
            kind = "published" if row.predictor in PUBLISHED else ""
            yield row.predictor, kind, f"{each.mean():+.1f}", f"{low:+.1f} to {high:+.1f}"


def aims(rows: Iterable[Figures]) -> Iterator[tuple[str, ...]]:
    """What is aimed at beside what the project's predictor has."""
    for row, (device, protocol, name, bound, limit) in itertools.product(rows, AIMS):
        if (row.device, row.protocol, row.predictor) == (device, protocol, OWN):
            value = {"mean": row.mean, "worst": row.worst, "within 10 %": row.within_10}[name]
            reached = value <= limit if bound == "at most" else value >= limit
            what = f"{device}, {protocol}, {row.train} graphs, {row.folds} folds: {name}"
            yield what, f"{bound} {limit} %", f"{value:.2f} %", "reached" if reached else "missed"


def print_tables(lines: Sequence[dict[str, Any]]) -> None:
    """All tables of the fits of a file."""
    found = sorted(figures(lines), key=lambda row: (row.device, row.protocol, row.train, row.mean))
    for (device, protocol, train), group in itertools.groupby(found, key=lambda row: row[:3]):
        rows = list(group)
        print(
            f"\n{device}, {protocol}, at most {train} training graphs a fold\n\n" + markdown(HEADER, map(cells, rows))
        )
        against = list(differences(rows))
        if against:
            print(
                f"\n{OWN} minus each, mean over families\n\n" + markdown(("", "", "points", "95 % interval"), against)
            )
    print("\n" + markdown(("figure", "aim", OWN, ""), aims(found)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="what `nnirp import nn-meter` wrote")
    parser.add_argument("output", type=Path, help="a file of JSON lines, one a fit")
    parser.add_argument("--predictors", nargs="*", default=names())
    parser.add_argument("--protocols", nargs="+", default=["family", "random"])
    parser.add_argument("--folds", nargs="+", help="only these")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--device", default="cortex_a76", help="whose latencies")
    parser.add_argument("--labels", type=Path, help="folder with labels.parquet, where the root has another device's")
    parser.add_argument("--train", type=int, default=2000, help="training graphs a fold, at most")
    parser.add_argument("--validation", type=int, default=400, help="validation graphs a fold, at most")
    parser.add_argument("--settings", type=json.loads, default={}, help="of the predictors, as JSON")
    arguments = parser.parse_args()
    print(describe(["torch", "torch-geometric", "lightgbm", "numpy"]))
    done = {identity(line) for line in read_lines(arguments.output)}
    store = device_store(arguments.root, arguments.device, arguments.labels)
    for predictor, protocol, seed in itertools.product(arguments.predictors, arguments.protocols, arguments.seeds):
        for fold in read_index(arguments.root / "splits" / f"{protocol}.json").folds:
            values = (arguments.device, predictor, protocol, fold.name, seed, arguments.train, arguments.settings)
            key = dict(zip(KEY, values, strict=True))
            if identity(key) in done or fold.name not in (arguments.folds or [fold.name]):
                continue
            line = fit(store, fold, key, arguments.validation)
            if line is None:
                continue
            with arguments.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, sort_keys=True) + "\n")
            print(f"{predictor} {protocol} {fold.name} {seed}: {line['test']['mape_percent']:.2f} %", flush=True)
    print_tables(read_lines(arguments.output))


if __name__ == "__main__":
    main()
