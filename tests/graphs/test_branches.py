import numpy as np
import onnx
import pytest
from onnx import parser

from nnirp.graphs.branches import known_value, take_known_branches
from nnirp.graphs.shapes import complete_shapes
from nnirp.graphs.static import unresolved

HEADER = '<ir_version: 10, opset_import: ["" : 20]>'
BY_RATE = """ net (float[N, T] x, int64 rate) => (float[] y) <int64 fast = {16000}> {
  c = Equal(rate, fast)
  y = If(c)<then_branch = a () => (float[] t) { k = Constant<value = int64[4] {0,0,0,1}>() p = Pad(x, k) t = Relu(p) },
            else_branch = b () => (float[] e) { s = Shape(x) n = Size(x) r = Range(n, n, n) p = Neg(x) e = Tanh(p) }>
}"""
NESTED = """ net (float[2,3] x) => (float[2,3] y) <int64 two = {2}, int64 i = {0}> {
  s = Shape(x) d = Gather(s, i) c = Equal(d, two)
  y = If(c)<then_branch = outer () => (float[2,3] t) {
      p = Relu(x)
      q = If(c)<then_branch = inner () => (float[2,3] u) { p2 = Exp(p) u = Add(p2, x) },
                else_branch = other () => (float[2,3] v) { v = Neg(p) }>
      t = Identity(q) },
    else_branch = last () => (float[2,3] e) { e = Neg(x) }>
}"""


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_the_value_of_a_scalar_input_decides_and_the_branch_gets_its_shapes():
    model = parser.parse_model(HEADER + BY_RATE)
    fast = complete_shapes(model, 1, {"T": 8, "rate": 16000})
    slow = complete_shapes(model, 1, {"T": 8, "rate": 8000})
    assert unresolved(fast) == [] and {"Pad", "Relu"} <= set(operators(fast)) and "If" not in operators(fast)
    assert "Tanh" in operators(slow) and "If" not in operators(slow)


def test_without_the_value_the_larger_branch_is_taken_and_noted():
    notes: list[str] = []
    found = complete_shapes(parser.parse_model(HEADER + BY_RATE), 1, {"T": 8}, notes)
    assert "Tanh" in operators(found) and len(notes) == 1 and "else_branch" in notes[0]
    assert [value.name for value in found.graph.output] == ["y", "c"]


def test_a_condition_on_shapes_decides_nested_branches_too():
    model = onnx.shape_inference.infer_shapes(parser.parse_model(HEADER + NESTED))
    while take_known_branches(model):
        model = onnx.shape_inference.infer_shapes(model)
    assert operators(model)[-4:] == ["Relu", "Exp", "Add", "Identity"]
    onnx.checker.check_model(model, full_check=True)


def test_branches_computed_in_onnx_runtime_give_what_the_file_gives():
    import onnxruntime

    model = onnx.shape_inference.infer_shapes(parser.parse_model(HEADER + NESTED))
    feeds = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}

    def run(m):
        return onnxruntime.InferenceSession(m.SerializeToString()).run(None, feeds)[0]

    expected = run(model)
    while take_known_branches(model):
        model = onnx.shape_inference.infer_shapes(model)
    assert np.array_equal(run(model), expected)


@pytest.mark.parametrize(("name", "expected"), [("d", 2), ("c", True), ("y", None), ("nowhere", None)])
def test_values_follow_from_shapes_and_constants_only(name, expected):
    model = onnx.shape_inference.infer_shapes(parser.parse_model(HEADER + NESTED))
    value = known_value(model, name)
    assert value is None if expected is None else value == expected


def test_a_value_that_doubles_at_every_node_is_left_open():
    doubled = "".join(f"d{i + 1} = Concat<axis = 0>(d{i}, d{i}) " for i in range(40))
    text = f"net (float[2,3] x) => (int64[] y) {{ d0 = Shape(x) {doubled} y = ReduceSum<keepdims = 0>(d40) }}"
    assert known_value(parser.parse_model(HEADER + text), "y") is None
