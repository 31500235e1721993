"""The question a user came for: who survives which split. Protocol × predictor, inflation, ranks, coverage, size."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from nnirp.errors import InputError
from nnirp.evaluation.evaluator import Scores
from nnirp.evaluation.metrics import HIGHER_IS_BETTER
from nnirp.evaluation.statistics import Ranking, critical_difference, over_seeds, paired_bootstrap, worst_over_seeds
from nnirp.splits.index import Index

ORDER = ("random", "config", "cluster", "subfamily", "family", "size", "fewshot-1", "fewshot-5", "fewshot-20")
"""Protocols from easy to hard, then those that ask something else."""
SIZE_BINS = 5


@dataclass(frozen=True)
class Comparison:
    """Tidy frames of one target, `table` and `sd` being protocol × predictor of `metric`, pooled, in protocol order.

    scores: every scope and metric with mean, sd, seeds; families: predictor, protocol, family, mean, sd; inflation: easy,
    hard, factor; ranks: protocol × predictor, 1 is best; coverage: predictor, protocol, cluster, distinct, weighted, error;
    sizes: predictor, protocol, bin, flops_log2, error; differences: paired bootstrap; samples: one row a test prediction.
    """

    target: str
    metric: str
    table: pd.DataFrame
    sd: pd.DataFrame
    scores: pd.DataFrame
    families: pd.DataFrame
    inflation: pd.DataFrame
    ranks: pd.DataFrame
    coverage: pd.DataFrame
    sizes: pd.DataFrame
    differences: pd.DataFrame
    ranking: Ranking | None
    noise_floor_percent: float | None
    samples: pd.DataFrame

    @property
    def predictors(self) -> list[str]:
        """Names, best mean rank first."""
        return [str(p) for p in self.table.columns]

    @property
    def protocols(self) -> list[str]:
        """Names, from easy to hard."""
        return [str(p) for p in self.table.index]

    def pivot(self, metric: str, scope: str = "pooled", value: str = "mean") -> pd.DataFrame:
        """Any other score as protocol × predictor, in the order of `table`."""
        rows = self.scores[(self.scores["metric"] == metric) & (self.scores["scope"] == scope)]
        frame = rows.pivot_table(index="protocol", columns="predictor", values=value, dropna=False)
        return frame.reindex(index=self.table.index, columns=self.table.columns)


def compare(
    scores: Scores,
    indices: Mapping[str, Index],
    *,
    target: str,
    metric: str = "mape_percent",
    noise_floor_percent: float | None = None,
    part: str = "test",
) -> Comparison:
    """Gathers everything the report shows about one target. Raises InputError where nothing of it was scored."""
    rows = scores.rows[(scores.rows["target"] == target) & (scores.rows["part"] == part)]
    samples = scores.samples[(scores.samples["target"] == target) & (scores.samples["part"] == part)]
    if rows.empty:
        known = ", ".join(sorted(scores.rows["target"].unique()))
        raise InputError(f"no {part} scores of target {target!r}; scored were: {known}")
    if metric not in set(rows["metric"]):
        raise InputError(f"unknown metric {metric!r}; choose one of: {', '.join(sorted(rows['metric'].unique()))}")
    table = pd.concat([over_seeds(rows), worst_over_seeds(rows)], ignore_index=True)
    pooled = table[(table["scope"] == "pooled") & (table["metric"] == metric)]
    mean = pooled.pivot_table(index="protocol", columns="predictor", values="mean")
    mean = mean.reindex([p for p in ORDER if p in mean.index] + sorted(set(mean.index) - set(ORDER)))
    ranks = mean.rank(axis=1, ascending=metric not in HIGHER_IS_BETTER)
    best_first = ranks.mean(axis=0).sort_values(kind="stable").index
    mean, ranks = mean[best_first], ranks[best_first]
    sd = pooled.pivot_table(index="protocol", columns="predictor", values="sd", dropna=False)
    families = table[(table["scope"] == "family") & (table["metric"] == metric)]
    errors = -mean if metric in HIGHER_IS_BETTER else mean
    enough = mean.shape[1] > 1 and len(mean.dropna()) > 1
    return Comparison(
        target=target,
        metric=metric,
        table=mean,
        sd=sd.reindex(index=mean.index, columns=mean.columns),
        scores=table,
        families=families.rename(columns={"group": "family"})[["predictor", "protocol", "family", "mean", "sd", "n"]],
        inflation=_inflation(mean),
        ranks=ranks,
        coverage=_by_coverage(samples, indices, part),
        sizes=_by_size(samples),
        differences=_differences(samples),
        ranking=critical_difference(errors) if enough else None,
        noise_floor_percent=noise_floor_percent,
        samples=samples.reset_index(drop=True),
    )


def _inflation(table: pd.DataFrame) -> pd.DataFrame:
    """Error at the hardest split over error at the easiest: family over random, or what there is of that order."""
    there = [p for p in ("random", "config", "cluster", "subfamily", "family") if p in table.index]
    columns = ["predictor", "easy", "hard", "error_easy", "error_hard", "factor"]
    if len(there) < 2:
        return pd.DataFrame(columns=columns)
    easy, hard = there[0], there[-1]
    rows = [
        (p, easy, hard, table.loc[easy, p], table.loc[hard, p], table.loc[hard, p] / table.loc[easy, p]) for p in table
    ]
    return pd.DataFrame(rows, columns=columns)


def _by_coverage(samples: pd.DataFrame, indices: Mapping[str, Index], part: str) -> pd.DataFrame:
    known = [
        {"protocol": protocol, "fold": fold, "cluster": cluster, "distinct": c["distinct"], "weighted": c["weighted"]}
        for protocol, index in indices.items()
        for fold, parts in index.coverage.items()
        for cluster, c in parts.get(part, {}).items()
    ]
    key = ["predictor", "protocol", "fold", "family", "cluster"]
    error = samples.groupby(key, sort=True)["ape_percent"].agg(error="mean", samples="size").reset_index()
    coverage = pd.DataFrame(known, columns=["protocol", "fold", "cluster", "distinct", "weighted"])
    error["cluster"] = error["cluster"].astype(str)
    return error.merge(coverage.astype({"cluster": str, "fold": str}), on=["protocol", "fold", "cluster"], how="inner")


def _by_size(samples: pd.DataFrame) -> pd.DataFrame:
    columns = ["predictor", "protocol", "bin", "flops_log2", "error", "samples"]
    if "flops_log2" not in samples:
        return pd.DataFrame(columns=columns)
    frames = []
    for _, group in samples.groupby("protocol", sort=True):
        edges = np.unique(np.quantile(group["flops_log2"], np.linspace(0, 1, SIZE_BINS + 1)))
        bin_ = np.clip(np.searchsorted(edges, group["flops_log2"], side="right") - 1, 0, max(len(edges) - 2, 0))
        grouped = group.assign(bin=bin_).groupby(["predictor", "protocol", "bin"], sort=True)
        frames.append(
            grouped.agg(
                flops_log2=("flops_log2", "median"), error=("ape_percent", "mean"), samples=("sample", "nunique")
            )
        )
    return pd.concat(frames).reset_index()[columns]


def _differences(samples: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for protocol, group in samples.groupby("protocol", sort=True):
        for first, second in combinations(sorted(group["predictor"].unique()), 2):
            try:
                d = paired_bootstrap(group, first, second)
            except InputError:  # a predictor that skips folds or samples has no pair here
                continue
            rows.append((protocol, first, second, d.difference, d.low, d.high, d.clusters, d.significant))
    names = ["protocol", "first", "second", "difference", "low", "high", "clusters", "significant"]
    return pd.DataFrame(rows, columns=names)


def write_tables(comparison: Comparison, folder: str | Path) -> list[Path]:
    """CSV files of every frame but the samples, for DVC plots and spreadsheets; six significant digits."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    long = comparison.scores[comparison.scores["scope"] != "cluster"].drop(columns=["part", "target"])
    frames = {
        "protocols": comparison.table.rename_axis(columns=None).reset_index(),
        "scores": long,
        "families": comparison.families,
        "inflation": comparison.inflation,
        "ranks": comparison.ranks.rename_axis(columns=None).reset_index(),
        "coverage": comparison.coverage,
        "sizes": comparison.sizes,
        "differences": comparison.differences,
    }
    paths = []
    for name, frame in frames.items():
        path = folder / f"{comparison.target}-{name}.csv"
        frame.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
        paths.append(path)
    return paths
