"""Exact compression: nodes that a message-passing network of a given depth cannot tell apart are computed once.

Level 0 has a class for every distinct row; level l one for every distinct pair of a level l − 1 class and the multisets of
level l − 1 classes around it (`nnirp.training.colours`). Layer l of a network computes one state a class of level l from the
states of level l − 1: a class hears the neighbours of one of its nodes, an edge each, so that a neighbour class of multiplicity
m arrives over m parallel edges and every aggregation counts it m times: sums, means, attention (inside the softmax), GCN's
normalisation (degrees are part of the row). By induction a class has the state of each of its nodes. A readout weighs a
class by its nodes in each graph. Classes reach across graphs: a sweep over depth or batch computes what its graphs share once.

A whole set is compressed once; the batches of every epoch are cut from it by index arithmetic, and cost what their classes
cost, not their nodes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from nnirp.layers.store import GraphBatch, GraphSet
from nnirp.training.classes import ClassTables, Ragged, build_tables

_CHUNK = 200_000  # nodes coloured at once


@dataclass
class Reading:
    """What a network reads of a batch of G graphs with N nodes and E edges.

    `rows` float32 [N, F] and `op` int64 [N] make a node's first state; messages go along `source` → `target` int64 [E], carrying
    `edge_rows` float32 [E, C] where there are any; `leaf` float32 [N, L] is read of a node after the messages; `graph` int64 [N];
    `statics` float32 [G, S] are features of the whole graph.
    """

    rows: Tensor
    op: Tensor
    source: Tensor
    target: Tensor
    graph: Tensor
    num_graphs: int
    leaf: Tensor | None = None
    edge_rows: Tensor | None = None
    statics: Tensor | None = None


class Reader(Protocol):
    """What compression must know of a network. `producers` and `consumers`: whether messages come from them."""

    depth: int
    producers: bool
    consumers: bool

    def read(self, batch: GraphBatch) -> Reading:
        """Rows and edges of a batch; nothing learned may enter them."""


@dataclass
class Block:
    """One layer's edges: K classes of a level hear the classes of the level below.

    `parent` int64 [K] is the class below that a class refines; `producers` and `consumers` int64 [2, E] lead from classes below
    to classes of this level; `producer_rows`, `consumer_rows` float32 [E, C] belong to their edges, where the network reads any.
    """

    parent: Tensor
    producers: Tensor
    consumers: Tensor
    producer_rows: Tensor | None = None
    consumer_rows: Tensor | None = None

    def both(self) -> Tensor:
        """int64 [2, E]: from producers and consumers alike."""
        return torch.cat([self.producers, self.consumers], dim=1)


@dataclass
class Compressed:
    """G graphs as classes.

    `rows` float32 [K0, F], `op` int64 [K0] of the classes of level 0; `blocks` one a layer. The K classes of the last level are
    split by `leaf` float32 [K, L] where the network reads one, and then `place` int64 [K] is each one's class of the last
    level. Graph `graph[m]` has `count[m]` nodes of class `member[m]` (int64, int64, float32 [M]). `u`, `y`, `memory` as in
    `GraphBatch`; `statics` float32 [G, S] where there are any; `index` int64 [G]: positions of the graphs in the set; `final` int64 [K]: numbers of the classes in the set.
    """

    rows: Tensor
    op: Tensor
    blocks: list[Block]
    leaf: Tensor | None
    place: Tensor
    graph: Tensor
    member: Tensor
    count: Tensor
    u: Tensor
    y: Tensor
    memory: Tensor
    index: Tensor
    final: Tensor
    statics: Tensor | None = None

    @property
    def num_graphs(self) -> int:
        return len(self.u)

    def pool(self, values: Tensor) -> Tensor:
        """Sum of `values` [K, C] over the nodes of each graph: [G, C]."""
        weighted = values[self.member] * self.count[:, None].to(values.dtype)
        return values.new_zeros(self.num_graphs, values.shape[1]).index_add_(0, self.graph, weighted)

    def ancestors(self) -> list[Tensor]:
        """int64 [K] a level, from 0 to the last: each final class's class of that level."""
        found = [self.place]
        for block in reversed(self.blocks):
            found.append(block.parent[found[-1]])
        return found[::-1]

    def to(self, device: torch.device | str) -> "Compressed":
        """The same batch on another device."""
        return _moved(self, device)


