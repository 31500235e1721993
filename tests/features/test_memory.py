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
    text = """net (float[10] x) => (float[10] y) <int64[2] s = {2,5}, int64[1] t = {10}>
    { a = Relu(x) v = Reshape(a, s) w = Transpose<perm=[1,0]>(v) b = Exp(x) u = Reshape(w, t) y = Add(b, u) }"""
    assert memory(text)[1] == 160


def test_weights_are_not_activations_and_the_largest_tensor_may_be_one():
    text = "net (float[1,4] x) => (float[1,50] y) <float[4,50] w> { y = MatMul(x, w) }"
    assert memory(text) == [800, 216, 216, 800]
