import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import TARGETS

from nnirp.layers.store import COLUMNS, GraphStore
from nnirp.predictors import create
from nnirp.training.compression import Reading, compress

ROWS = {
    "gcn": {"width": 8, "layers": 2},
    "gat": {"width": 8, "layers": 2, "heads": 2},
    "sage": {"width": 8, "layers": 3},
    "gin": {"width": 8, "layers": 2},
    "nnlp": {"width": 8},
    "brp_nas": {"width": 8, "layers": 3},
    "dippm": {"width": 8, "blocks": 2},
    "additive_roofline": {"width": 8, "members": 1, "depth": 2},
}


def random_store(seed: int, graphs: int, nodes: int) -> GraphStore:
    """Graphs with few distinct features and parallel edges, so that many nodes are equal and some neighbours count twice."""
    import pandas as pd

    generator = np.random.default_rng(seed)
    counts = generator.integers(1, nodes + 1, graphs)
    edges = [np.sort(generator.integers(0, n, (2 * n, 2)), axis=1) for n in counts]
    edges = [pairs[pairs[:, 0] < pairs[:, 1]].astype(np.int32) for pairs in edges]
    total = int(counts.sum())
    ends = [np.cumsum([0, *map(len, parts)]) for parts in (np.split(np.zeros(total), np.cumsum(counts)[:-1]), edges)]
    x = np.log2(1 + generator.integers(1, 3, (total, 14)).astype(np.float32) * 100)
    return GraphStore(
        x=x[:, :1].repeat(14, axis=1).astype(np.float32),
        op=generator.choice([1, 15, 28], total).astype(np.int16),
        edges=np.concatenate(edges),
        edge_attr=np.zeros((int(ends[1][-1]), 18), dtype=np.float32),
        u=generator.uniform(0, 9, (graphs, 5)).astype(np.float32),
        y=generator.uniform(0, 3, (graphs, 2)).astype(np.float32),
        memory=generator.uniform(9, 20, (graphs, 4)).astype(np.float32),
        node_ptr=ends[0].astype(np.int64),
        edge_ptr=ends[1].astype(np.int64),
        samples=pd.DataFrame({name: range(graphs) for name in COLUMNS}),
        targets=TARGETS,
    )


def network_of(name: str, graphs):
    torch.manual_seed(0)
    predictor = create(name, **ROWS[name])
    network = predictor._build(graphs.targets)
    network.measure(graphs, compress(graphs, network))
    return network.eval()


@torch.no_grad()
def outputs(network, graphs, merge: bool) -> torch.Tensor:
    compressed = compress(graphs, network, merge=merge)
    return torch.cat([network.predict(batch)[0] for batch in compressed.batches(50)])


@pytest.mark.parametrize("name", ROWS)
@given(seed=st.integers(0, 10_000), graphs=st.integers(1, 5), nodes=st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_compressed_network_equals_the_plain_one(name, seed, graphs, nodes):
    drawn = random_store(seed, graphs, nodes).all()
    network = network_of(name, drawn)
    torch.testing.assert_close(outputs(network, drawn, True), outputs(network, drawn, False), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ROWS)
def test_gradients_of_the_compressed_network_are_those_of_the_plain_one(name):
    drawn = random_store(3, 4, 10).all()
    network = network_of(name, drawn)
    gradients = []
    for merge in (True, False):
        network.zero_grad()
        network.loss(compress(drawn, network, merge=merge).batch(range(len(drawn)))).backward()
        gradients.append(torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None]))
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=1e-3)


class EdgeReader:
    """Reads edges: a neighbour over another edge is another neighbour."""

    depth, producers, consumers = 1, True, False

    def read(self, batch):
        rows = torch.zeros(len(batch.x), 1)
        edges = batch.edge_attr[:, :1]
        return Reading(rows, batch.op * 0, *batch.edge_index, batch.graph, batch.num_graphs, edge_rows=edges)


def test_edge_features_keep_apart_what_only_they_tell_apart():
    drawn = random_store(0, 6, 10)
    marked = dataclasses.replace(
        drawn, edge_attr=np.random.default_rng(1).integers(0, 2, (len(drawn.edges), 18)).astype(np.float32)
    )
    plain, apart = (compress(store.all(), EdgeReader()) for store in (drawn, marked))
    assert apart.classes > plain.classes
    for merged, split in zip(
        compress(marked.all(), EdgeReader()).batches(20),
        compress(marked.all(), EdgeReader(), merge=False).batches(10**6),
        strict=False,
    ):
        heard = torch.zeros(len(split.place)).index_add_(
            0, split.blocks[0].producers[1], split.blocks[0].producer_rows[:, 0]
        )
        again = torch.zeros(len(merged.blocks[0].parent)).index_add_(
            0, merged.blocks[0].producers[1], merged.blocks[0].producer_rows[:, 0]
        )
        whole = split.pool(heard[:, None])
        torch.testing.assert_close(merged.pool(again[merged.place][:, None]), whole[: merged.num_graphs])


def test_equal_graphs_cost_one():
    one = random_store(1, 1, 10)
    many = GraphStore.from_graphs([one.graph(0)] * 5, one.samples.loc[[0] * 5], TARGETS)
    network = network_of("sage", one.all())
    assert compress(many.all(), network).classes == compress(one.all(), network).classes


def test_a_batch_holds_the_classes_of_its_graphs_alone_and_all_their_nodes():
    drawn = random_store(5, 30, 12).all()
    compressed = compress(drawn, network_of("sage", drawn))
    batch = compressed.batch([4, 17])
    nodes = torch.zeros(2).index_add_(0, batch.graph, batch.count)
    assert nodes.tolist() == drawn.nodes[[4, 17]].tolist()
    assert len(batch.place) <= int(nodes.sum()) < len(compressed.node_class)


def test_partition_bounds_the_classes_of_a_batch_and_covers_the_set_once():
    drawn = random_store(6, 40, 12).all()
    compressed = compress(drawn, network_of("gin", drawn))
    parts = list(compressed.partition(60, shuffle=True, generator=torch.Generator().manual_seed(0)))
    assert sorted(np.concatenate(parts).tolist()) == list(range(40))
    assert all(len(part) == 1 or compressed.costs[part].sum() <= 60 for part in parts)


def test_chunks_of_a_large_set_give_the_classes_of_the_whole(monkeypatch):
    drawn = random_store(7, 20, 12).all()
    network = network_of("gcn", drawn)
    whole = compress(drawn, network)
    monkeypatch.setattr("nnirp.training.compression._CHUNK", 30)
    parts = compress(drawn, network)
    assert parts.tables.sizes == whole.tables.sizes
    torch.testing.assert_close(parts.node_class, whole.node_class)