class CompressedSet:
    """The graphs of a set as classes, from which batches are cut.

    Attributes:
        node_class: int64 [ΣN], the final class of each node, graph after graph.
        tables: the classes.
        u: float32 [n, 5].
    """

    def __init__(self, graphs: GraphSet, tables: ClassTables) -> None:
        self.tables = tables
        self.node_class = tables.node_class
        self.u, self._y, self._memory = (torch.from_numpy(np.array(a)) for a in (graphs.u, graphs.y, graphs.memory))
        self._where = [torch.zeros(size, dtype=torch.int64) for size in (*tables.sizes, tables.final)]

    def __len__(self) -> int:
        return len(self.u)

    @property
    def classes(self) -> int:
        """Distinct final classes of the whole set."""
        return self.tables.final

    @property
    def rows(self) -> Tensor:
        """float32 [K0, F]: the distinct rows of the set."""
        return self.tables.rows

    @property
    def leaf(self) -> Tensor:
        """float32 [K, L]: what is read of each final class."""
        return self.tables.leaf

    @property
    def statics(self) -> Tensor | None:
        """float32 [n, S]: features of whole graphs."""
        return self.tables.statics

    @property
    def costs(self) -> np.ndarray:
        """int64 [n]: what each graph costs a batch, one and its distinct final classes."""
        return 1 + self.tables.members.counts.numpy()

    def batch(self, positions: np.ndarray | Tensor) -> Compressed:
        """Graphs at these positions."""
        positions = torch.as_tensor(np.asarray(positions, dtype=np.int64))
        t = self.tables
        member, counts, flat = t.members.take(positions)
        final, member = self._local(-1, member)
        here, place = self._local(t.depth, t.place[final])
        blocks = []
        for level in range(t.depth, 0, -1):
            parent = t.parents[level - 1][here]
            heard, hearing, rows = zip(*(self._edges(side, here) for side in t.sides[level - 1]), strict=True)
            below, joined = self._local(level - 1, torch.cat([parent, *heard]))
            parent, *heard = torch.split(joined, [len(parent), *(len(h) for h in heard)])
            edges = [torch.stack(pair) for pair in zip(heard, hearing, strict=True)]
            blocks.append(Block(parent, *edges, *rows))
            here = below
        return Compressed(
            rows=t.rows[here],
            op=t.op[here],
            blocks=blocks[::-1],
            leaf=None if t.leaf is None else t.leaf[final],
            place=place,
            graph=torch.repeat_interleave(torch.arange(len(positions)), counts),
            member=member,
            count=t.member_count[flat],
            u=self.u[positions],
            y=self._y[positions],
            memory=self._memory[positions],
            index=positions,
            final=final,
            statics=None if t.statics is None else t.statics[positions],
        )

    def partition(
        self, max_classes: int, shuffle: bool = False, generator: torch.Generator | None = None
    ) -> Iterator[np.ndarray]:
        """Positions of the graphs of one batch after the other, that cover the set once.

        Args:
            max_classes: bound on the added `costs` of a batch; a graph with more comes alone.
            shuffle: in random order; otherwise in the order of the set.
            generator: source of the order, for a run that can be repeated.
        """
        order = torch.randperm(len(self), generator=generator).numpy() if shuffle else np.arange(len(self))
        ends = np.cumsum(self.costs[order])
        start, used = 0, 0
        while start < len(order):
            stop = max(start + 1, int(np.searchsorted(ends, used + max_classes, side="right")))
            yield order[start:stop]
            start, used = stop, int(ends[stop - 1])

    def batches(self, max_classes: int) -> Iterator[Compressed]:
        """The batches of `partition`, in the order of the set."""
        return map(self.batch, self.partition(max_classes))

    def _local(self, level: int, classes: Tensor) -> tuple[Tensor, Tensor]:
        """The distinct ones, and each one's number among them; `_where` saves the sort that `unique` would do."""
        where = self._where[level]
        where[classes] = 1
        distinct = torch.nonzero(where).squeeze(1) if len(classes) * 8 > len(where) else torch.unique(classes)
        where[distinct] = torch.arange(len(distinct))
        local = where[classes]
        where[distinct] = 0
        return distinct, local

    @staticmethod
    def _edges(side: tuple[Ragged, Tensor | None], here: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        ragged, rows = side
        heard, counts, flat = ragged.take(here)
        return heard, torch.repeat_interleave(torch.arange(len(here)), counts), None if rows is None else rows[flat]


def compress(graphs: GraphSet, reader: Reader, *, merge: bool = True) -> CompressedSet:
    """Group the nodes of a set for a network.

    Args:
        graphs: any set; it is read once, some 200,000 nodes at a time.
        reader: says what is read, how deep messages go and from which side they come.
        merge: False keeps every node a class of its own, which is the network without compression.
    """
    chunks = (reader.read(batch) for batch in graphs.batches(_CHUNK))
    return CompressedSet(graphs, build_tables(chunks, reader.depth, (reader.producers, reader.consumers), merge))


def _moved(value, device):
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, list):
        return [_moved(v, device) for v in value]
    if isinstance(value, Block | Compressed):
        return replace(value, **{f.name: _moved(getattr(value, f.name), device) for f in fields(value)})
    return value
