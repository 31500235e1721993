import numpy as np
import onnx
import pytest
import torch
from torch import nn

from nnirp.errors import InputError, NnirpError
from nnirp.graphs.export import TABLES_FILE, environment, export_graph, without_tables
from nnirp.graphs.static import unresolved
from nnirp.graphs.weights import location, run_graph, with_weights


def test_weights_have_no_content_and_constants_do(exported):
    graph, _, _ = exported
    external = {t.name for t in graph.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL}
    assert "conv.weight" in external and "norm.running_var" in external
    assert any(t.raw_data for t in graph.graph.initializer if t.name not in external)


def test_a_tied_weight_is_one_initialiser(exported):
    names = [t.name for t in exported[0].graph.initializer]
    assert len({"first.weight", "second.weight"} & set(names)) == 1


def test_every_tensor_has_a_static_shape(exported):
    assert unresolved(exported[0]) == []


def test_batch_norms_stay_in_the_file(exported):
    assert "BatchNormalization" in {node.op_type for node in exported[0].graph.node}


def test_exporting_again_gives_the_same_bytes(exported):
    graph, module, _ = exported
    with torch.device("meta"):
        again = export_graph(type(module)().eval(), {"x": torch.zeros(2, 3, 8, 8)})
    assert again.SerializeToString(deterministic=True) == graph.SerializeToString(deterministic=True)


def test_nothing_of_the_source_is_left_in_the_file(exported):
    content = exported[0].SerializeToString()
    assert b"site-packages" not in content and b".py" not in content


def test_with_its_real_weights_the_graph_computes_what_the_module_does(exported):
    graph, module, inputs = exported
    nn.init.normal_(module.norm.running_mean)
    with torch.inference_mode():
        expected = module(**inputs)
    (found,) = run_graph(with_weights(graph, module), inputs)
    assert torch.allclose(torch.from_numpy(found), expected, atol=1e-5)


def test_the_checker_accepts_the_graph_with_weights(exported):
    graph, module, _ = exported
    onnx.checker.check_model(with_weights(graph, module), full_check=True)


def test_a_model_that_cannot_be_traced_is_one_line_of_error():
    class Stubborn(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(NnirpError) as error:
        export_graph(Stubborn(), {"x": torch.zeros(3, device="meta")})
    assert "\n" not in str(error.value) and "exporter failed" in str(error.value)


def test_the_reason_of_a_failed_export_is_the_innermost_error_without_colours():
    class Wrong(nn.Module):
        def forward(self, x):
            return x.view(7, 5)

    with pytest.raises(NnirpError, match="shape '\\[7, 5\\]' is invalid") as error:
        export_graph(Wrong(), {"x": torch.zeros(3, device="meta")})
    assert "\x1b" not in str(error.value) and "Next steps" not in str(error.value)


def test_the_environment_names_exporter_and_versions():
    assert environment(20)["opset"] == 20 and "torch" in environment(20)


class TwoMasks(nn.Module):
    """Two layers that each compute the same table of 64 × 64 numbers."""

    def forward(self, x):
        first, second = (
            torch.arange(64, device=x.device)[:, None] >= torch.arange(64, device=x.device) for _ in range(2)
        )
        return torch.where(first, x, 0.0) @ torch.where(second, x, 1.0)


def test_equal_large_constants_are_one():
    with torch.device("meta"):
        graph = export_graph(TwoMasks(), {"x": torch.zeros(64, 64)})
    tables = [t for t in graph.graph.initializer if list(t.dims) == [64, 64]]
    assert len(tables) == 1
    assert [n.input[0] for n in graph.graph.node if n.op_type == "Where"] == [tables[0].name] * 2
    (found,) = run_graph(graph, {"x": torch.ones(64, 64)})
    assert (found == TwoMasks()(torch.ones(64, 64)).numpy()).all()


class WithTables(nn.Module):
    """Adds a table of sines, which does not compress, and a causal mask, which does."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(96, 96)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = torch.arange(x.shape[1], dtype=torch.float32)
        sines = torch.sin(steps.unsqueeze(1) * torch.arange(1, 97, dtype=torch.float32).reciprocal())
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        weights = torch.softmax((x @ x.transpose(1, 2)).masked_fill(~mask, float("-inf")), -1)
        return weights @ self.linear(x + sines)


def test_tables_lose_their_content_and_masks_keep_it():
    with torch.device("meta"):
        graph = export_graph(WithTables().eval(), {"x": torch.empty(1, 256, 96)})
    stripped = without_tables(graph)
    gone = {t.name: list(t.dims) for t in stripped.graph.initializer if location(t) == TABLES_FILE}
    assert list(gone.values()) == [[256, 96]]
    kept = {t.name for t in stripped.graph.initializer if t.HasField("raw_data")}
    assert kept == {t.name for t in graph.graph.initializer if t.HasField("raw_data")} - set(gone)
    assert not unresolved(stripped)
    assert without_tables(stripped) == stripped


def test_a_stored_graph_computes_what_the_module_does_once_its_tables_are_back():
    with torch.device("meta"):
        graph = export_graph(WithTables().eval(), {"x": torch.empty(2, 256, 96)})
    module, x = WithTables().eval(), torch.randn(2, 256, 96)
    with pytest.raises(InputError, match="no parameter or buffer"):
        with_weights(without_tables(graph), module)
    (answer,) = run_graph(with_weights(without_tables(graph), module, graph), {"x": x})
    with torch.inference_mode():
        np.testing.assert_allclose(answer, module(x).numpy(), rtol=1e-4, atol=1e-5)
