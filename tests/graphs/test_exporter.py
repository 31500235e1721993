import contextlib
import gc

import numpy as np
import pytest
import torch
from torch import nn

from nnirp.graphs.export import export_graph
from nnirp.graphs.exporter import for_tracing
from nnirp.graphs.weights import run_graph


def small_graph() -> bytes:
    with torch.device("meta"):
        module = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Hardtanh(), nn.ReLU(), nn.Flatten(), nn.GELU()
        )
        graph = export_graph(module.eval(), {"input": torch.empty(2, 3, 8, 8)})
    return graph.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    "saving",
    [
        "nnirp.graphs.export.rules_by_operator",
        "nnirp.graphs.exporter.tables_made_once",
        "nnirp.graphs.exporter.without_garbage_collection",
        "nnirp.graphs.exporter.without_stack_traces",
    ],
)
def test_what_saves_time_changes_no_graph(monkeypatch, saving):
    quick = small_graph()
    monkeypatch.setattr(saving, contextlib.nullcontext)
    assert small_graph() == quick


def test_a_number_that_becomes_a_tensor_keeps_its_value_without_a_device():
    class Masked(nn.Module):
        def forward(self, x):
            lowest = torch.tensor(-7.5, dtype=x.dtype, device=x.device)
            count = torch.tensor(3, device=x.device)
            return torch.where(x > 0, x * count, lowest)

    graph = export_graph(Masked(), {"x": torch.zeros(4, device="meta")})
    x = torch.tensor([-1.0, 2.0, 0.0, 5.0])
    (found,) = run_graph(graph, {"x": x})
    np.testing.assert_array_equal(found, [-7.5, 6.0, -7.5, 15.0])


def test_nothing_of_it_stays_after_a_failure():
    before = torch.tensor, gc.isenabled(), torch.fx.config.do_not_emit_stack_traces
    with pytest.raises(ValueError, match="inside"), for_tracing():
        assert torch.tensor is not before[0] and not gc.isenabled()
        raise ValueError("inside")
    assert (torch.tensor, gc.isenabled(), torch.fx.config.do_not_emit_stack_traces) == before
