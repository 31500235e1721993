"""Memory arithmetic: weights, peak of the live activations, inputs and outputs, largest tensor, all in bytes."""

import numpy as np

from nnirp.features.costs.movement import VIEWS
from nnirp.features.dtypes import tensor_bytes
from nnirp.features.graph import ABSENT, Graph
from nnirp.features.strides import KEEPS_ORDER, Layout, is_view, keep_order

MEMORY_FIELDS = ("weight_bytes", "peak_activation_bytes", "input_output_bytes", "largest_tensor_bytes")


def type_bytes(graph: Graph) -> list[int]:
    """Bytes of each of the graph's types; a size that is not known counts as 1."""
    return [tensor_bytes(dtype, tuple(abs(d) for d in shape or ())) for dtype, shape in graph.types]


def weight_storage(graph: Graph, weights: list[int], size_of: list[int]) -> dict[int, list[int]]:
    """Weight uses grouped by the memory they read: {storage: [position in `weights`, …]}.

    Vectors are not recognised as tied: exporters merge equal biases and scales of an untrained model, which a trained one does
    not share. A scalar or vector (also one of shape [1, n, 1, 1]) therefore counts at each use, under a key of its own.
    """
    groups: dict[int, list[int]] = {}
    for position, tensor in enumerate(weights):
        root = graph.root(tensor)
        groups.setdefault(root if is_matrix(graph.shape(root)) else -position - 1, []).append(position)
    return groups


def is_matrix(shape: tuple[int, ...] | None) -> bool:
    """Whether at least two axes of a shape are longer than 1."""
    return sum(size > 1 for size in shape or ()) >= 2


def peak_activation_bytes(graph: Graph, size_of: list[int]) -> tuple[float, float]:
    """Peak over the execution order of the bytes of tensors alive at once, and the largest of these tensors.

    The order is the file's. A tensor lives from the operator that writes it to the last that reads it, graph inputs from
    start to end (the caller holds them), graph outputs to the end. Views (transpose, slice, a reshape of what lies together)
    share their operand's memory and keep it alive, as in PyTorch's eager mode; a reshape that has to move data, such as one
    after a transpose, is a tensor of its own. Weights are not activations.
    """
    end = len(graph.nodes)
    constant, kinds = graph.is_constant, graph.tensor_type
    root = list(range(len(kinds) + 1))
    birth: dict[int, int] = dict.fromkeys(graph.inputs, 0)
    last: dict[int, int] = dict.fromkeys(graph.inputs, end)
    layouts: dict[int, Layout] = {}
    for i, node in enumerate(graph.nodes):
        op, _, inputs, outputs = node
        for tensor in inputs:
            owner = root[tensor]
            if owner in last and last[owner] < i:
                last[owner] = i
        if op in VIEWS and inputs and is_view(graph, node, layouts):
            owner = root[inputs[0]]
            for tensor in outputs:
                if tensor != ABSENT:
                    root[tensor] = owner
            continue
        if layouts and op in KEEPS_ORDER:
            keep_order(graph, node, layouts)
        for tensor in outputs:
            if tensor != ABSENT and not constant[tensor]:
                birth[tensor] = last[tensor] = i
    for tensor in graph.outputs:
        if root[tensor] in last:
            last[root[tensor]] = end
    if not birth:
        return 0.0, 0.0
    owners = list(birth)
    sizes = np.array([size_of[kinds[t]] for t in owners], dtype=np.float64)
    change = np.zeros(end + 2)
    np.add.at(change, [birth[t] for t in owners], sizes)
    np.add.at(change, [last[t] + 1 for t in owners], -sizes)
    return float(change.cumsum().max()), float(sizes.max())


def memory_bytes(graph: Graph, weights: list[int], groups: dict[int, list[int]], size_of: list[int]) -> np.ndarray:
    """`MEMORY_FIELDS` as float64[4]; tied weights count once."""
    kinds = graph.tensor_type
    sizes = []
    for storage, positions in groups.items():
        tensors = [weights[p] for p in positions]
        sizes.append(size_of[kinds[storage]] if storage >= 0 and graph.is_static(storage) else
                     max(size_of[kinds[t]] for t in tensors))  # fmt: skip
    peak, largest = peak_activation_bytes(graph, size_of)
    ends = sum(size_of[kinds[t]] for t in graph.inputs) + sum(size_of[kinds[t]] for t in set(graph.outputs))
    return np.array([sum(sizes), peak, ends, max([largest, *sizes])], dtype=np.float64)
