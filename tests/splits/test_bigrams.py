from collections import Counter

import numpy as np

from nnirp.splits.bigrams import BigramTable, held_out_coverage


def edges_of(store, i):
    op = store.op[store.node_ptr[i] : store.node_ptr[i + 1]]
    edges = store.edge_index[:, store.edge_ptr[i] : store.edge_ptr[i + 1]]
    return Counter((int(op[a]), int(op[b])) for a, b in edges.T)


def test_table_counts_the_edges_of_every_graph(store):
    table = BigramTable.from_store(store)
    dense = table.counts.toarray()
    for i in range(len(store)):
        assert {b: n for b, n in zip(table.bigrams, dense[i], strict=True) if n} == edges_of(store, i)


def test_table_does_not_depend_on_the_chunk_size(store, monkeypatch):
    whole = BigramTable.from_store(store)
    monkeypatch.setattr("nnirp.splits.bigrams.EDGES_PER_CHUNK", 100)
    parts = BigramTable.from_store(store)
    assert whole.bigrams == parts.bigrams and (whole.counts != parts.counts).nnz == 0


def test_coverage_counts_distinct_bigrams_and_edges():
    table = BigramTable.from_counters({"a": [{("Conv", "Relu"): 9, ("Relu", "Add"): 1}], "b": [{("Conv", "Relu"): 2}]})
    coverage = held_out_coverage(table, ["a", "b"], np.array([True, False]), np.array([False, True]))
    assert coverage["a"] == (0.5, 0.9)


def test_a_row_without_edges_is_covered():
    table = BigramTable.from_counters({"a": [{}], "b": [{("Conv", "Relu"): 2}]})
    assert table.coverage(table.pool(np.array([False, True])))[0] == (1.0, 1.0)
