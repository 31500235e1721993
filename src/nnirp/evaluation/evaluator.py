"""Scores a table of predictions, wherever it was made, against the measurements of an index file's samples.

Predictions: columns sample, target, mean[, low, high] in log2, and where there is more than one: predictor, protocol, fold,
seed. Each (predictor, protocol, seed, fold, target) in it must have exactly the fold's measured test samples, and may have
exactly its validation samples as well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nnirp.errors import InputError
from nnirp.evaluation.metrics import HIGHER_IS_BETTER, ape_percent, score
from nnirp.splits.index import Fold, Index

KEY = ["predictor", "protocol", "seed", "part", "target"]
SAMPLE_COLUMNS = ("sample", "configuration", "cluster", "sub_family", "family")


@dataclass(frozen=True)
class Scores:
    """rows: tidy (predictor, protocol, seed, part, target, scope, group, metric, value, n); samples: one row a prediction.

    Scopes: pooled, family, cluster (group names which), mean_over_clusters, mean_over_families, worst_family.
    """

    rows: pd.DataFrame
    samples: pd.DataFrame

    def value(self, metric: str = "mape_percent", scope: str = "pooled", **where: Any) -> float:
        """The mean over the rows that match, such as value("kendall", "family", group="conv", seed=0)."""
        rows = self.rows[(self.rows["metric"] == metric) & (self.rows["scope"] == scope)]
        for column, wanted in ({"part": "test"} | where).items():
            rows = rows[rows[column] == wanted]
        return float(rows["value"].mean())


def samples_table(store: Any) -> pd.DataFrame:
    """The store's samples with log2 measurements as `y_<target>`, and `nodes`, `flops_log2`: what `evaluate` reads."""
    table = store.samples.reset_index(drop=True).copy()
    for j, target in enumerate(store.targets):
        table[f"y_{target}"] = np.asarray(store.y[:, j], dtype=np.float64)
    table["nodes"] = np.diff(np.asarray(store.node_ptr))
    table["flops_log2"] = np.asarray(store.u[:, 2], dtype=np.float64)
    return table


def evaluate(predictions: pd.DataFrame, samples: pd.DataFrame, index: Index) -> Scores:
    """Scores predictions of one protocol; several predictors, seeds and folds may be in the table.

    samples: from `samples_table`, or any frame with sample, configuration, cluster, sub_family, family, y_<target>.
    Raises InputError naming the first row that is missing, duplicate, unknown or not finite, or a fold without rows.
    """
    table = _checked_columns(predictions, samples, index)
    if table.empty:
        raise InputError("the predictions table has no rows; run `nnirp train` or write one row per test sample")
    for name in table["fold"].unique():
        index.fold(name)
    measured = samples.set_index("sample")
    found = [
        _match(group, dict(zip(["predictor", "seed", "target", "fold"], key, strict=True)), measured, index)
        for key, group in table.groupby(["predictor", "seed", "target", "fold"], sort=True)
    ]
    _refuse_missing_folds(table, index)
    matched = pd.concat(found, ignore_index=True)
    matched["ape_percent"] = ape_percent(matched["y"].to_numpy(), matched["mean"].to_numpy())
    matched["error_log2"] = matched["mean"] - matched["y"]
    rows = [
        row
        for key, group in matched.groupby(KEY, sort=True)
        for row in _score_group(dict(zip(KEY, key, strict=True)), group)
    ]
    return Scores(pd.DataFrame(rows), matched)


def evaluate_many(predictions: pd.DataFrame, samples: pd.DataFrame, indices: Mapping[str, Index]) -> Scores:
    """`evaluate` for each protocol in the table. Raises InputError for a protocol without an index."""
    if "protocol" not in predictions:
        raise InputError(f"the predictions table has no column 'protocol'; name one of: {', '.join(indices)}")
    parts = []
    for protocol, group in predictions.groupby("protocol", sort=True):
        if protocol not in indices:
            raise InputError(f"no index for protocol {protocol!r}; there is one for: {', '.join(indices)}")
        parts.append(evaluate(group, samples, indices[str(protocol)]))
    if not parts:
        raise InputError("the predictions table has no rows; run `nnirp train` or write one row per test sample")
    return Scores(*(pd.concat([getattr(p, f) for p in parts], ignore_index=True) for f in ("rows", "samples")))


def _checked_columns(predictions: pd.DataFrame, samples: pd.DataFrame, index: Index) -> pd.DataFrame:
    for frame, wanted, what in (
        (predictions, ("sample", "target", "mean"), "predictions table"),
        (samples, SAMPLE_COLUMNS, "samples table"),
    ):
        absent = [c for c in wanted if c not in frame]
        if absent:
            raise InputError(f"the {what} has no column {absent[0]!r}; expected at least {', '.join(wanted)}")
    table = predictions.reset_index(drop=True).copy()
    for column, default in (
        ("predictor", "unnamed"),
        ("protocol", index.protocol),
        ("seed", 0),
        ("low", np.nan),
        ("high", np.nan),
    ):
        if column not in table:
            table[column] = default
    if "fold" not in table:
        if len(index.folds) > 1:
            names = ", ".join(f.name for f in index.folds)
            raise InputError(
                f"protocol {index.protocol!r} has the folds {names}: the predictions table needs a column 'fold'"
            )
        table["fold"] = index.folds[0].name
    for column in ("mean", "low", "high"):
        numbers = pd.to_numeric(table[column], errors="coerce")
        bad = table.index[numbers.isna() & table[column].notna()]
        if len(bad):
            row = table.loc[bad[0]]
            raise InputError(f"{_row(row)}: {column} is {row[column]!r}, expected a number: log2 of the target")
        table[column] = numbers.astype(np.float64)
    for column in ("sample", "target", "predictor", "protocol", "fold", "seed"):
        if table[column].isna().any():
            raise InputError(f"row {int(table.index[table[column].isna()][0])} of the predictions has no {column!r}")
    table["fold"] = table["fold"].astype(str)
    other = table.loc[table["protocol"] != index.protocol, "protocol"]
    if len(other):
        raise InputError(f"the predictions are for protocol {other.iloc[0]!r}, the index is {index.protocol!r}")
    for target in table["target"].unique():
        if f"y_{target}" not in samples:
            known = ", ".join(c[2:] for c in samples if str(c).startswith("y_"))
            raise InputError(f"target {target!r} was not measured; the data set has: {known}")
    _refuse_not_finite(table)
    return table


