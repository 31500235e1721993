import pytest
from onnx import TensorProto, helper

from nnirp.errors import InputError
from nnirp.graphs.export import unresolved
from nnirp.graphs.shapes import complete_shapes, symbolic_inputs


def model(shape):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Reshape", ["x", "s"], ["r"]),
        helper.make_node("Softmax", ["r"], ["y"]),
    ]
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 18)])


def test_a_symbolic_batch_is_pinned_and_shapes_follow():
    completed = complete_shapes(model(["N", 8]), batch=4)
    assert unresolved(completed) == []
    assert [d.dim_value for d in completed.graph.output[0].type.tensor_type.shape.dim] == [4, 8]


def test_the_model_that_is_given_stays_as_it_is():
    given = model(["N", 8])
    before = given.SerializeToString()
    complete_shapes(given, batch=4)
    assert given.SerializeToString() == before and symbolic_inputs(given) == ["x"]


def test_a_symbolic_batch_without_a_size_says_which_option_gives_it():
    with pytest.raises(InputError, match="--batch"):
        complete_shapes(model(["N", 8]))


def test_another_symbolic_dimension_is_named():
    with pytest.raises(InputError, match="--dim length=SIZE"):
        complete_shapes(model(["N", "length"]), batch=1)
    assert unresolved(complete_shapes(model(["N", "length"]), batch=1, dims={"length": 16})) == []
