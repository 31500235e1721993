"""Gradient-boosted trees on sums over operators (LightGBM; Ke et al., NeurIPS 2017)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnirp.errors import MissingDependencyError
from nnirp.layers.store import GraphSet
from nnirp.predictors.interface import Log, Predictor
from nnirp.predictors.registry import register
from nnirp.predictors.search_space import Choice, Logarithmic, SearchSpace
from nnirp.predictors.totals import operator_totals


@dataclass(frozen=True)
class LightgbmSettings:
    """LightGBM's own parameters; `rounds` without validation graphs is a fifth."""

    rounds: int = 2000
    patience: int = 50
    learning_rate: float = 0.05
    leaves: int = 15
    min_leaf: int = 4
    feature_fraction: float = 0.7
    threads: int = 1


@register
class Lightgbm(Predictor):
    """log2 y by boosted trees, one model a target, on `u`, the memory arithmetic and log2 of each operator's count, FLOPs, bytes."""

    name = "lightgbm"
    Settings = LightgbmSettings

    @classmethod
    def search_space(cls) -> SearchSpace:
        return {
            "learning_rate": Logarithmic(0.01, 0.3),
            "leaves": Choice((7, 15, 31, 63)),
            "min_leaf": Choice((2, 4, 8, 16)),
            "feature_fraction": Choice((0.4, 0.7, 1.0)),
        }

    def parameter_count(self) -> int:
        return sum(b.num_trees() * (2 * self.settings.leaves - 1) for b in self.boosters if b is not None)

    def _fit(self, train: GraphSet, val: GraphSet, *, seed: int, log: Log, checkpoints: Path | None) -> None:
        rows, checked = self._rows(train), self._rows(val)
        self.boosters = []
        for t, target in enumerate(train.targets):
            known, seen = np.isfinite(train.y[:, t]), np.isfinite(val.y[:, t])
            data = (rows[known], train.y[known, t], checked[seen], val.y[seen, t])
            self.boosters.append(self._boost(*data, seed, target, log) if known.any() else None)

    def _boost(self, x, y, x_val, y_val, seed: int, target: str, log: Log):
        library = _library()
        s = self.settings
        parameters = {
            "objective": "l1" if len(y) > 1000 else "l2",
            "metric": "l1",
            "learning_rate": s.learning_rate,
            "num_leaves": s.leaves,
            "min_data_in_leaf": min(s.min_leaf, max(1, len(y) // 4)),
            "feature_fraction": s.feature_fraction,
            "num_threads": s.threads,
            "seed": seed,
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }
        train = library.Dataset(x, y, params={"verbosity": -1, "min_data_in_bin": 1})
        if not len(y_val):
            return library.train(parameters, train, max(1, s.rounds // 5))
        curve: dict = {}
        callbacks = [library.early_stopping(s.patience, verbose=False), library.record_evaluation(curve)]
        booster = library.train(
            parameters,
            train,
            s.rounds,
            valid_sets=[library.Dataset(x_val, y_val, reference=train)],
            callbacks=callbacks,
        )
        for step, value in enumerate(curve["valid_0"]["l1"]):
            if step % 10 == 0:
                log(f"validation_error_log2/{target}", value, step)
        text = booster.model_to_string(num_iteration=booster.best_iteration)
        return library.Booster(model_str=text)

    def _mean(self, graphs: GraphSet) -> tuple[np.ndarray, None]:
        rows = self._rows(graphs)
        missing = np.full(len(graphs), np.nan)
        columns = [missing if b is None or not len(rows) else b.predict(rows, num_threads=1) for b in self.boosters]
        return np.column_stack(columns).astype(np.float64), None

    @staticmethod
    def _rows(graphs: GraphSet) -> np.ndarray:
        return np.column_stack([operator_totals(graphs), graphs.u, graphs.memory]).astype(np.float64)

    def _state(self) -> tuple[Mapping[str, np.ndarray], dict]:
        return {}, {"fitted": [b is not None for b in self.boosters]}

    def _restore(self, arrays: Mapping[str, np.ndarray], details: dict) -> None:
        self.boosters = list(details["fitted"])

    def _save_extra(self, folder: Path) -> None:
        for target, booster in zip(self.targets, self.boosters, strict=True):
            if booster is not None:
                (folder / f"{target}.trees.txt").write_text(booster.model_to_string(), encoding="utf-8")

    def _load_extra(self, folder: Path) -> None:
        for t, target in enumerate(self.targets):
            text = (folder / f"{target}.trees.txt").read_text(encoding="utf-8") if self.boosters[t] else None
            self.boosters[t] = _library().Booster(model_str=text) if text else None


def _library():
    try:
        import lightgbm
    except ImportError:
        raise MissingDependencyError("predictor lightgbm needs its library; `pip install 'nnirp[train]'`") from None
    return lightgbm