def _row(row: Any) -> str:
    return f"sample {row['sample']!r}, target {row['target']!r}, predictor {row['predictor']!r}, seed {row['seed']}"


def _refuse_not_finite(table: pd.DataFrame) -> None:
    low, high = table["low"], table["high"]
    bad = {
        "mean is not finite": ~np.isfinite(table["mean"]),
        "low or high is not finite": np.isinf(low) | np.isinf(high) | (low.isna() != high.isna()),
        "low is above high": low > high,
    }
    for what, rows in bad.items():
        if rows.any():
            first = table[rows].iloc[0]
            values = f"mean {first['mean']}, low {first['low']}, high {first['high']}"
            raise InputError(f"{int(rows.sum())} predictions refused, first {_row(first)}: {what} ({values})")


def _first(names: Iterable[str]) -> str:
    names = sorted(names)
    return f"{len(names)}: {', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''}"


def _match(group: pd.DataFrame, key: dict[str, Any], measured: pd.DataFrame, index: Index) -> pd.DataFrame:
    where = f"protocol {index.protocol!r}, fold {key['fold']!r}, predictor {key['predictor']!r}, seed {key['seed']}, {key['target']}"
    fold: Fold = index.fold(key["fold"])
    y = measured[f"y_{key['target']}"]
    names = set(group["sample"])
    twice = group.loc[group["sample"].duplicated(), "sample"].unique()
    if len(twice):
        raise InputError(f"{where}: samples predicted more than once, {_first(twice)}; keep one row each")
    unknown = names - set(fold.test) - set(fold.val)
    if unknown:
        raise InputError(f"{where}: samples that are in neither test nor validation, {_first(unknown)}; remove them")
    absent = (set(fold.test) | set(fold.val)) - set(y.index)
    if absent:
        raise InputError(
            f"{where}: samples of the index that are not in the data set, {_first(absent)}; run `dvc pull`"
        )
    has_y = y.notna()
    parts = []
    for part in ("test", "val"):
        expected = [s for s in fold.part(part) if has_y[s]]
        missing = set(expected) - names
        if missing and (part == "test" or names & set(fold.val)):
            raise InputError(f"{where}: {part} samples without a prediction, {_first(missing)}; predict every one")
        if missing or not expected:
            continue
        rows = group.set_index("sample").loc[expected].reset_index()
        rows["part"] = part
        rows["y"] = y.loc[expected].to_numpy(dtype=np.float64)
        for column in ("configuration", "cluster", "sub_family", "family", "nodes", "flops_log2"):
            if column in measured:
                rows[column] = measured[column].loc[expected].to_numpy()
        parts.append(rows)
    if not parts:
        raise InputError(
            f"{where}: no test sample has a measurement of this target; measure it or leave the target out"
        )
    return pd.concat(parts, ignore_index=True)


def _refuse_missing_folds(table: pd.DataFrame, index: Index) -> None:
    wanted = {f.name for f in index.folds}
    for (predictor, seed, target), group in table.groupby(["predictor", "seed", "target"], sort=True):
        missing = wanted - set(group["fold"])
        if missing:
            where = f"protocol {index.protocol!r}, predictor {predictor!r}, seed {seed}, {target}"
            raise InputError(f"{where}: folds without a prediction, {_first(missing)}; predict every fold")


def _score_group(key: dict[str, Any], group: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def add(scope: str, name: str, values: Mapping[str, float], n: int) -> None:
        rows.extend({**key, "scope": scope, "group": name, "metric": m, "value": v, "n": n} for m, v in values.items())

    def scored(frame: pd.DataFrame, ranking: bool = True) -> dict[str, float]:
        return score(*(frame[c].to_numpy() for c in ("y", "mean", "low", "high")), ranking=ranking)

    add("pooled", "", scored(group), len(group))
    for column, scope in (("family", "family"), ("cluster", "cluster")):
        each = {str(name): scored(g, column == "family") for name, g in group.groupby(column, sort=True)}
        sizes = group.groupby(column, sort=True).size()
        for (name, values), n in zip(each.items(), sizes, strict=True):
            add(scope, name, values, int(n))
        frame = pd.DataFrame(each).T
        means = frame.mean(axis=0, skipna=True)
        add("mean_over_clusters" if column == "cluster" else "mean_over_families", "", means.to_dict(), len(each))
        if column == "family":
            for metric in frame:
                values = frame[metric].dropna()
                if len(values) and metric != "interval_width_log2":
                    worst = _worst(str(metric), values)
                    add("worst_family", str(worst), {str(metric): float(values[worst])}, int(sizes[worst]))
    return rows


def _worst(metric: str, values: pd.Series) -> Any:
    if metric in HIGHER_IS_BETTER or metric == "interval_coverage_percent":
        return values.idxmin()
    return values.abs().idxmax()
