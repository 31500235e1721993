"""Which differences between predictors are more than luck: seeds, clusters and protocols as the units that vary."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from nnirp.errors import InputError

KEY = ["predictor", "protocol", "part", "target", "scope", "group", "metric"]


def over_seeds(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard deviation (ddof 1; NaN for one seed) and number of seeds of each score of `Scores.rows`."""
    rows = rows[rows["scope"] != "worst_family"] if "worst_family" in set(rows["scope"]) else rows
    return _seeds(rows, KEY)


def worst_over_seeds(rows: pd.DataFrame) -> pd.DataFrame:
    """As `over_seeds` for the worst family of each seed, whichever family that is."""
    key = [c for c in KEY if c != "group"]
    return _seeds(rows[rows["scope"] == "worst_family"], key).assign(group="")


def _seeds(rows: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    grouped = rows.groupby(key, sort=True)
    values = grouped["value"].agg(["mean", "std", "count"]).rename(columns={"std": "sd", "count": "seeds"})
    return values.assign(n=grouped["n"].first()).reset_index()


@dataclass(frozen=True)
class Difference:
    """first minus second with its confidence interval; the sign says which errs less, `significant` whether 0 is outside."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    clusters: int

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out zero."""
        return not self.low <= 0 <= self.high


def bootstrap_mean(
    values: np.ndarray, *, confidence: float = 0.95, draws: int = 4000, seed: int = 0
) -> tuple[float, float]:
    """Confidence interval of the mean of independent values [n] by the studentised bootstrap.

    Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 12.5: close to its nominal coverage with a
    score of values where the percentile interval is too narrow. NaN with fewer than two values.
    """
    values = np.asarray(values, dtype=np.float64)
    n = len(values)
    if n < 2:
        return float("nan"), float("nan")
    error = values.std(ddof=1) / np.sqrt(n)
    if error == 0:
        return float(values.mean()), float(values.mean())
    generator = np.random.default_rng(seed)
    drawn = values[generator.integers(0, n, size=(draws, n))]
    spread = drawn.std(axis=1, ddof=1) / np.sqrt(n)
    usable = spread > 1e-12 * error
    t = (drawn.mean(axis=1)[usable] - values.mean()) / spread[usable]
    tail = (1 - confidence) / 2
    low, high = np.quantile(t, [tail, 1 - tail])
    return float(values.mean() - high * error), float(values.mean() - low * error)


def paired_bootstrap(
    samples: pd.DataFrame, first: str, second: str, *, confidence: float = 0.95, draws: int = 4000, seed: int = 0
) -> Difference:
    """Mean over clusters of the difference in absolute percentage error between two predictors on the same samples.

    samples: `Scores.samples` of one protocol, part and target; seeds are averaged first, then samples inside a cluster, and
    clusters are drawn, since samples of one cluster are no independent evidence. Raises InputError where the two were not
    scored on the same samples.
    """
    errors = {
        name: samples[samples["predictor"] == name].groupby(["fold", "cluster", "sample"])["ape_percent"].mean()
        for name in (first, second)
    }
    if not len(errors[first]) or set(errors[first].index) != set(errors[second].index):
        raise InputError(f"{first!r} and {second!r} were not scored on the same samples; evaluate both on one protocol")
    per_cluster = (errors[first] - errors[second]).groupby("cluster").mean().sort_index().to_numpy()
    low, high = bootstrap_mean(per_cluster, confidence=confidence, draws=draws, seed=seed)
    return Difference(first, second, float(per_cluster.mean()), low, high, len(per_cluster))


@dataclass(frozen=True)
class Ranking:
    """mean_rank: per predictor, best first (1 is best); p_value: Friedman's; critical_difference: Nemenyi's, in ranks;
    groups: largest sets of neighbours in rank that are not told apart."""

    mean_rank: pd.Series
    blocks: int
    statistic: float
    p_value: float
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]


def critical_difference(errors: pd.DataFrame, *, alpha: float = 0.05) -> Ranking:
    """Ranks predictors (columns) over blocks such as protocols (rows) by error, lower is better.

    Friedman's test and Nemenyi's critical difference: Demšar, JMLR 7 (2006), equations 5 and 8. Rows with a missing
    value are left out. Raises InputError with fewer than two predictors or blocks.
    """
    complete = errors.dropna(axis=0)
    n, k = complete.shape
    if k < 2 or n < 2:
        raise InputError(f"a ranking needs at least 2 predictors scored on 2 common protocols, got {k} on {n}")
    ranks = complete.rank(axis=1)
    mean_rank = ranks.mean(axis=0).sort_values(kind="stable")
    if k > 2 and not (ranks.nunique(axis=1) == 1).all():
        statistic, p_value = stats.friedmanchisquare(*(complete[c] for c in complete))
    elif k == 2:
        differs = complete.iloc[:, 0] != complete.iloc[:, 1]
        wins = int((complete.iloc[:, 0] < complete.iloc[:, 1]).sum())
        statistic, p_value = float(wins), stats.binomtest(wins, int(differs.sum())).pvalue if differs.any() else 1.0
    else:
        statistic, p_value = 0.0, 1.0
    q = stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2)
    width = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    names, values = mean_rank.index.tolist(), mean_rank.to_numpy()
    groups: list[tuple[str, ...]] = []
    for i in range(k):
        j = int(np.searchsorted(values, values[i] + width, side="right"))
        group = tuple(str(name) for name in names[i:j])
        if len(group) > 1 and not (groups and set(group) <= set(groups[-1])):
            groups.append(group)
    return Ranking(mean_rank, n, float(statistic), float(p_value), width, tuple(groups))
