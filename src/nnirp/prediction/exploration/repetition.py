"""An encoded graph of three equal blocks → the encoded graph of any number of them.

A block is found where the rows of nodes repeat. Whether the repetition is what a deeper model really has is seen by tracing one and
comparing; nothing here is trusted before that.
"""

from dataclasses import dataclass, replace

import numpy as np

from nnirp.errors import NnirpError
from nnirp.features.encoder import EncodedGraph

BLOCKS = 3
"""Depth of the graph that is traced: a first block, a last one and one between two of its kind."""


class RepetitionError(NnirpError):
    """No three equal blocks are in the graph."""


@dataclass(frozen=True)
class Block:
    """Nodes `start` to `start + length`: the last of the equal ones; the one before it lies right before it."""

    start: int
    length: int


def find_block(encoded: EncodedGraph) -> Block:
    """The block that a graph of three of them repeats: the period whose run covers most nodes, the shortest of these.

    The first block may hold more, such as a mask that is computed where it is first needed, so that two equal ones are enough.

    Raises:
        RepetitionError: there is none.
    """
    rows = np.column_stack([encoded.x, encoded.op.astype(np.float32)])
    _, kind = np.unique(rows, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    best: tuple[int, int, int] | None = None  # covered nodes, −length, start
    for length in range(len(kind) // 2, 1, -1):
        equal = kind[length:] == kind[:-length]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], equal.astype(np.int8), [0]])))
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            if 1 <= (end - begin) // length < BLOCKS:
                found = (int(end - begin) + length, -length, int(end))
                best = max(best, found) if best else found
    if best is None:
        raise RepetitionError("no block that repeats was found")
    return Block(best[2], -best[1])


def repeat(encoded: EncodedGraph, block: Block, depth: int) -> EncodedGraph:
    """The graph with `depth` blocks in place of three.

    Args:
        encoded: a graph of three blocks.
        block: as `find_block` found it.
        depth: at least 3.
    """
    more, start, length = depth - BLOCKS, block.start, block.length
    if more < 0:
        raise RepetitionError(f"{depth} blocks cannot be made of {BLOCKS}")
    if more == 0:
        return encoded
    end = start + length
    nodes = np.concatenate([np.arange(end), np.tile(np.arange(start, end), more), np.arange(end, len(encoded.op))])
    source, target = encoded.edge_index
    inside = (target >= start) & (target < end)

    def moved(sources: np.ndarray, shift: int) -> np.ndarray:
        """What lies in the block before or in this one moves along, what lies further back (a mask for all) stays."""
        return np.where(sources >= start - length, sources + shift, sources)

    before = target < end
    sources, targets = [source[before]], [target[before]]
    rows = [np.flatnonzero(before)]
    for copy in range(1, more + 1):
        sources.append(moved(source[inside], copy * length))
        targets.append(target[inside] + copy * length)
        rows.append(np.flatnonzero(inside))
    after = target >= end
    sources.append(moved(source[after], more * length))
    targets.append(target[after] + more * length)
    rows.append(np.flatnonzero(after))
    edge_rows = np.concatenate(rows)
    attributes = encoded.edge_attr[edge_rows]
    edge_index = np.stack([np.concatenate(sources), np.concatenate(targets)])
    order = np.lexsort((attributes[:, 1], edge_index[1]))
    weights = float(np.round(np.exp2(encoded.x[start:end, 3].astype(np.float64)) - 1).sum())
    flops, moved_bytes = encoded.flops[nodes], encoded.bytes[nodes]
    tied_again = encoded.bytes.sum() - np.exp2(float(encoded.u[3]))
    totals = [len(nodes), edge_index.shape[1], flops.sum(), moved_bytes.sum() - tied_again, encoded.batch]
    memory = encoded.memory + np.array([more * weights, 0.0, 0.0, 0.0])
    return replace(
        encoded,
        x=encoded.x[nodes],
        op=encoded.op[nodes],
        edge_index=edge_index[:, order],
        edge_attr=attributes[order],
        u=np.log2(np.maximum(np.array(totals, dtype=np.float64), 1.0)).astype(np.float32),
        memory=memory,
        flops=flops,
        bytes=moved_bytes,
        op_names=tuple(np.array(encoded.op_names, dtype=object)[nodes]),
    )


def same(first: EncodedGraph, second: EncodedGraph) -> bool:
    """Whether two encoded graphs are equal for a predictor; totals within rounding."""
    return (
        first.x.shape == second.x.shape
        and first.edge_index.shape == second.edge_index.shape
        and np.array_equal(first.op, second.op)
        and np.allclose(first.x, second.x, rtol=0, atol=1e-5)
        and _edges(first) == _edges(second)
        and np.allclose(first.u, second.u, rtol=0, atol=1e-4)
        and np.allclose(first.memory, second.memory, rtol=1e-5, atol=0)
    )


def _edges(encoded: EncodedGraph) -> list[tuple[int, ...]]:
    ports = encoded.edge_attr[:, :2].astype(np.int64)
    return sorted(map(tuple, np.column_stack([encoded.edge_index.T, ports]).tolist()))
