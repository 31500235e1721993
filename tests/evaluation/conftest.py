import numpy as np
import pandas as pd
import pytest

from nnirp.evaluation.comparison import compare
from nnirp.evaluation.evaluator import evaluate_many
from nnirp.splits.index import Fold, Index

FAMILIES = ("conv", "decoder", "encoder")


@pytest.fixture(scope="session")
def samples():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"sample": [f"s{i:03d}" for i in range(90)], "configuration": np.arange(90) // 3})
    frame["cluster"] = [f"c{c // 2}" for c in frame["configuration"]]
    frame["family"] = [FAMILIES[c // 10] for c in frame["configuration"]]
    frame["sub_family"] = frame["family"] + "-a"
    frame["flops_log2"] = generator.uniform(20, 40, 90)
    frame["nodes"] = generator.integers(50, 500, 90)
    frame["y_runtime_ms"] = generator.normal(5, 2, 90)
    frame["y_peak_ram_mb"] = generator.normal(8, 1, 90)
    return frame


@pytest.fixture(scope="session")
def indices(samples):
    names = samples["sample"].tolist()
    held = {"val": {}, "test": {c: {"distinct": 0.9, "weighted": 0.95} for c in samples["cluster"].unique()}}
    family = tuple(
        Fold(f, *(tuple(samples.loc[rows, "sample"]) for rows in (samples["family"] != f, [], samples["family"] == f)))
        for f in FAMILIES
    )
    folds = (Fold("0", tuple(names[::3]), tuple(names[1::3]), tuple(names[2::3])),)
    return {
        "random": Index("random", folds, coverage={"0": held}),
        "cluster": Index("cluster", folds, coverage={"0": held}),
        "family": Index("family", family, coverage=dict.fromkeys(FAMILIES, held)),
    }


def predict(samples, index, predictor, noise, seed=0, target="runtime_ms", parts=("test",)):
    generator = np.random.default_rng([seed, len(predictor), len(index.folds)])
    rows = []
    y = samples.set_index("sample")[f"y_{target}"]
    for fold in index.folds:
        for sample in (s for p in parts for s in fold.part(p)):
            mean = y[sample] + noise * generator.normal()
            row = {
                "predictor": predictor,
                "protocol": index.protocol,
                "fold": fold.name,
                "seed": seed,
                "sample": sample,
            }
            rows.append(row | {"target": target, "mean": mean, "low": mean - 2 * noise, "high": mean + 2 * noise})
    return pd.DataFrame(rows)


@pytest.fixture(scope="session")
def make_predictions():
    return predict


@pytest.fixture(scope="session")
def predictions(samples, indices):
    noise = {"random": 0.05, "cluster": 0.2, "family": 0.5}
    return pd.concat(
        [
            predict(samples, index, name, noise[protocol] * factor, seed)
            for protocol, index in indices.items()
            for name, factor in (("roofline", 0.5), ("dippm", 1.0), ("flops", 2.0))
            for seed in (0, 1, 2)
        ],
        ignore_index=True,
    )


@pytest.fixture(scope="session")
def scores(predictions, samples, indices):
    return evaluate_many(predictions, samples, indices)


@pytest.fixture(scope="session")
def comparison(scores, indices):
    return compare(scores, indices, target="runtime_ms", noise_floor_percent=3.0)
