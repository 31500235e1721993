import pytest
from onnx_text import onnx_graph

from nnirp.features import encode


def memory(text, form="executed"):
    return encode(onnx_graph(text), form=form).memory.tolist()


def test_chain_holds_the_input_and_two_tensors():
    # x (40 B) is the caller's; a and b coexist while b is written, then b and y.
    text = "net (float[10] x) => (float[10] y) { a = Relu(x) b = Exp(a) y = Sqrt(b) }"
    assert memory(text) == [0, 120, 80, 40]


def test_skip_connection_keeps_its_tensor_alive():
    text = "net (float[10] x) => (float[10] y) { a = Relu(x) b = Exp(a) c = Sqrt(b) y = Add(a, c) }"
    assert memory(text)[1] == 160


def test_views_share_the_memory_they_look_at_and_keep_it_alive():
    text = """net (float[10] x) => (float[10] y) <int64[2] s = {2,5}, int64[1] t = {10}, int64[3] r = {5,1,2}>
    { a = Relu(x) v = Reshape(a, s) w = Transpose<perm=[1,0]>(v) u = Reshape(w, r) b = Exp(x) z = Tanh(u) c = Reshape(z, t) y = Add(b, c) }"""
    assert memory(text)[1] == 160


@pytest.mark.parametrize(("perm", "peak"), [("0,1", 80), ("1,0", 120)])
def test_a_reshape_copies_where_a_transpose_keeps_it_from_being_a_view(perm, peak):
    text = """net (float[2,5] x) => (float[10] y) <int64[1] t = {10}>
    { a = Relu(x) w = Transpose<perm=[PERM]>(a) y = Reshape(w, t) }"""
    assert memory(text.replace("PERM", perm))[1] == peak


def test_an_element_wise_result_lies_as_its_operand_does():
    text = """net (float[2,5] x) => (float[10] y) <int64[1] t = {10}>
    { w = Transpose<perm=[1,0]>(x) a = Relu(w) y = Reshape(a, t) }"""
    assert memory(text)[1] == 120  # x, a and the copy


def test_weights_are_not_activations_and_the_largest_tensor_may_be_one():
    text = "net (float[1,4] x) => (float[1,50] y) <float[4,50] w> { y = MatMul(x, w) }"
    assert memory(text) == [800, 216, 216, 800]
