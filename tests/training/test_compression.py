import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.nn import SAGEConv

from nnirp.layers.store import GraphBatch
from nnirp.training.compression import compress


def random_batch(seed: int, graphs: int, nodes: int) -> GraphBatch:
    """Graphs with few distinct features, so that many nodes are equal."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(0, nodes, (2, graphs * nodes), generator=generator).sort(0).values
    edges += (torch.arange(graphs).repeat_interleave(nodes) * nodes)[None]
    return GraphBatch(
        x=torch.randint(0, 2, (graphs * nodes, 2), generator=generator).float(),
        op=torch.randint(0, 2, (graphs * nodes,), generator=generator),
        edge_index=edges[:, edges[0] != edges[1]],
        edge_attr=torch.zeros(0, 18),
        graph=torch.arange(graphs).repeat_interleave(nodes),
        u=torch.zeros(graphs, 5),
        y=torch.zeros(graphs, 1),
        memory=torch.zeros(graphs, 4),
        num_graphs=graphs,
        index=torch.arange(graphs),
    )


@pytest.mark.parametrize("aggregation", ["mean", "sum", "max"])
@given(seed=st.integers(0, 10_000), graphs=st.integers(1, 4), nodes=st.integers(1, 12), depth=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_compressed_output_equals_the_plain_network(aggregation, seed, graphs, nodes, depth):
    torch.manual_seed(0)
    batch = random_batch(seed, graphs, nodes)
    layers = [(SAGEConv(2, 2, aggr=aggregation), SAGEConv(2, 2, aggr=aggregation)) for _ in range(depth)]

    def pooled(nodes):
        state = nodes.x
        for forward, backward in layers:
            state = torch.tanh(forward(state, nodes.producers) + backward(state, nodes.consumers))
        return nodes.pool(state), state[nodes.node]

    for small, plain in zip(pooled(compress(batch.x, batch, depth)), pooled(compress(batch.x, batch, -1)), strict=True):
        torch.testing.assert_close(small, plain, atol=1e-5, rtol=1e-5)


def test_equal_graphs_cost_one():
    one, many = random_batch(1, 1, 10), random_batch(1, 1, 10)
    many = GraphBatch(
        **{**vars(one), "x": one.x.repeat(5, 1), "op": one.op.repeat(5), "graph": torch.arange(5).repeat_interleave(10)}
        | {"edge_index": torch.cat([one.edge_index + 10 * i for i in range(5)], dim=1), "num_graphs": 5}
    )
    assert len(compress(many.x, many, 2).x) == len(compress(one.x, one, 2).x)
    np.testing.assert_array_equal(compress(many.x, many, 2).nodes_per_graph(), [10.0] * 5)
