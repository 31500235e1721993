import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_text import onnx_graph

from nnirp.features import encode

PLAIN = """ net (float[2,3,8,8] x) => (float[2,5] y)
<float[4,3,3,3] w, float[4] b, float[4,5] h, float[5] c> {
  p = Conv<pads=[1,1,1,1]>(x, w, b)
  r = Relu(p)
  g = GlobalAveragePool(r)
  f = Flatten(g)
  m = MatMul(f, h)
  y = Add(m, c)
}"""
UNFOLDED = """ net (float[2,3,8,8] x) => (float[2,5] y)
<float[4,3,3,3] w, float[4] s, float[4] o, float[4] mu, float[4] v, float[5,4] h, float[5] c, int64[2] axes = {2,3}> {
  x1 = Identity(x)
  p = Conv<pads=[1,1,1,1]>(x1, w)
  n = BatchNormalization(p, s, o, mu, v)
  r = Relu(n)
  d = Dropout(r)
  k = Cast<to=1>(d)
  unused = Exp(k)
  g = ReduceMean<keepdims=1>(k, axes)
  shape = Constant<value = int64[2] {2,4}>()
  f = Reshape(g, shape)
  ht = Transpose<perm=[1,0]>(h)
  m = MatMul(f, ht)
  y = Add(m, c)
}"""


def same(a, b):
    return all(
        np.array_equal(getattr(a, f), getattr(b, f)) for f in ("x", "op", "edge_index", "edge_attr", "u", "memory")
    )


def test_folded_and_unfolded_exports_have_the_same_features():
    assert same(encode(onnx_graph(PLAIN)), encode(onnx_graph(UNFOLDED)))


def test_executed_form_keeps_batch_normalisation_and_identities():
    names = encode(onnx_graph(UNFOLDED), form="executed").op_names
    assert {"BatchNormalization", "Identity", "Cast"} <= set(names)
    assert "Constant" not in names
    assert "Exp" not in names


def test_batch_norm_stays_where_the_convolution_has_another_reader():
    text = """ net (float[1,3,8,8] x) => (float[1,4,8,8] y, float[1,4,8,8] p)
    <float[4,3,1,1] w, float[4] s, float[4] o, float[4] m, float[4] v> { p = Conv(x, w) y = BatchNormalization(p, s, o, m, v) }"""
    assert encode(onnx_graph(text)).op_names == ("Conv", "BatchNormalization")


def test_tied_matrix_counts_once_in_the_graph_and_at_each_use():
    text = """ net (int64[2,4] ids) => (float[2,4,100] y) <float[100,8] w> {
      e = Gather(w, ids) t = Transpose<perm=[1,0]>(w) y = MatMul(e, t) }"""
    encoded = encode(onnx_graph(text))
    assert encoded.memory[0] == 3200
    lookup, product = (2.0**encoded.x - 1)[:, 3]
    assert (round(lookup), round(product)) == (256, 3200)
    assert 2 ** encoded.u[3] == pytest.approx(encoded.bytes.sum() - 256)


def test_constants_of_equal_content_are_one_tensor():
    text = """ net (float[2,2] x) => (float[2,2] y) <float[2,2] a = {1,2,3,4}, float[2,2] b = {1,2,3,4}, float[2,2] c = {1,2,3,5}> {
      p = Mul(x, a) q = Add(p, b) y = Sub(q, c) }"""
    assert encode(onnx_graph(text)).memory[0] == 2 * 16


def test_shape_arithmetic_on_static_tensors_disappears():
    text = """ net (float[2,6] x) => (float[2,6] y) <int64[1] i = {0}> {
      s = Shape(x) b = Gather(s, i) z = ConstantOfShape(b) u = Unsqueeze(x, i) v = Squeeze(u, i) y = Relu(v) }"""
    assert encode(onnx_graph(text)).op_names == ("Relu",)


def test_a_quantised_weight_is_read_as_it_is_stored():
    text = """ net (float[2,3] x) => (float[2,5] y) <int8[3,5] q, float s> { w = DequantizeLinear(q, s) y = MatMul(x, w) }"""
    encoded = encode(onnx_graph(text))
    assert encoded.op_names == ("MatMul",)
    assert (encoded.memory[0], round(2 ** float(encoded.x[0, 3]) - 1)) == (15, 15)


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_features_do_not_depend_on_names_or_on_where_weights_are_listed(random):
    model = onnx_graph(UNFOLDED)
    names = {n for node in model.graph.node for n in (*node.input, *node.output)} | {"x", "y"}
    fresh = [f"t{i}" for i in range(len(names))]
    random.shuffle(fresh)
    new = dict(zip(sorted(names), fresh, strict=True))
    renamed = onnx.ModelProto()
    renamed.CopyFrom(model)
    for node in renamed.graph.node:
        node.name = str(random.random())
        node.input[:] = [new[n] for n in node.input]
        node.output[:] = [new[n] for n in node.output]
    for values in (renamed.graph.value_info, renamed.graph.input, renamed.graph.output, renamed.graph.initializer):
        for value in values:
            value.name = new.get(value.name, value.name)
    weights = list(renamed.graph.initializer)
    random.shuffle(weights)
    del renamed.graph.initializer[:]
    renamed.graph.initializer.extend(weights)
    for form in ("canonical", "executed"):
        assert same(encode(model, form=form), encode(renamed, form=form))


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False))
def test_canonical_nodes_do_not_depend_on_the_order_in_the_file(random):
    model = onnx_graph(UNFOLDED)
    shuffled = onnx.ModelProto()
    shuffled.CopyFrom(model)
    nodes = list(shuffled.graph.node)
    random.shuffle(nodes)
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(nodes)
    a, b = encode(model), encode(shuffled)
    assert np.array_equal(a.x, b.x)
    assert np.array_equal(a.edge_index, b.edge_index)
