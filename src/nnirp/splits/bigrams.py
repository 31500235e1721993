"""Operator bigrams: ordered pairs (operator of the producer, operator of the consumer), one per edge of a graph."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

EDGES_PER_CHUNK = 4_000_000
"""Edges held in memory at once when a store is read; bounds the working set to about 200 MB."""


class Coverage(NamedTuple):
    """Share of a group's bigrams that a pool contains: of the distinct ones, and of all edges."""

    distinct: float
    weighted: float


@dataclass(frozen=True)
class BigramTable:
    """Edge counts per row and bigram.

    rows: what each row is (sample names, configuration ids, cluster names).
    bigrams: the ordered operator pairs of the columns, sorted.
    counts: sparse float64 [rows, bigrams], number of edges.
    """

    rows: tuple[Any, ...]
    bigrams: tuple[tuple[Any, Any], ...]
    counts: sparse.csr_array

    @classmethod
    def from_counters(cls, graphs: Mapping[Any, Iterable[Mapping[tuple[Any, Any], int]]]) -> "BigramTable":
        """One row per key, summed over the edge counters {(producer, consumer): edges} of its graphs."""
        rows = tuple(sorted(graphs))
        totals: list[dict[tuple[Any, Any], float]] = []
        for key in rows:
            total: dict[tuple[Any, Any], float] = {}
            for counter in graphs[key]:
                for bigram, edges in counter.items():
                    total[tuple(bigram)] = total.get(tuple(bigram), 0.0) + edges
            totals.append(total)
        bigrams = tuple(sorted({bigram for total in totals for bigram in total}))
        column = {bigram: j for j, bigram in enumerate(bigrams)}
        entries = [(i, column[b], n) for i, total in enumerate(totals) for b, n in total.items()]
        i, j, n = zip(*entries, strict=True) if entries else ((), (), ())
        shape = (len(rows), len(bigrams))
        index = (np.array(i, dtype=np.int64), np.array(j, dtype=np.int64))
        return cls(rows, bigrams, sparse.csr_array((np.array(n, dtype=np.float64), index), shape=shape))

    @classmethod
    def from_store(cls, store: Any) -> "BigramTable":
        """One row per graph of a packed store, named by its sample; reads the store in chunks of edges."""
        names = tuple(store.samples["sample"])
        edge_ptr, node_ptr = np.asarray(store.edge_ptr), np.asarray(store.node_ptr)
        radix = int(np.max(store.op, initial=0)) + 1
        keys, values, lengths = [], [], []
        start = 0
        while start < len(names):
            stop = int(np.searchsorted(edge_ptr, edge_ptr[start] + EDGES_PER_CHUNK, side="right")) - 1
            stop = min(max(stop, start + 1), len(names))
            edges = np.asarray(store.edge_index[:, edge_ptr[start] : edge_ptr[stop]], dtype=np.int64)
            graph = np.repeat(np.arange(start, stop), np.diff(edge_ptr[start : stop + 1]))
            op = np.asarray(store.op[node_ptr[start] : node_ptr[stop]], dtype=np.int64)
            shift = node_ptr[graph] - node_ptr[start]
            bigram = op[edges[0] + shift] * radix + op[edges[1] + shift]
            key, count = np.unique(graph * radix**2 + bigram, return_counts=True)
            keys.append(key)
            values.append(count)
            lengths.append(len(key))
            start = stop
        key = np.concatenate(keys) if keys else np.zeros(0, dtype=np.int64)
        row, code = np.divmod(key, radix**2)
        present, column = np.unique(code, return_inverse=True)
        bigrams = tuple((int(c // radix), int(c % radix)) for c in present)
        data = np.concatenate(values).astype(np.float64) if values else np.zeros(0)
        return cls(names, bigrams, sparse.csr_array((data, (row, column)), shape=(len(names), len(bigrams))))

    def group(self, labels: Sequence[Any], where: np.ndarray | None = None) -> "BigramTable":
        """Sums rows by label; `where` (bool [rows]) leaves rows out. Rows of the result are the sorted labels."""
        labels = np.asarray(labels)
        chosen = np.flatnonzero(np.ones(len(labels), dtype=bool) if where is None else where)
        names, code = np.unique(labels[chosen], return_inverse=True)
        ones = np.ones(len(chosen))
        membership = sparse.csr_array((ones, (code, chosen)), shape=(len(names), len(labels)))
        return BigramTable(tuple(names.tolist()), self.bigrams, sparse.csr_array(membership @ self.counts))

    def take(self, order: np.ndarray) -> "BigramTable":
        """The rows at these positions, in this order."""
        return BigramTable(tuple(self.rows[i] for i in order), self.bigrams, self.counts[order])

    def distinct(self) -> np.ndarray:
        """bool [rows, bigrams]: does the row contain the bigram."""
        return self.counts.toarray() > 0

    def pool(self, where: np.ndarray | None = None) -> np.ndarray:
        """bool [bigrams]: which bigrams occur in the chosen rows."""
        counts = self.counts if where is None else self.counts[np.flatnonzero(where)]
        return np.asarray(counts.sum(axis=0)).ravel() > 0

    def coverage(self, pool: np.ndarray) -> list[Coverage]:
        """Coverage of every row against a pool (bool [bigrams]); a row without edges is fully covered."""
        present = sparse.csr_array((self.counts > 0).astype(np.float64))
        inside = pool.astype(np.float64)
        pairs = []
        for matrix in (present, self.counts):
            total, found = np.asarray(matrix.sum(axis=1)).ravel(), matrix @ inside
            pairs.append(np.divide(found, total, out=np.ones_like(found), where=total > 0))
        return [Coverage(float(d), float(w)) for d, w in zip(*pairs, strict=True)]


def held_out_coverage(
    table: BigramTable, labels: Sequence[Any], held: np.ndarray, train: np.ndarray
) -> dict[Any, Coverage]:
    """Coverage of each label's held-out rows (bool [rows]) against the rows that are trained on (bool [rows])."""
    grouped = table.group(labels, where=held)
    return dict(zip(grouped.rows, grouped.coverage(table.pool(train)), strict=True))
