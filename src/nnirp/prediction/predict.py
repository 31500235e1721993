"""One encoded model in, one answer out: every target with unit and interval, and what the answer rests on."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from nnirp.features.encoder import EncodedGraph
from nnirp.prediction.answer import UNITS, Answer, Estimate, Operator
from nnirp.prediction.fast.running import Champion, open_champion
from nnirp.prediction.figures import Figures
from nnirp.prediction.kept import Kept
from nnirp.prediction.novelty import novelty_of, read_pool


def predict_encoded(name: str, encoded: EncodedGraph, kept: Kept, *, top_operators: int = 0) -> Answer:
    """Answer for one encoded graph.

    Args:
        name: of the model, for the answer.
        encoded: in the form that the predictor was trained on, `kept.form`.
        kept: the predictor.
        top_operators: how many of the most expensive operators to name, where the predictor can attribute.
    """
    figures = figures_of(encoded, kept, attribute=top_operators > 0)
    estimates = tuple(
        Estimate(target, *(float(np.exp2(v[t])) for v in (figures.mean, figures.low, figures.high)), UNITS[target])
        for t, target in enumerate(kept.targets)
        if not np.isnan(figures.mean[t])
    )
    found = novelty_of(encoded, read_pool(kept.weights))
    return Answer(
        model=name,
        batch=encoded.batch,
        nodes=len(encoded.x),
        gflops=encoded.total_flops / 1e9,
        weights_mb=float(encoded.memory[0]) / 2**20,
        estimates=estimates,
        novel=bool(found),
        novelty=found,
        rests_on=kept.rests_on,
        warnings=tuple(encoded.warnings),
        operators=_operators(figures, encoded, kept, top_operators),
    )


def figures_of(encoded: EncodedGraph, kept: Kept, *, attribute: bool) -> Figures:
    """Ask the predictor: its exported form where there is one, which needs no torch, else itself."""
    champion = champion_of(kept.weights)
    if champion is not None:
        return champion.figures(encoded)
    from nnirp.prediction.graph_set import graph_set

    predictor = loaded(kept.weights)
    graphs = graph_set([encoded], kept.targets)
    prediction = predictor.predict(graphs)
    times = None
    if attribute and hasattr(predictor, "attribute") and "runtime_ms" in kept.targets:
        times = np.asarray(predictor.attribute(graphs, kept.targets.index("runtime_ms"))[0], dtype=np.float64)
    return Figures(prediction.mean[0], prediction.low[0], prediction.high[0], times)


def prepare(kept: Kept) -> None:
    """Load what answers, so that the first question does not wait for it."""
    if champion_of(kept.weights) is None:
        loaded(kept.weights)


@lru_cache(maxsize=4)
def champion_of(weights: Path) -> Champion | None:
    """The exported predictor of a weights folder, None where it was not exported; the last few are kept in memory."""
    return open_champion(weights)


@lru_cache(maxsize=4)
def loaded(weights: Path):
    """The predictor of a weights folder; the last few are kept in memory."""
    from nnirp.predictors import load

    return load(weights)


def _operators(figures: Figures, encoded: EncodedGraph, kept: Kept, count: int) -> tuple[Operator, ...]:
    if not count or figures.milliseconds is None:
        return ()
    times = figures.milliseconds
    order = np.argsort(-times, kind="stable")[:count]
    bounds = kept.rates.bound(encoded.flops[order], encoded.bytes[order], times[order]) if kept.rates else None
    return tuple(
        Operator(
            encoded.op_names[i],
            int(i),
            float(times[i]),
            float(times[i] / times.sum()),
            *(bounds[rank] if bounds else (None, None)),
        )
        for rank, i in enumerate(order)
    )
