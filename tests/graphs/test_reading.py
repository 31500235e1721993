import os

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from nnirp.errors import InputError, NotPulledError, UnsafeFileError
from nnirp.graphs.reading import read_onnx


def small(location=None, *, nodes=None, functions=()):
    weight = TensorProto(name="w", dims=[2], data_type=TensorProto.FLOAT)
    if location is None:
        weight.raw_data = bytes(8)
    else:
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value=location)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy")
    nodes = nodes or [helper.make_node("Add", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], functions=functions)


def refused(source, kind=InputError, **settings):
    with pytest.raises(kind) as caught:
        read_onnx(source, **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_external_data_that_is_not_there_is_no_hindrance(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(small("weights.bin").SerializeToString())
    assert read_onnx(path).graph.initializer[0].name == "w"


@pytest.mark.parametrize("location", ["/etc/passwd", "../x", "a/../../x", "..\\x", "C:\\x", "\\x", "C:x"])
def test_external_data_outside_the_folder_is_refused(location):
    refused(small(location).SerializeToString(), UnsafeFileError)


def test_external_data_of_a_body_or_a_function_is_checked_too():
    tensor = small("../x").graph.initializer[0]
    constant = helper.make_node("Constant", [], ["y"], value=tensor)
    body = helper.make_graph([constant], "b", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    branch = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    refused(small(nodes=[branch]).SerializeToString(), UnsafeFileError)
    function = helper.make_function("local", "f", [], ["y"], [constant], [helper.make_opsetid("", 20)])
    refused(small(functions=[function]).SerializeToString(), UnsafeFileError)


@pytest.mark.parametrize(
    "content", [b"", b"import torch\nprint('hello')\n", b"\x00" * 100, b"{}", b"PK\x03\x04" + bytes(50)]
)
def test_what_is_no_model_is_refused(tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert str(path) in refused(path)


def test_a_truncated_model_is_refused():
    content = small().SerializeToString()
    refused(content[: len(content) // 2])


def test_a_folder_a_pipe_a_large_file_and_an_absent_one_are_refused(tmp_path):
    refused(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(bytes(100))
    assert "at most 99" in refused(tmp_path / "large", max_bytes=99)
    assert "dvc pull" in refused(tmp_path / "absent", NotPulledError)


def test_a_cycle_is_refused_and_another_order_is_not():
    first, second = helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])
    assert "cycle" in refused(small(nodes=[first, second]).SerializeToString())
    late = [helper.make_node("Relu", ["a"], ["y"]), helper.make_node("Relu", ["x"], ["a"])]
    assert len(read_onnx(small(nodes=late).SerializeToString()).graph.node) == 2


def test_a_tensor_that_is_written_twice_is_refused():
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["y"], ["y"])]
    assert "'y' twice" in refused(small(nodes=nodes).SerializeToString())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutated_models_are_read_or_refused(data):
    content = bytearray(small("weights.bin").SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert isinstance(read_onnx(bytes(content)), onnx.ModelProto)
    except InputError as error:
        assert "\n" not in str(error)
