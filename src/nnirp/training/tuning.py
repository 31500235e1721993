"""Settings chosen by validation: an Optuna study over a predictor's search space, in any number of processes on one storage."""

import json
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnirp.errors import InputError, NnirpError
from nnirp.layers.store import GraphSet, GraphStore, pack
from nnirp.predictors import create
from nnirp.predictors.registry import find
from nnirp.predictors.search_space import SearchSpace
from nnirp.splits.index import Index, read_index
from nnirp.tracking.record import (
    FILE_NAME,
    RunRecord,
    context_tags,
    dataset_revision,
    environment,
    now,
    read_record,
    write_record,
)
from nnirp.tracking.run import Run
from nnirp.tracking.store import Store
from nnirp.training.matrix import subset
from nnirp.training.study import is_allowed, open_study, suggest

log = logging.getLogger(__name__)
BEST = "best.json"
CURVE = "validation_error_log2"
_STEPS_A_FOLD = 100_000  # more epochs than any fold has, so that a later fold's steps are later


@dataclass(frozen=True)
class Search:
    """What the processes of a study share. `fixed` settings are not searched; `seed` is that of every fit."""

    data: Path
    predictor: str
    index: Index
    output: Path
    storage: str
    root: Path
    fixed: Mapping[str, Any]
    space: SearchSpace
    store: Store | None
    seed: int

    def study(self, seed: int):
        """The study; `seed` is that of the sampler, one a process."""
        return open_study(f"{self.predictor} {self.index.protocol}", self.storage, seed, self.close_killed)

    def folder(self, number: int) -> Path:
        """Where a trial's record lies."""
        return self.output / "trials" / f"{number:04d}"

    def close_killed(self, number: int) -> None:
        """Say in the record of a trial, and in MLflow, that its process was killed."""
        folder = self.folder(number)
        if not (folder / FILE_NAME).is_file():  # it ran on another machine
            return
        record = read_record(folder / FILE_NAME)
        record.status, record.error, record.ended = "failed", "the process was killed", now()
        write_record(record, folder)
        if self.store:
            try:
                self.store.sync([folder])
            except InputError as error:
                log.warning("%s; `nnirp tracking sync` adds the trial later", error)


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
        NnirpError: one of several processes was killed; the trials of all are kept.
    """
    fixed = dict(fixed or {})
    space = {name: r for name, r in find(predictor).search_space().items() if name not in fixed}
    if not space:
        raise InputError(
            f"predictor {predictor} has no settings to tune; train it: `nnirp train {predictor} {protocol}`"
        )
    defaults = create(predictor, **fixed).settings  # an unknown setting is refused before a study is made
    index = read_index(data / "splits" / f"{protocol}.json")
    search = Search(data, predictor, index, output, storage, root, fixed, space, store, seed)
    study = search.study(seed)
    if not study.trials:
        first = {name: getattr(defaults, name) for name in space}
        study.enqueue_trial({name: value for name, value in first.items() if is_allowed(space[name], value)})
    shares = [trials // processes + (i < trials % processes) for i in range(processes)]
    if processes == 1:
        _work(search, trials, seed)
    else:
        _work_in_parallel(search, [share for share in shares if share])
    return _write_best(study, search)


def _work_in_parallel(search: Search, shares: list[int]) -> None:
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    try:
        Parallel(n_jobs=len(shares))(delayed(_work)(search, share, search.seed + i) for i, share in enumerate(shares))
    except TerminatedWorkerError:
        raise NnirpError(
            f"a process that tuned {search.predictor} was killed, by a lack of memory perhaps; its finished trials are kept: "
            "run the command again, with fewer --processes"
        ) from None


def _work(search: Search, trials: int, seed: int) -> None:
    """One process's share of the trials."""
    graphs, index = pack(search.data), search.index
    tags = {
        **context_tags(search.root),
        "protocol": index.protocol,
        "predictor": search.predictor,
        "dataset_revision": dataset_revision(search.data),
        "split_digest": index.digest[:12],
    }

    def objective(trial) -> float:
        settings = search.fixed | {name: suggest(trial, name, allowed) for name, allowed in search.space.items()}
        names = {"predictor": search.predictor, "protocol": index.protocol, "trial": trial.number, "seed": search.seed}
        record = RunRecord(
            kind="tune",
            name=f"{search.predictor} · {index.protocol} · trial {trial.number}",
            parameters=names | {f"setting.{name}": value for name, value in settings.items()},
            tags=tags,
            environment=environment(),
        )
        return _recorded(
            lambda run: _trial_error(graphs, search, settings, trial, run),
            record,
            search.folder(trial.number),
            search.store,
        )

    search.study(seed).optimize(objective, n_trials=trials)


def _recorded(action: Callable[[Run], float], record: RunRecord, folder: Path, store: Store | None) -> float:
    """Run a trial as one recorded run; one that was given up says so, and one that was killed still has its record."""
    from optuna import TrialPruned

    write_record(record, folder)
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


def _trial_error(graphs: GraphStore, search: Search, settings: Mapping[str, Any], trial, run: Run) -> float:
    """Mean over folds of the mean absolute error in log2 on validation, each target counting the same."""
    from optuna import TrialPruned

    errors: list[float] = []
    for number, fold in enumerate(search.index.folds):
        train, val = (subset(graphs, fold.part(part), search.index.protocol, fold) for part in ("train", "val"))
        best = math.inf

        def watch(name: str, value: float, step: int, *, number: int = number) -> None:
            nonlocal best
            run.log(f"fold {number}/{name}", value, step)
            if name == CURVE and value < best:
                best = value
                trial.report(float(np.mean([*errors, best])), number * _STEPS_A_FOLD + step)
                if trial.should_prune():
                    raise TrialPruned

        model = create(search.predictor, **settings)
        model.fit(train, val, seed=search.seed, log=watch)
        errors.append(validation_error(model, val))
    return float(np.mean(errors))


def validation_error(model, graphs: GraphSet) -> float:
    """Mean over targets of the mean absolute error in log2 of a trained predictor; infinite where nothing can be compared."""
    error = np.abs(model.predict(graphs).mean - graphs.y)
    known = np.isfinite(error)
    targets = [error[known[:, t], t].mean() for t in range(error.shape[1]) if known[:, t].any()]
    return float(np.mean(targets)) if targets else math.inf


def _write_best(study, search: Search) -> dict[str, Any]:
    states = [trial.state.name for trial in study.trials]
    predictor, protocol = search.predictor, search.index.protocol
    if "COMPLETE" not in states:
        raise InputError(f"no trial of {predictor} on {protocol} came to its end; raise --trials")
    content = {
        "schema": 1,
        "predictor": predictor,
        "protocol": protocol,
        "settings": {predictor: {**search.fixed, **study.best_params}},
        CURVE: study.best_value,
        "default": study.trials[0].value,
        "trials": {state.lower(): states.count(state) for state in sorted(set(states))},
        "trial": study.best_trial.number,
    }
    search.output.mkdir(parents=True, exist_ok=True)
    (search.output / BEST).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
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
