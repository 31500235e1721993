"""An Optuna study on a storage that several processes share: opened, asked for values, and rid of the trials of killed processes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nnirp.predictors.search_space import Choice, Logarithmic

# A process that is alive says so every 30 s; one that was silent for two minutes is taken for killed.
HEARTBEAT_S, GRACE_S = 30, 120
_SQLITE = "sqlite:///"


def open_study(name: str, storage: str, seed: int, on_killed: Callable[[int], None] = lambda number: None):
    """The study of this name, made where there is none.

    Args:
        name: of the study; one storage holds several.
        storage: an Optuna URL of a database.
        seed: of the sampler.
        on_killed: receives the number of a trial whose process ended without a word, when it is marked as failed; that happens
            before each new trial.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    arguments = {}
    if storage.startswith(_SQLITE):
        Path(storage.removeprefix(_SQLITE)).parent.mkdir(parents=True, exist_ok=True)
        arguments = {"connect_args": {"timeout": 60}}  # seconds that a writer waits for the others
    return optuna.create_study(
        study_name=name,
        storage=optuna.storages.RDBStorage(
            storage,
            arguments,
            heartbeat_interval=HEARTBEAT_S,
            grace_period=GRACE_S,
            heartbeat_stale_trial_callback=lambda study, trial: on_killed(trial.number),
        ),
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=10),
        load_if_exists=True,
    )


def suggest(trial, name: str, allowed: Choice | Logarithmic) -> Any:
    """A value of a setting for a trial."""
    if isinstance(allowed, Choice):
        return trial.suggest_categorical(name, allowed.values)
    return trial.suggest_float(name, allowed.low, allowed.high, log=True)


def is_allowed(allowed: Choice | Logarithmic, value: Any) -> bool:
    """Whether a search may arrive at this value."""
    return value in allowed.values if isinstance(allowed, Choice) else allowed.low <= value <= allowed.high
