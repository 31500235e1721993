"""Sums over the operators of each graph, for predictors that see a graph as one row."""

import numpy as np

from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import GraphSet

FLOPS, INPUT_BYTES, OUTPUT_BYTES, WEIGHT_BYTES = 0, 1, 2, 3  # columns of `x`, each log2(1 + v)
INPUTS, WEIGHTS = 11, 13  # columns of `x`: log2(1 + number of inputs, of weights)
_NODES_AT_ONCE = 200_000


def graph_totals(graphs: GraphSet) -> np.ndarray:
    """float64 [n, 3]: FLOPs, bytes moved (inputs, outputs and weights) and operators of each graph."""
    total = np.zeros((len(graphs), 3))
    for batch in graphs.batches(_NODES_AT_ONCE):
        raw = np.exp2(batch.x[:, :4].double().numpy()) - 1
        rows = batch.index.numpy()[batch.graph.numpy()]
        np.add.at(total, rows, np.column_stack([raw[:, FLOPS], raw[:, 1:].sum(1), np.ones(len(raw))]))
    return total


def operator_totals(graphs: GraphSet) -> np.ndarray:
    """float64 [n, 3 × operators]: per operator of the vocabulary the number of nodes, their FLOPs and bytes, each as log2(1 + v)."""
    operators = len(load_vocabulary())
    total = np.zeros((len(graphs) * operators, 3))
    for batch in graphs.batches(_NODES_AT_ONCE):
        raw = np.exp2(batch.x[:, :4].double().numpy()) - 1
        rows = batch.index.numpy()[batch.graph.numpy()] * operators + batch.op.numpy()
        np.add.at(total, rows, np.column_stack([np.ones(len(raw)), raw[:, FLOPS], raw[:, 1:].sum(1)]))
    return np.log2(1 + total).reshape(len(graphs), operators, 3).transpose(0, 2, 1).reshape(len(graphs), 3 * operators)
