"""Tables of the classes of a set of graphs, level by level, built chunk by chunk from the colours of its nodes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nnirp.training.colours import join, refine, row_colours


@dataclass
class Ragged:
    """Rows of unequal length in one array: row i is `values[starts[i] : starts[i] + counts[i]]`; all int64."""

    values: Tensor
    starts: Tensor
    counts: Tensor

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The chosen rows one after the other, their lengths, and where each value lies in `values`."""
        counts = self.counts[rows]
        ends = counts.cumsum(0)
        shift = self.starts[rows] - (ends - counts)
        flat = torch.repeat_interleave(shift, counts) + torch.arange(int(ends[-1]) if len(ends) else 0)
        return self.values[flat], counts, flat

    @classmethod
    def of(cls, values: Tensor, counts: Tensor) -> "Ragged":
        return cls(values, counts.cumsum(0) - counts, counts)


@dataclass
class ClassTables:
    """The classes of a set.

    `rows` float32 [K0, F], `op` int64 [K0]: level 0. For each level 1 … depth: `parents` int64 [Kl], and `sides`: from producers and
    from consumers the classes below that a class hears, and their edges' rows. `place` int64 [K]: the last level's class
    of each final one; `leaf` float32 [K, L]; `members` the final classes of each graph, `member_count` float32 how many nodes each
    stands for; `node_class` int64 [ΣN]; `statics` float32 [n, S]; `sizes` Kl a level; `final` K.
    """

    rows: Tensor
    op: Tensor
    parents: list[Tensor]
    sides: list[tuple[tuple[Ragged, Tensor | None], ...]]
    place: Tensor
    leaf: Tensor | None
    members: Ragged
    member_count: Tensor
    node_class: Tensor
    statics: Tensor | None
    sizes: tuple[int, ...]
    final: int

    @property
    def depth(self) -> int:
        return len(self.parents)


def build_tables(readings: Iterable, depth: int, heard: tuple[bool, bool], merge: bool) -> ClassTables:
    """Tables of the classes of `nnirp.training.compression.Reading`s that follow each other.

    Args:
        readings: chunks of a set, at least one.
        depth: layers of messages.
        heard: whether producers and consumers are heard.
        merge: False keeps every node apart.
    """
    chunks = [_Chunk.of(reading, depth, heard, merge, number) for number, reading in enumerate(readings)]
    known, picks = zip(*(_distinct([c.colours[level] for c in chunks]) for level in range(depth + 2)), strict=True)
    parents, sides = [], []
    for level in range(1, depth + 1):
        parents.append(_find(known[level - 1], _pick([c.parents[level] for c in chunks], picks[level])))
        sides.append(tuple(_side(chunks, level, side, known[level - 1], picks[level]) for side in range(2)))
    node_class = _find(known[-1], torch.cat([c.nodes for c in chunks]))
    members, member_count = _members(chunks, node_class, len(known[-1]))
    leaves = [c.leaf for c in chunks]
    return ClassTables(
        rows=_pick([c.rows for c in chunks], picks[0]),
        op=_pick([c.op for c in chunks], picks[0]),
        parents=parents,
        sides=sides,
        place=_find(known[depth], _pick([c.parents[depth + 1] for c in chunks], picks[-1])),
        leaf=None if leaves[0] is None else _pick(leaves, picks[-1]),
        members=members,
        member_count=member_count,
        node_class=node_class,
        statics=None if chunks[0].statics is None else torch.cat([c.statics for c in chunks]),
        sizes=tuple(len(k) for k in known[:-1]),
        final=len(known[-1]),
    )


