import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from nnirp.errors import InputError
from nnirp.graphs.shapes import complete_shapes, symbolic_inputs
from nnirp.graphs.static import unresolved


def model(shape, nodes, *, initialisers=(), outputs=("y",), functions=(), domains=("",)):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "g", inputs, made, list(initialisers))
    opsets = [helper.make_opsetid(domain, 20 if not domain else 1) for domain in domains]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10)


def shape_of(found, name):
    value = next(v for v in [*found.graph.value_info, *found.graph.output] if v.name == name)
    return [d.dim_value for d in value.type.tensor_type.shape.dim]


RELU = [helper.make_node("Relu", ["x"], ["y"])]


@pytest.mark.parametrize("batch", ["N", -1, None])
def test_a_batch_without_a_number_is_pinned(batch):
    symbolic = model([batch, 3], RELU)
    assert symbolic_inputs(symbolic) == ["x"] or batch == -1
    assert shape_of(complete_shapes(symbolic, batch=4), "y") == [4, 3]
    with pytest.raises(InputError, match="--batch"):
        complete_shapes(symbolic)


def test_other_dimensions_are_named_and_given():
    symbolic = model(["N", "seq", None], RELU)
    with pytest.raises(InputError, match=r"seq, x\[2\]") as caught:
        complete_shapes(symbolic, batch=2)
    assert "\n" not in str(caught.value)
    assert shape_of(complete_shapes(symbolic, batch=2, dims={"seq": 7, "x[2]": 5}), "y") == [2, 7, 5]


def test_a_dimension_named_like_the_batch_is_the_batch():
    nodes = [helper.make_node("Add", ["x", "h"], ["y"])]
    symbolic = model(["batch", 4], nodes)
    symbolic.graph.input.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [2, "batch", 4]))
    assert shape_of(complete_shapes(symbolic, batch=3), "y") == [2, 3, 4]


def test_the_model_given_is_not_changed():
    symbolic = model(["N", 3], RELU)
    before = symbolic.SerializeToString()
    complete_shapes(symbolic, batch=1)
    assert symbolic.SerializeToString() == before


def test_shape_arithmetic_is_followed():
    two = numpy_helper.from_array(onnx.numpy_helper.np.array([2], "int64"), "two")
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Mul", ["s", "two"], ["d"]),
        helper.make_node("Expand", ["one", "d"], ["y"]),
    ]
    one = numpy_helper.from_array(onnx.numpy_helper.np.ones((1, 1), "float32"), "one")
    found = complete_shapes(model(["N", 3], nodes, initialisers=[one, two]), batch=4)
    assert unresolved(found) == [] and shape_of(found, "y") == [8, 6]


def test_local_functions_are_inlined():
    body = [helper.make_node("Relu", ["a"], ["b"])]
    function = helper.make_function("local", "twice", ["a"], ["b"], body, [helper.make_opsetid("", 20)])
    call = [helper.make_node("twice", ["x"], ["y"], domain="local")]
    found = complete_shapes(model(["N", 3], call, functions=[function], domains=("", "local")), batch=2)
    assert unresolved(found) == [] and [n.op_type for n in found.graph.node] == ["Relu"]


def test_quantised_operators_of_onnx_runtime_are_known():
    scale = numpy_helper.from_array(onnx.numpy_helper.np.float32(0.1), "scale")
    zero = numpy_helper.from_array(onnx.numpy_helper.np.uint8(3), "zero")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("QLinearAdd", ["q", "scale", "zero"] * 2 + ["scale", "zero"], ["r"], domain="com.microsoft"),
        helper.make_node("DequantizeLinear", ["r", "scale", "zero"], ["y"]),
    ]
    found = complete_shapes(model(["N", 3], nodes, initialisers=[scale, zero], domains=("", "com.microsoft")), batch=2)
    assert unresolved(found) == [] and shape_of(found, "y") == [2, 3]


def test_bodies_of_control_flow_are_completed():
    out = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
    bodies = [helper.make_graph([helper.make_node(op, ["x"], ["z"])], op, [], [out]) for op in ("Relu", "Neg")]
    condition = numpy_helper.from_array(onnx.numpy_helper.np.array(True), "c")
    branch = helper.make_node("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1])
    found = complete_shapes(model(["N", 3], [branch], initialisers=[condition]), batch=2)
    assert unresolved(found) == []


def test_sizes_that_depend_on_values_stay_open():
    nodes = [helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Cast", ["i"], ["y"], to=TensorProto.FLOAT)]
    assert unresolved(complete_shapes(model([2, 3], nodes))) == ["i", "y"]


def test_shapes_that_contradict_each_other_are_told():
    weight = TensorProto(name="w", dims=[5, 2], data_type=TensorProto.FLOAT, raw_data=bytes(40))
    with pytest.raises(InputError, match="contradict"):
        complete_shapes(model([1, 3], [helper.make_node("MatMul", ["x", "w"], ["y"])], initialisers=[weight]))


def test_nothing_is_left_in_the_users_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nodes = [helper.make_node("Frobnicate", ["x"], ["i"], domain="acme"), helper.make_node("Relu", ["i"], ["y"])]
    made = model([2, 3], nodes)
    made.opset_import.append(helper.make_opsetid("acme", 1))
    complete_shapes(made)
    assert list(tmp_path.iterdir()) == []


def test_a_shape_of_billions_of_dimensions_is_refused_before_inference_fills_memory():
    hostile = model(["N", 3], [helper.make_node("Expand", ["x", "shape"], ["y"])])
    hostile.graph.input.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [2**31]))
    with pytest.raises(InputError, match="2147483648 dimensions"):
        complete_shapes(hostile, batch=1)
