import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from nnirp.errors import InputError
from nnirp.layers.store import COLUMNS, GraphStore

FIELDS = {
    "x": "x",
    "op": "op_type_id",
    "edge_index": "edge_index",
    "edge_attr": "edge_attr",
    "u": "u",
    "y": "y",
    "graph": "batch",
}


def table(n):
    row = dict.fromkeys(COLUMNS, "a") | {"configuration": 1, "batch": 1, "size": 2, "parametric": False}
    return pd.DataFrame([row | {"sample": f"s{i}"} for i in range(n)], columns=list(COLUMNS))


@pytest.fixture(scope="module")
def make_store(make_graph):
    def make(sizes):
        graphs = [make_graph(n, e, seed=i) for i, (n, e) in enumerate(sizes)]
        return graphs, GraphStore.from_graphs(graphs, table(len(graphs)), ("runtime_ms", "peak_ram_mb"))

    return make


SIZES = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 15)), min_size=1, max_size=8)


@given(SIZES, st.data())
@settings(max_examples=60)
def test_a_batch_equals_that_of_pytorch_geometric(make_store, tmp_path_factory, sizes, data):
    graphs, store = make_store(sizes)
    if data.draw(st.booleans()):
        folder = tmp_path_factory.mktemp("s") / "store"
        store.save(folder)
        store = GraphStore.open(folder)
    chosen = data.draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=10))
    ours, theirs = store.batch(chosen), Batch.from_data_list([graphs[i] for i in chosen])
    for name, other in FIELDS.items():
        assert torch.equal(getattr(ours, name), theirs[other]) and getattr(ours, name).dtype == theirs[other].dtype, (
            name
        )
    assert ours.num_graphs == theirs.num_graphs == len(chosen)


@given(SIZES, st.integers(1, 30), st.booleans())
@settings(max_examples=60)
def test_batches_cover_the_set_once_and_keep_the_bound(make_store, sizes, limit, shuffle):
    _, store = make_store(sizes)
    seen = []
    for batch in store.all().batches(limit, shuffle, torch.Generator().manual_seed(1)):
        assert len(batch.x) <= limit or batch.num_graphs == 1
        seen.extend(batch.index.tolist())
    assert sorted(seen) == list(range(len(sizes))) and (shuffle or seen == sorted(seen))


def test_a_store_on_disk_is_bit_exact_and_mapped(make_store, tmp_path):
    graphs, store = make_store([(3, 4), (5, 0), (1, 2)])
    store.save(tmp_path / "s")
    again = GraphStore.open(tmp_path / "s")
    for i, graph in enumerate(graphs):
        back = again.graph(i)
        assert all(torch.equal(back[k], graph[k]) for k in graph.keys())  # noqa: SIM118
        assert back.sample == f"s{i}" and back.input_batch == 1
    assert (
        isinstance(again.x.base, np.memmap) and again.samples.equals(store.samples) and again.targets == store.targets
    )
    (tmp_path / "s" / "x.bin").write_bytes(b"short")
    with pytest.raises(InputError, match=r"x.bin has 5 bytes"):
        GraphStore.open(tmp_path / "s")


def test_sets_select_and_relabel_without_touching_the_store(make_store):
    _, store = make_store([(3, 4)] * 5)
    part = store.subset([4, 1, 2]).select(np.array([True, False, True]))
    assert part.samples["sample"].tolist() == ["s4", "s2"] and part[0].sample == "s4" and len(list(part)) == 2
    new = part.relabel(np.array([[7.0], [np.nan]]), targets=("energy_j",))
    assert new.targets == ("energy_j",) and new.y[0, 0] == 7 and np.isnan(new.y[1, 0])
    assert new.batch([1, 0]).y[1, 0] == 7 and store.y.shape == (5, 2)
    with pytest.raises(ValueError, match="boolean of shape"):
        part.select(np.array([1, 0]))
    with pytest.raises(ValueError, match="shape"):
        part.relabel(np.zeros((3, 2)))


def test_memory_is_log2_of_bytes_and_unknown_is_nan(make_graph, make_store, memory_bytes):
    graphs = [make_graph(seed=i) for i in range(3)]
    store = GraphStore.from_graphs(graphs, table(3), ("a", "b"), memory_bytes)
    assert np.allclose(store.memory[0], np.log2([11, 21, 31, 41]))
    assert np.isnan(make_store([(1, 1)])[1].memory).all()


def test_a_graph_of_another_width_is_refused(make_graph):
    with pytest.raises(InputError, match="3 targets, expected 2"):
        GraphStore.from_graphs([make_graph(targets=3)], table(1), ("a", "b"))