@dataclass
class _Chunk:
    """The distinct classes of one chunk; levels 0 … depth and, last, the final classes.

    `colours[l]` int64 [kl] sorted; `parents[l]` int64 [kl] colours of the level below; `sides[l][s]` neighbours' colours as ragged
    rows with their edges' rows; `nodes` int64 [n] final colours; `graph` int64 [n] numbered within the chunk.
    """

    colours: list[Tensor]
    rows: Tensor
    op: Tensor
    leaf: Tensor | None
    parents: list[Tensor | None]
    sides: list
    nodes: Tensor
    graph: Tensor
    statics: Tensor | None
    graphs: int

    @classmethod
    def of(cls, reading, depth: int, heard: tuple[bool, bool], merge: bool, number: int) -> "_Chunk":
        n = len(reading.rows)
        edge = None if reading.edge_rows is None else row_colours(reading.edge_rows)
        colour = row_colours(reading.rows, reading.op) if merge else (torch.arange(n) + number * (1 << 40))
        levels = [colour]
        for _ in range(depth):
            colour = refine(colour, reading.source, reading.target, edge, producers=heard[0], consumers=heard[1])
            levels.append(colour)
        levels.append(colour if reading.leaf is None else join(colour, row_colours(reading.leaf)))
        distinct, first = zip(*(_first(level) for level in levels), strict=True)
        parents = [None, *(levels[i][first[i + 1]] for i in range(depth + 1))]
        sides = [()]
        for level in range(1, depth + 1):
            pairs = ((reading.source, reading.target), (reading.target, reading.source))
            sides.append(
                tuple(
                    _neighbours(levels[level - 1], *pair, first[level], reading.edge_rows, used)
                    for pair, used in zip(pairs, heard, strict=True)
                )
            )
        return cls(
            colours=list(distinct),
            rows=reading.rows[first[0]],
            op=reading.op[first[0]],
            leaf=None if reading.leaf is None else reading.leaf[first[-1]],
            parents=parents,
            sides=sides,
            nodes=levels[-1],
            graph=reading.graph,
            statics=reading.statics,
            graphs=reading.num_graphs,
        )


def _first(values: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct values in rising order and where each is first."""
    distinct, first = np.unique(values.numpy(), return_index=True)
    return torch.from_numpy(distinct), torch.from_numpy(first)


def _neighbours(colour: Tensor, heard: Tensor, hearing: Tensor, chosen: Tensor, edge_rows: Tensor | None, used: bool):
    """Colours of the neighbours of the chosen nodes as ragged rows, and their edges' rows."""
    position = torch.full((len(colour),), -1)
    position[chosen] = torch.arange(len(chosen))
    edges = torch.nonzero(position[hearing] >= 0).squeeze(1) if used else torch.zeros(0, dtype=torch.int64)
    row = position[hearing[edges]]
    order = torch.argsort(row, stable=True)
    edges = edges[order]
    counts = torch.bincount(row, minlength=len(chosen))
    return Ragged.of(colour[heard[edges]], counts), None if edge_rows is None else edge_rows[edges]


def _distinct(parts: list[Tensor]) -> tuple[Tensor, Tensor]:
    """The distinct colours of all chunks in rising order, and where each is first when the chunks follow each other."""
    return _first(torch.cat(parts))


def _pick(parts: list[Tensor], rows: Tensor) -> Tensor:
    return torch.cat(parts)[rows]


def _find(known: Tensor, values: Tensor) -> Tensor:
    return torch.searchsorted(known, values)


def _side(chunks: list[_Chunk], level: int, side: int, below: Tensor, rows: Tensor) -> tuple[Ragged, Tensor | None]:
    ragged, edge_rows = zip(*(c.sides[level][side] for c in chunks), strict=True)
    values, counts, flat = Ragged.of(torch.cat([r.values for r in ragged]), torch.cat([r.counts for r in ragged])).take(
        rows
    )
    return Ragged.of(_find(below, values), counts), None if edge_rows[0] is None else torch.cat(edge_rows)[flat]


def _members(chunks: list[_Chunk], node_class: Tensor, classes: int) -> tuple[Ragged, Tensor]:
    graphs = sum(c.graphs for c in chunks)
    starts = np.cumsum([0, *(c.graphs for c in chunks)])
    parts = [c.graph + int(s) for c, s in zip(chunks, starts, strict=False)]
    graph = torch.cat(parts)
    width = max(classes, 1)
    key, count = torch.unique(graph * width + node_class, return_counts=True)
    per_graph = torch.bincount(key // width, minlength=graphs)
    return Ragged.of(key % width, per_graph), count.float()
