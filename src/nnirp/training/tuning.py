"""Settings chosen by validation: an Optuna study over a predictor's search space, in any number of processes on one storage."""

import functools
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nnirp.errors import InputError
from nnirp.layers.store import GraphSet, GraphStore, pack
from nnirp.predictors import create
from nnirp.predictors.registry import find
from nnirp.predictors.search_space import Choice, SearchSpace
from nnirp.splits.index import Index, read_index
from nnirp.tracking.record import RunRecord, context_tags, dataset_revision, environment, now, write_record
from nnirp.tracking.run import Run
from nnirp.tracking.store import Store
from nnirp.training.matrix import subset

BEST = "best.json"
CURVE = "validation_error_log2"
_STEPS_A_FOLD = 100_000  # more epochs than any fold has, so that a later fold's steps are later


def tune(
    data: Path,
    predictor: str,
    protocol: str,
    output: Path,
    *,
    trials: int,
    storage: str,
    root: Path,
    seed: int = 0,
    processes: int = 1,
    fixed: Mapping[str, Any] | None = None,
    store: Store | None = None,
) -> dict[str, Any]:
    """Try settings on the validation parts of a protocol's folds; the test parts are never read.

    A trial fits every fold in turn. Its value is the mean over folds of the mean absolute error in log2 on validation; between
    epochs and folds it is given up where it is worse than the median of the trials before it. The first trial has the default
    settings. A study goes on where an earlier call with the same storage left it, and several calls may share one.

    Args:
        data: a dataset root with features and splits.
        output: receives `trials/<number>/run.json` and `best.json`.
        trials: how many in all processes together, on top of those the storage holds.
        storage: an Optuna URL, such as sqlite:///study.db.
        root: the project, for the tags that name commit and stage.
        seed: of the sampler and of every fit.
        processes: local processes.
        fixed: settings that are not searched.
        store: the MLflow store that follows live.

    Returns:
        The content of `best.json`: `settings` by predictor, as `params.yaml` takes them, the value, and the counts of trials.

    Raises:
        InputError: the predictor has nothing to tune, or a layer is absent.
    """
    space = {name: r for name, r in find(predictor).search_space().items() if name not in (fixed or {})}
    if not space:
        raise InputError(
            f"predictor {predictor} has no settings to tune; train it: `nnirp train {predictor} {protocol}`"
        )
    index = read_index(data / "splits" / f"{protocol}.json")
    create(predictor, **(fixed or {}))  # an unknown setting is refused before a study is made
    study = _study(f"{predictor} {protocol}", storage, seed)
    if not study.trials:
        defaults = create(predictor, **(fixed or {})).settings
        study.enqueue_trial({name: getattr(defaults, name) for name in space if _allowed(space[name], defaults, name)})
    work = functools.partial(
        _work,
        data,
        predictor,
        index,
        output,
        storage=storage,
        root=root,
        fixed=dict(fixed or {}),
        space=space,
        store=store,
    )
    shares = [trials // processes + (i < trials % processes) for i in range(processes)]
    if processes == 1:
        work(shares[0], seed)
    else:
        from joblib import Parallel, delayed

        Parallel(n_jobs=processes)(delayed(work)(share, seed + i) for i, share in enumerate(shares) if share)
    return _write_best(_study(f"{predictor} {protocol}", storage, seed), predictor, protocol, output, dict(fixed or {}))


def _work(data, predictor, index, output, trials, seed, *, storage, root, fixed, space, store) -> None:
    """One process's share of the trials."""
    graphs = pack(data)
    study = _study(f"{predictor} {index.protocol}", storage, seed)
    tags = {
        **context_tags(root),
        "protocol": index.protocol,
        "predictor": predictor,
        "dataset_revision": dataset_revision(data),
        "split_digest": index.digest[:12],
    }

    def objective(trial) -> float:
        settings = {name: _suggest(trial, name, allowed) for name, allowed in space.items()}
        record = RunRecord(
            kind="tune",
            name=f"{predictor} · {index.protocol} · trial {trial.number}",
            parameters={"predictor": predictor, "protocol": index.protocol, "trial": trial.number}
            | {f"setting.{name}": value for name, value in (settings | fixed).items()},
            tags=tags,
            environment=environment(),
        )
        return _recorded(
            lambda run: _validation_error(graphs, index, predictor, settings | fixed, seed, trial, run),
            record,
            output / "trials" / f"{trial.number:04d}",
            store,
        )

    study.optimize(objective, n_trials=trials)


def _recorded(action: Callable[[Run], float], record: RunRecord, folder: Path, store: Store | None) -> float:
    """Run a trial as one recorded run; one that was given up says so."""
    from optuna import TrialPruned

    live = store.begin(record) if store else None
    run = Run(record, live)
    try:
        value = action(run)
        run.metrics({CURVE: value})
        record.status = "finished"
    except TrialPruned:
        record.status = "pruned"
        raise
    except BaseException as error:
        record.status, record.error = "failed", f"{type(error).__name__}: {error}"
        raise
    finally:
        record.ended = now()
        write_record(record, folder)
        if store:
            store.finish(live, record, folder)
    return value


def _validation_error(
    graphs: GraphStore, index: Index, predictor: str, settings: Mapping[str, Any], seed: int, trial, run: Run
) -> float:
    """Mean over folds of the mean absolute error in log2 on validation, each target counting the same."""
    from optuna import TrialPruned

    errors: list[float] = []
    for number, fold in enumerate(index.folds):
        train, val = (subset(graphs, getattr(fold, part), index.protocol, fold) for part in ("train", "val"))
        best = math.inf

        def watch(name: str, value: float, step: int, *, number: int = number) -> None:
            nonlocal best
            run.log(f"fold {number}/{name}", value, step)
            if name == CURVE and value < best:
                best = value
                trial.report(float(np.mean([*errors, best])), number * _STEPS_A_FOLD + step)
                if trial.should_prune():
                    raise TrialPruned

        model = create(predictor, **settings)
        model.fit(train, val, seed=seed, log=watch)
        errors.append(validation_error(model, val))
    return float(np.mean(errors))


def validation_error(model, graphs: GraphSet) -> float:
    """Mean over targets of the mean absolute error in log2 of a trained predictor; infinite where nothing can be compared."""
    error = np.abs(model.predict(graphs).mean - graphs.y)
    known = np.isfinite(error)
    targets = [error[known[:, t], t].mean() for t in range(error.shape[1]) if known[:, t].any()]
    return float(np.mean(targets)) if targets else math.inf


def _study(name: str, storage: str, seed: int):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if storage.startswith("sqlite:///"):
        Path(storage.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    return optuna.create_study(
        study_name=name,
        storage=storage,
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=10),
        load_if_exists=True,
    )


def _suggest(trial, name: str, allowed) -> Any:
    if isinstance(allowed, Choice):
        return trial.suggest_categorical(name, allowed.values)
    return trial.suggest_float(name, allowed.low, allowed.high, log=True)


def _allowed(allowed, defaults, name: str) -> bool:
    value = getattr(defaults, name)
    return value in allowed.values if isinstance(allowed, Choice) else allowed.low <= value <= allowed.high


def _write_best(study, predictor: str, protocol: str, output: Path, fixed: Mapping[str, Any]) -> dict[str, Any]:
    states = [trial.state.name for trial in study.trials]
    if "COMPLETE" not in states:
        raise InputError(f"no trial of {predictor} on {protocol} came to its end; raise --trials")
    content = {
        "schema": 1,
        "predictor": predictor,
        "protocol": protocol,
        "settings": {predictor: {**fixed, **study.best_params}},
        CURVE: study.best_value,
        "default": study.trials[0].value,
        "trials": {state.lower(): states.count(state) for state in sorted(set(states))},
        "trial": study.best_trial.number,
    }
    output.mkdir(parents=True, exist_ok=True)
    (output / BEST).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return content


def read_settings(path: Path, predictor: str) -> dict[str, Any]:
    """The settings of a predictor in a file that `tune` wrote.

    Raises:
        InputError: the file is absent, is no such file, or is about another predictor.
    """
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["settings"][predictor])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} holds no settings of {predictor} ({type(error).__name__}: {error}); "
            f"`nnirp tune {predictor} PROTOCOL` writes them"
        ) from None


__all__ = ["BEST", "SearchSpace", "read_settings", "tune", "validation_error"]
