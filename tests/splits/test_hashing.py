import numpy as np
import pytest

from nnirp.splits.hashing import graph_hashes

NAMES = {"configuration": 0, "cluster": "c", "sub_family": "s", "family": "f"}


@pytest.fixture
def hashes(make):
    def hash_all(*graphs):
        rows = [({"sample": f"s{i}", **NAMES}, graph) for i, graph in enumerate(graphs)]
        return graph_hashes(make.store_of(rows))

    return hash_all


def test_reordered_nodes_keep_both_hashes(make, hashes):
    graph = make.chain([1, 2, 3, 1, 2, 2, 4])
    found = hashes(graph, make.permuted(graph, seed=3))
    assert found.exact[0] == found.exact[1] and found.topology[0] == found.topology[1]


def test_another_batch_keeps_the_topology_only(make, hashes):
    found = hashes(make.chain([1, 2, 3, 1]), make.chain([1, 2, 3, 1], batch=8))
    assert found.exact[0] != found.exact[1] and found.topology[0] == found.topology[1]


def test_another_operator_direction_or_edge_changes_the_topology(make, hashes):
    a = make.chain([1, 2, 3, 1, 4])
    reverse = (*a[:2], a[2][:, ::-1], *a[3:])
    shorter = (*a[:2], a[2][:-1], a[3][:-1], a[4])
    found = hashes(a, make.chain([1, 2, 3, 1, 3]), reverse, shorter)
    assert len(set(found.topology.tolist())) == 4


def test_hashes_do_not_depend_on_the_chunk_size(store, monkeypatch):
    whole = graph_hashes(store)
    monkeypatch.setattr("nnirp.splits.hashing.NODES_PER_CHUNK", 50)
    parts = graph_hashes(store)
    assert np.array_equal(whole.exact, parts.exact) and np.array_equal(whole.topology, parts.topology)
