"""What every predictor is: fit on graphs, predict log2 of each target with a 90 % interval, save and load without pickles."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from safetensors.numpy import load_file, save_file

from nnirp.errors import InputError, NotPulledError
from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import GraphSet
from nnirp.predictors.conformal import Calibration, calibrate
from nnirp.predictors.search_space import SearchSpace
from nnirp.training.pool import Novelty, Pool, describe_pool, novel, novelty, read_pool, write_pool

FORMAT = 2
CONFIG, WEIGHTS = "predictor.json", "weights.safetensors"
Log = Callable[[str, float, int], None]


def no_log(name: str, value: float, step: int) -> None:
    """A log that keeps nothing."""


@dataclass(frozen=True)
class Prediction:
    """`mean`, `low` and `high`: float64 [n, T] in log2 of the target's unit; NaN where a target is not predicted.

    `low` and `high` are ±inf where there was no validation row to learn a width from. `novel` bool [n, 3] says whether a graph has
    operators, bigrams or a size that the training pool lacks: there the interval's promise does not hold.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    novel: np.ndarray


@dataclass(frozen=True)
class NoSettings:
    """For predictors without any."""


class Predictor(ABC):
    """Base of all predictors. A subclass names itself and implements `_fit`, `_mean` and its state.

    Attributes:
        name: how the registry and the tables call it.
        targets: what it was fitted for, in the order of the columns of its predictions.
        settings: a frozen dataclass of the subclass's `Settings`.
        calibrations: the width of the interval, one a target.
        pool: what the training graphs hold.
    """

    name: ClassVar[str]
    Settings: ClassVar[type] = NoSettings

    def __init__(self, **settings: Any) -> None:
        known = [f.name for f in fields(self.Settings)]
        unknown = sorted(set(settings) - set(known))
        if unknown:
            expected = f"expected among: {', '.join(known)}" if known else "it has none"
            raise InputError(f"predictor {self.name} has no setting {unknown[0]!r}; {expected}")
        self.settings = self.Settings(**settings)
        self.targets: tuple[str, ...] = ()
        self.calibrations: tuple[Calibration, ...] = ()
        self.pool: Pool | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.settings}, targets={self.targets})"

    def fit(
        self, train: GraphSet, val: GraphSet, *, seed: int = 0, log: Log = no_log, checkpoints: Path | None = None
    ) -> None:
        """Learn from `train`; choose epochs and the width of the interval on `val`, which may be empty.

        Args:
            train, val: graphs with log2 targets, NaN where one is missing.
            seed: the same seed, data and machine give the same predictor.
            log: receives (curve, value, step) while it learns.
            checkpoints: a folder where a network keeps its progress; a fit that finds one there goes on from it.

        Raises:
            InputError: no training graph has a label of any target.
        """
        if not np.isfinite(train.y).any():
            raise InputError(
                f"predictor {self.name}: none of {len(train)} training graphs has a label; `dvc repro encode`"
            )
        self.targets = train.targets
        self.pool = describe_pool(train)
        self._fit(train, val, seed=seed, log=log, checkpoints=checkpoints)
        self.calibrate(val)

    def calibrate(self, graphs: GraphSet) -> None:
        """Learn the width of the interval from labelled graphs that the fit has not seen."""
        mean, spread = self._mean(graphs) if len(graphs) else (np.empty((0, len(self.targets))), None)
        self.calibrations = tuple(
            calibrate(graphs.y[:, t] - mean[:, t], None if spread is None else spread[:, t])
            for t in range(len(self.targets))
        )

    def predict(self, graphs: GraphSet) -> Prediction:
        """Mean and 90 % interval of every target, in the order of `self.targets`, and what is novel of each graph."""
        pool = self._trained_pool()
        mean, spread = self._mean(graphs)
        width = np.stack(
            [
                c.half_width(len(graphs), None if spread is None else spread[:, t])
                for t, c in enumerate(self.calibrations)
            ],
            axis=1,
        )
        return Prediction(mean, mean - width, mean + width, novel(graphs, pool))

    def novelty(self, graphs: GraphSet) -> list[Novelty]:
        """The operators, bigrams and sizes, by name, that each graph has and the training pool lacks."""
        pool, operators = self._trained_pool(), load_vocabulary().operators
        return [novelty(graphs.subset([i]), pool, operators) for i in range(len(graphs))]

    def _trained_pool(self) -> Pool:
        if self.pool is None:
            raise InputError(f"predictor {self.name} is not trained; call `fit` or `load` first")
        return self.pool

    def save(self, folder: Path) -> None:
        """Write `predictor.json`, `pool.json` and, where there are any, `weights.safetensors` and the files of `_save_extra`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        arrays, details = self._state()
        content = {
            "format": FORMAT,
            "predictor": self.name,
            "targets": list(self.targets),
            "settings": asdict(self.settings),
            "intervals": [asdict(c) for c in self.calibrations],
            "details": details,
        }
        if arrays:
            save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, folder / WEIGHTS)
        self._save_extra(folder)
        write_pool(self._trained_pool(), folder)
        (folder / CONFIG).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The predictor that `save` wrote into this folder.

        Raises:
            NotPulledError: a file is absent.
            InputError: a file is not what this predictor writes.
        """
        folder = Path(folder)
        try:
            content = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
            if (content["format"], content["predictor"]) != (FORMAT, cls.name):
                raise InputError(
                    f"{folder} holds {content['predictor']} in format {content['format']}, expected {cls.name} in {FORMAT}"
                )
            settings = {k: tuple(v) if isinstance(v, list) else v for k, v in content["settings"].items()}
            predictor = cls(**settings)
            predictor.targets = tuple(content["targets"])
            predictor.calibrations = tuple(Calibration(**c) for c in content["intervals"])
            predictor.pool = read_pool(folder)
            weights = folder / WEIGHTS
            predictor._restore(load_file(weights) if weights.exists() else {}, content["details"])
            predictor._load_extra(folder)
        except FileNotFoundError as error:
            raise NotPulledError(f"{error.filename} is absent; `dvc pull {folder}`") from None
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"{folder} is not a trained {cls.name} ({reason}); `dvc repro train`") from None
        return predictor

    @classmethod
    def search_space(cls) -> SearchSpace:
        """The settings that tuning may vary, and how; none by default."""
        return {}

    @abstractmethod
    def parameter_count(self) -> int:
        """Learned numbers, for the cost column."""

    @abstractmethod
    def _fit(self, train: GraphSet, val: GraphSet, *, seed: int, log: Log, checkpoints: Path | None) -> None:
        """Learn; the interval is not its business."""

    @abstractmethod
    def _mean(self, graphs: GraphSet) -> tuple[np.ndarray, np.ndarray | None]:
        """float64 [n, T] in log2, and a spread [n, T] in log2 where the predictor has an own estimate of its error."""

    def _state(self) -> tuple[Mapping[str, np.ndarray], dict]:
        """Arrays for safetensors and details for JSON."""
        return {}, {}

    @abstractmethod
    def _restore(self, arrays: Mapping[str, np.ndarray], details: dict) -> None:
        """The reverse of `_state`."""

    def _save_extra(self, folder: Path) -> None:  # noqa: B027
        """Files in another library's text format."""

    def _load_extra(self, folder: Path) -> None:  # noqa: B027
        """The reverse of `_save_extra`."""
