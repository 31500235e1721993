"""Candidates scored by a predictor: the whole grid, or what an evolutionary search proposes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnirp.errors import InputError
from nnirp.features.encoder import EncodedGraph
from nnirp.prediction.exploration.candidates import Candidates, encode_all
from nnirp.prediction.exploration.spec import Point, Range, Search, Spec

AT_ONCE = 32
Score = Callable[[Sequence[EncodedGraph]], list[dict[str, float]]]


@dataclass(frozen=True)
class Candidate:
    """One point and its figures by objective; `<target>_low` and `<target>_high` bound a predicted one."""

    point: Point
    figures: dict[str, float]


@dataclass(frozen=True)
class Found:
    """What a search tried: candidates with figures, points that could not be built with the reason, numbers of the Pareto front."""

    candidates: tuple[Candidate, ...]
    failed: tuple[tuple[Point, str], ...]
    front: tuple[int, ...]


def explore(
    spec: Spec, candidates: Candidates, score: Score, on_progress: Callable[[int], None] = lambda _: None
) -> Found:
    """Try every point of a grid, or as many as the search is allowed.

    Args:
        spec: the space.
        candidates: makes graphs of points.
        score: figures of graphs, with every objective of the space.

    Raises:
        InputError: no point is allowed, or an objective has no figure.
    """
    done: list[Candidate] = []
    failed: list[tuple[Point, str]] = []
    asking = _grid(spec) if spec.search == "grid" else _evolution(spec, spec.search)
    results: list[dict[str, float] | None] | None = None
    while True:
        try:
            points = asking.send(results)
        except StopIteration:
            break
        made, refused = encode_all(candidates, points)
        failed += refused
        figures = score([graph for _, graph in made]) if made else []
        by_point = {id(point): figure for (point, _), figure in zip(made, figures, strict=True)}
        done += [Candidate(point, figure) for (point, _), figure in zip(made, figures, strict=True)]
        results = [by_point.get(id(point)) for point in points]
        on_progress(len(done) + len(failed))
    if not done:
        reason = (
            f"none of {len(failed)} points could be built, first: {failed[0][1]}"
            if failed
            else "no point meets every condition of `require`"
        )
        raise InputError(reason)
    missing = [name for name in spec.objectives if name not in done[0].figures]
    if missing:
        raise InputError(f"objectives: nothing here predicts {missing[0]!r}; known are {', '.join(done[0].figures)}")
    values = np.array([[c.figures[name] for name in spec.objectives] for c in done])
    signs = np.array([1.0 if direction == "minimize" else -1.0 for direction in spec.objectives.values()])
    return Found(tuple(done), tuple(failed), tuple(pareto_front(values * signs).tolist()))


def pareto_front(values: np.ndarray) -> np.ndarray:
    """Rows that no other row beats.

    Args:
        values: float64 [n, k], smaller is better.

    Returns:
        int64, positions in the order of the first column; of equal rows the first.
    """
    order = np.lexsort(values.T[::-1])
    kept: list[int] = []
    for i in order:
        others = values[kept]
        if not len(kept) or not (others <= values[i]).all(axis=1).any():
            kept.append(int(i))
    return np.array(kept, dtype=np.int64)


def _grid(spec: Spec) -> Iterator[list[Point]]:
    points = list(spec.grid())
    for start in range(0, len(points), AT_ONCE):
        yield points[start : start + AT_ONCE]


def _evolution(spec: Spec, search: Search) -> Iterator[list[Point]]:
    """NSGA-II (Deb et al., 2002) by Optuna; points that were tried before are not tried again."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.NSGAIISampler(population_size=AT_ONCE, seed=search.seed)
    study = optuna.create_study(directions=list(spec.objectives.values()), sampler=sampler)
    known: dict[tuple[Any, ...], list[float] | None] = {}
    spent = idle = 0
    while spent < search.trials and idle < 20:
        trials = [study.ask() for _ in range(min(AT_ONCE, search.trials - spent))]
        points = [{name: _suggest(trial, name, values) for name, values in spec.vary.items()} for trial in trials]
        keys = [tuple(point.values()) for point in points]
        fresh = {key: point for key, point in zip(keys, points, strict=True) if key not in known and spec.allows(point)}
        idle = 0 if fresh else idle + 1
        figures = yield list(fresh.values())
        for key, figure in zip(fresh, figures or [], strict=True):
            known[key] = None if figure is None else [figure[name] for name in spec.objectives]
        for trial, key in zip(trials, keys, strict=True):
            if known.get(key) is None:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, known[key])
        spent += len(fresh)


def _suggest(trial: Any, name: str, values: Range | list[Any]) -> Any:
    if isinstance(values, Range):
        return trial.suggest_int(name, values.low, values.high, step=values.step)
    return trial.suggest_categorical(name, values)
