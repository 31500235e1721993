"""Graph hashes that ignore names and order (Weisfeiler-Lehman), and the seeded hash that assigns names to parts.

Weisfeiler-Lehman colour refinement: Shervashidze et al., JMLR 2011. Colours are 64-bit; a node's new colour mixes its
own with the sums of its producers' and of its consumers', and a graph's hash mixes the sums over all rounds.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

ROUNDS = 4
NODES_PER_CHUNK = 1_000_000


@dataclass(frozen=True)
class GraphHashes:
    """exact: equal operators, features and wiring; topology: equal operators and wiring. uint64 [graphs] each."""

    exact: np.ndarray
    topology: np.ndarray


def _mix(value: np.ndarray, salt: int = 0) -> np.ndarray:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), element-wise on uint64."""
    value = value + np.uint64((0x9E3779B97F4A7C15 * (salt + 1)) & 0xFFFFFFFFFFFFFFFF)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def _row_hash(features: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(features + np.float32(0), dtype=np.float32).view(np.uint32).astype(np.uint64)
    total = np.zeros(len(bits), dtype=np.uint64)
    for column in range(bits.shape[1]):
        total += _mix(bits[:, column], salt=column + 1)
    return total


def _graph_sum(colour: np.ndarray, graph: np.ndarray, graphs: int) -> np.ndarray:
    total = np.zeros(graphs, dtype=np.uint64)
    np.add.at(total, graph, colour)
    return total


def _refine(colour: np.ndarray, edges: np.ndarray, edge: np.ndarray | None, graph: np.ndarray, n: int) -> np.ndarray:
    source, target = edges
    result = _graph_sum(_mix(colour, 1), graph, n)
    for _ in range(ROUNDS):
        incoming, outgoing = np.zeros_like(colour), np.zeros_like(colour)
        along, back = colour[source], colour[target]
        if edge is not None:
            along, back = along ^ edge, back ^ edge
        np.add.at(incoming, target, _mix(along, 2))
        np.add.at(outgoing, source, _mix(back, 3))
        colour = _mix(colour + _mix(incoming, 4) + _mix(outgoing, 5), 6)
        result = _mix(result) + _graph_sum(_mix(colour, 1), graph, n)
    return result


def graph_hashes(store: Any) -> GraphHashes:
    """Hashes of every graph of a packed store; a renamed copy keeps both, another batch size keeps the topology."""
    count = len(store.samples)
    node_ptr, edge_ptr = np.asarray(store.node_ptr), np.asarray(store.edge_ptr)
    exact, topology = np.zeros(count, dtype=np.uint64), np.zeros(count, dtype=np.uint64)
    start = 0
    while start < count:
        stop = int(np.searchsorted(node_ptr, node_ptr[start] + NODES_PER_CHUNK, side="right")) - 1
        stop = min(max(stop, start + 1), count)
        nodes, links = slice(node_ptr[start], node_ptr[stop]), slice(edge_ptr[start], edge_ptr[stop])
        graph = np.repeat(np.arange(stop - start), np.diff(node_ptr[start : stop + 1]))
        shift = np.repeat(node_ptr[start:stop] - node_ptr[start], np.diff(edge_ptr[start : stop + 1]))
        edges = np.asarray(store.edge_index[:, links], dtype=np.int64) + shift
        op = _mix(np.asarray(store.op[nodes]).astype(np.uint64))
        topology[start:stop] = _refine(op, edges, None, graph, stop - start)
        coloured = _mix(op + _row_hash(np.asarray(store.x[nodes])))
        ports = _row_hash(np.asarray(store.edge_attr[links]))
        exact[start:stop] = _refine(coloured, edges, ports, graph, stop - start)
        start = stop
    return GraphHashes(exact, topology)


def fraction(seed: int, name: str) -> float:
    """A number in [0, 1) that depends on the seed and the name alone, so it never moves when data are added."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
