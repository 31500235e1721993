import pytest
import torch
from torch import nn

from nnirp.graphs.batches import BatchError, at_batch, same_graph
from nnirp.graphs.export import export_graph
from nnirp.graphs.weights import run_graph, with_weights


class Indexed(nn.Module):
    """Constants of every kind that follows the batch: a shape, indices that count on, a repeated mask; 2 is also a width."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 2 * 6)

    def forward(self, x):
        batch, length, width = x.shape
        two = self.linear(x).reshape(batch, length, 2, width)
        rows = torch.arange(batch, device=x.device)[:, None] * length + torch.arange(length, device=x.device)
        picked = two.reshape(batch * length, 2, width)[rows.flatten()]
        mask = torch.ones(length, length, device=x.device).tril().expand(batch, length, length)
        return (mask @ picked.reshape(batch, length, -1)).sum(1), rows


def export(module, batch):
    return export_graph(module, {"x": torch.zeros(batch, 5, 6, device="meta")})


@pytest.mark.parametrize("batch", [1, 4, 7])
def test_a_derived_graph_is_the_traced_one(batch):
    with torch.device("meta"):
        module = Indexed().eval()
    derived = at_batch(export(module, 2), export(module, 3), (2, 3), batch)
    assert same_graph(derived, export(module, batch))


def test_a_derived_graph_computes_what_the_module_does():
    with torch.device("meta"):
        graph = Indexed().eval()
        graph = at_batch(export(graph, 2), export(graph, 3), (2, 3), 5)
    module, x = Indexed().eval(), torch.randn(5, 5, 6)
    found = run_graph(with_weights(graph, module), {"x": x})
    for expected, got in zip(module(x), found, strict=True):
        assert torch.allclose(expected.detach(), torch.from_numpy(got), atol=1e-5)


class Doubling(nn.Module):
    def forward(self, x):
        return x.relu() if x.shape[0] % 2 else x


class Noise(nn.Module):
    """A constant that is another one at every batch."""

    def forward(self, x):
        return x + torch.arange(5.0, device=x.device)[:, None] / x.shape[0]


@pytest.mark.parametrize("module", [Doubling(), Noise()])
def test_graphs_that_do_not_follow_the_batch_are_refused(module):
    with pytest.raises(BatchError):
        at_batch(export(module, 2), export(module, 3), (2, 3), 4)


def test_other_graphs_are_not_the_same():
    assert not same_graph(export(Doubling(), 3), export(Noise(), 3))


def test_batch_one_is_no_base():
    graph = export(Noise(), 2)
    with pytest.raises(BatchError, match="at least 2"):
        at_batch(graph, graph, (1, 2), 4)
