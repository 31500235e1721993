"""What the additive roofline reads of a graph, by numpy: `RooflineNetwork.read` without torch.

It says the same as that method, which is checked on real graphs whenever a champion is exported (`exporting`); an export whose
answers differ is not written, so that the two cannot drift apart unnoticed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnirp.features.encoder import EncodedGraph

LANES = (4, 8, 16)


def read(encoded: EncodedGraph, kinds: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The inputs of the exported network.

    Args:
        encoded: a graph of N nodes and E edges.
        kinds: operator numbers by rule and the numbers of the kinds, as `exporting` wrote them.

    Returns:
        rows float32 [N, 4], op int64 [N], source and target int64 [E], leaf float32 [N, 49], memory float32 [1, 4].
    """
    given = _first_input(encoded)
    leaf = [_features(encoded.x, given), _work(encoded.x), _kind(encoded, given, kinds)[:, None].astype(np.float32)]
    source, target = encoded.edge_index
    return {
        "rows": _traits(encoded.x),
        "op": encoded.op,
        "source": np.ascontiguousarray(source),
        "target": np.ascontiguousarray(target),
        "leaf": np.concatenate(leaf, axis=1),
        "memory": np.log2(1 + encoded.memory).astype(np.float32)[None],
    }


def _first_input(encoded: EncodedGraph) -> np.ndarray:
    given = np.zeros((len(encoded.x), 15), dtype=np.float32)
    first = encoded.edge_attr[:, 1] == 0
    attributes = np.concatenate([encoded.edge_attr[:, 2:9], encoded.edge_attr[:, 10:18]], axis=1)
    given[encoded.edge_index[1, first]] = attributes[first]
    return given


def _features(x: np.ndarray, given: np.ndarray) -> np.ndarray:
    flops, read_, written, weights = x[:, :4].T
    elements = x[:, 5:11].sum(axis=1)
    moved = np.logaddexp2(np.logaddexp2(read_, written), weights)
    positions, before = x[:, 7:11].sum(axis=1), given[:, 2:6].sum(axis=1)
    stride = np.where((positions > 0) & (before > 0), before - positions, np.float32(0))
    derived = [flops - moved, flops - written, weights - moved, written - read_, written - elements]
    derived += [flops - elements, positions, stride]
    for log_channels in (x[:, 6], given[:, 1]):
        channels = np.maximum(np.round(np.exp2(log_channels) - 1), 1)
        derived += [np.log2(np.ceil(channels / lanes) * lanes / channels) for lanes in LANES]
    return np.concatenate([x, given, np.stack(derived, axis=1)], axis=1).astype(np.float32)


def _work(x: np.ndarray) -> np.ndarray:
    raw, channels = np.exp2(x[:, 0].astype(np.float64)) - 1, np.exp2(x[:, 6].astype(np.float64)) - 1
    multiplies = (x[:, 13] > 0) & (x[:, 0] - x[:, 2] > 1)
    patches = np.where(multiplies & (channels >= 1), 2 * raw / np.maximum(channels, 1), 0.0)
    weights = np.where(multiplies, x[:, 3], np.float32(0))
    return np.column_stack([x[:, :3], weights, np.log2(1 + patches)]).astype(np.float32)


def _traits(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x[:, 13] > 0, x[:, 0] > 0, x[:, 11], x[:, 0] - x[:, 2] > 4]).astype(np.float32)


def _kind(encoded: EncodedGraph, given: np.ndarray, kinds: Mapping[str, Any]) -> np.ndarray:
    x, op, number = encoded.x, encoded.op, kinds["number"]
    among = {name: np.isin(op, operators) for name, operators in kinds["operators"].items()}
    kind = np.full(len(op), number["other"])
    for name in ("product", "pool", "elementwise", "movement", "view"):
        kind[among[name]] = number[name]
    taken = np.exp2(x[:, 0] - x[:, 2] + 1)
    before, after = np.exp2(given[:, 1]) - 1, np.exp2(x[:, 6]) - 1
    flat = np.abs(taken / np.maximum(before, 1) - 1) < 0.05
    alike = np.abs(after - before) < 0.5
    kind[among["convolution"]] = number["dense convolution"]
    kind[among["convolution"] & (taken < 66) & alike] = number["depthwise convolution"]
    kind[among["convolution"] & flat & (before > 0.5)] = number["pointwise convolution"]
    inner = _joins(encoded, among)
    kind[inner] = number["fused"]
    kind[inner & (x[:, 11] > 1.1)] = number["fused with a second input"]
    return kind


def _joins(encoded: EncodedGraph, among: Mapping[str, np.ndarray]) -> np.ndarray:
    """Nodes that run in their producer's kernel: bool [N]."""
    source, target = encoded.edge_index
    consumers = np.bincount(source, minlength=len(encoded.op))
    moves = among["view"] | among["movement"]
    joins = (among["elementwise"][target] & ~moves[source]) | among["view"][target]
    fused = (encoded.edge_attr[:, 1] == 0) & (consumers[source] == 1) & joins
    inner = np.zeros(len(encoded.op), dtype=bool)
    inner[target[fused]] = True
    return inner


def sequences(numbers: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """Plain lists for JSON."""
    return {name: [int(n) for n in values] for name, values in numbers.items()}
