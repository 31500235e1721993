import onnx
import pytest
from onnx import TensorProto, helper

from nnirp.errors import InputError, NotPulledError, UnsafeFileError
from nnirp.graphs.reading import read_onnx


def model(nodes, initializers=()):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y], list(initializers)))


@pytest.mark.parametrize("content", [b"", b"this is a text file\n", b"\x00" * 64, b"{}", b"PK\x03\x04" + b"a" * 100])
def test_what_is_not_onnx_is_refused_on_one_line(tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_onnx(path)
    assert "\n" not in str(error.value) and "model.onnx" in str(error.value)


def test_a_truncated_file_is_refused(tmp_path):
    whole = model([helper.make_node("Relu", ["x"], ["y"])]).SerializeToString()
    with pytest.raises(InputError):
        read_onnx(whole[: len(whole) // 2])


def test_a_folder_and_a_missing_file_are_told_apart(tmp_path):
    with pytest.raises(InputError, match="folder"):
        read_onnx(tmp_path)
    with pytest.raises(NotPulledError, match="does not exist"):
        read_onnx(tmp_path / "nothing.onnx")


def test_a_file_too_large_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "sparse.onnx"
    with path.open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(InputError, match="GiB"):
        read_onnx(path)


@pytest.mark.parametrize("location", ["/etc/passwd", "../secret", "a/../../b", "C:\\secret", "..\\secret"])
def test_external_data_outside_the_folder_is_refused(location):
    weight = onnx.TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=location)
    with pytest.raises(UnsafeFileError, match="outside its folder"):
        read_onnx(model([helper.make_node("Add", ["x", "w"], ["y"])], [weight]).SerializeToString())


def test_external_data_that_is_not_there_is_no_obstacle():
    weight = onnx.TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="weights.bin")
    content = model([helper.make_node("Add", ["x", "w"], ["y"])], [weight]).SerializeToString()
    assert len(read_onnx(content).graph.node) == 1


def test_a_cycle_is_refused_and_disorder_is_not():
    loop = [
        helper.make_node("Add", ["x", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    with pytest.raises(InputError, match="cycle"):
        read_onnx(model(loop).SerializeToString())
    disordered = [helper.make_node("Relu", ["a"], ["y"]), helper.make_node("Relu", ["x"], ["a"])]
    assert len(read_onnx(model(disordered).SerializeToString()).graph.node) == 2
