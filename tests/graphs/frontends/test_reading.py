import json

import onnx
import pytest
from onnx import TensorProto, helper

from nnirp.errors import InputError, MissingDependencyError, NotPulledError
from nnirp.graphs.frontends import Asked, read_model
from nnirp.graphs.frontends.reading import need


def relu(path=None):
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    if path:
        onnx.save(model, path)
    return model


def test_a_file_its_bytes_and_its_message_are_one_model(tmp_path):
    model = relu(tmp_path / "m.onnx")
    graphs = [
        read_model(m).graph.graph
        for m in (tmp_path / "m.onnx", str(tmp_path / "m.onnx"), model, model.SerializeToString())
    ]
    assert all(graph == graphs[0] for graph in graphs)


def test_what_is_no_model_is_refused_with_what_was_expected(tmp_path):
    with pytest.raises(InputError, match=r"saved_model\.pb"):
        read_model(tmp_path)
    with pytest.raises(InputError, match="no model that is known"):
        read_model(3)
    with pytest.raises(NotPulledError, match="does not exist"):
        read_model(tmp_path / "gone.tflite")
    with pytest.raises(InputError, match="is empty"):
        read_model(b"")


def test_a_framework_that_is_absent_gives_the_line_that_installs_it():
    with pytest.raises(MissingDependencyError, match=r"pip install 'nnirp\[tensorflow\]'"):
        need("a_package_that_is_not_there", "tensorflow", "m.keras")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"model_type": 3}', '{"model_type": "no-such-type"}'])
def test_a_configuration_that_is_none_is_refused(tmp_path, content):
    pytest.importorskip("transformers")
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(InputError):
        read_model(tmp_path)


def test_a_folder_with_a_configuration_is_built_as_it_says(tmp_path):
    pytest.importorskip("transformers")
    fields = {
        "model_type": "bert",
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 48,
    }
    extra = {
        "architectures": ["BertModel"],
        "torch_dtype": "float32",
        "transformers_version": "4.0",
        "_name_or_path": "x",
    }
    (tmp_path / "config.json").write_text(json.dumps(fields | extra))
    read = read_model(tmp_path, Asked(batch=3, size=10))
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in read.graph.graph.input}
    assert shapes["input_ids"] == [3, 10]
    assert [48, 32] in [list(t.dims) for t in read.graph.graph.initializer]


def test_a_name_that_timm_lacks_names_those_that_are_near():
    pytest.importorskip("timm")
    with pytest.raises(InputError, match="resnet18"):
        read_model("timm:resnet_18")


def test_a_type_that_transformers_lacks_names_those_that_are_near():
    pytest.importorskip("transformers")
    with pytest.raises(InputError, match="bert"):
        read_model("hf:bertt")
    with pytest.raises(InputError, match="no mode 'decode'"):
        read_model("hf:bert", Asked(mode="decode"))


def test_an_architecture_of_timm_is_built_at_batch_and_size():
    pytest.importorskip("timm")
    graph = read_model("timm:test_resnet", Asked(batch=2, size=64)).graph.graph
    assert [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim] == [2, 3, 64, 64]
