"""Figures of candidates: what the kept predictor says, and what is counted from the graph."""

from collections.abc import Sequence

import numpy as np

from nnirp.features.encoder import EncodedGraph
from nnirp.prediction.analytic import precision_of
from nnirp.prediction.exploration.search import Score
from nnirp.prediction.kept import Kept
from nnirp.prediction.predict import loaded

BYTES = {"fp32": 4, "half": 2}


def scorer(kept: Kept) -> Score:
    """Predicted targets with their intervals, parameters, GFLOPs, weights and peak activations in MB."""
    from nnirp.prediction.graph_set import graph_set

    predictor = loaded(kept.weights)

    def score(graphs: Sequence[EncodedGraph]) -> list[dict[str, float]]:
        prediction = predictor.predict(graph_set(graphs, kept.targets))
        mean, low, high = (np.exp2(v) for v in (prediction.mean, prediction.low, prediction.high))
        rows = []
        for i, graph in enumerate(graphs):
            row: dict[str, float] = {}
            for t, target in enumerate(kept.targets):
                if not np.isnan(mean[i, t]):
                    row |= {target: mean[i, t], f"{target}_low": low[i, t], f"{target}_high": high[i, t]}
            row |= {
                "parameters": float(graph.memory[0] / BYTES[precision_of(graph)]),
                "gflops": graph.total_flops / 1e9,
                "weights_mb": float(graph.memory[0] / 2**20),
                "activations_mb": float(graph.memory[1] / 2**20),
            }
            rows.append({name: float(value) for name, value in row.items()})
        return rows

    return score
