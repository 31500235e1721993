from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import shape_inference
from onnx_text import onnx_graph

from nnirp.errors import InputError
from nnirp.features import encode

LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
BRANCH = """ net (float[1,4] x, float[1,4] z) => (float[1,4] y) { a = Relu(x) b = Sigmoid(z) y = Sub(a, b) }"""


def test_columns_are_those_of_the_format():
    text = """ net (float[2,3,8,8] x) => (float[2,4,8,8] y) <float[4,3,1,1] w, float[4] b> { y = Conv(x, w, b) }"""
    encoded = encode(onnx_graph(text))
    expected = [2 * 512 * 3, 1536, 2048, 64, 4, 2, 4, 8, 8, 0, 0, 1, 1, 2]
    assert np.allclose(encoded.x, np.log2(1 + np.array([expected])), atol=1e-6)
    assert np.allclose(encoded.u, [0, 0, np.log2(3072), np.log2(1536 + 2048 + 64), 1])
    assert (encoded.x.dtype, encoded.op.dtype, encoded.edge_index.dtype) == (np.float32, np.int64, np.int64)


def test_edges_carry_ports_shape_bytes_and_type():
    encoded = encode(onnx_graph(BRANCH))
    assert encoded.edge_index.tolist() == [[0, 1], [2, 2]]
    row = [0, 1, *np.log2([2, 5, 1, 1, 1, 1, 3, 17]), 1, 0, 0, 0, 0, 0, 0, 0]
    assert np.allclose(encoded.edge_attr[1], row)


def test_a_tensor_used_twice_is_two_edges():
    text = """ net (float[4] x) => (float[4] y) { a = Relu(x) y = Mul(a, a) }"""
    assert encode(onnx_graph(text)).edge_index.tolist() == [[0, 0], [1, 1]]


def test_ranks_above_six_fold_into_the_last_dim():
    text = """ net (float[1,2,1,2,1,3,5] x) => (float[1,2,1,2,1,3,5] y) { y = Relu(x) }"""
    assert np.allclose(encode(onnx_graph(text)).x[0, 4:11], np.log2(1 + np.array([7, 1, 2, 1, 2, 1, 15])))


def test_symbolic_batch_without_a_size_is_refused_with_the_option():
    with pytest.raises(InputError, match=r"'x' has the symbolic shape \[\?, 4\].*--batch"):
        encode(onnx_graph("net (float[N,4] x) => (float[N,4] y) { y = Relu(x) }", infer=False))


def test_unknown_operators_are_counted_and_named():
    text = """ net (float[4] x) => (float[4] y) <float[4] w> { a = com.microsoft.Strange(x, w) y = com.microsoft.Strange(a, w) }"""
    model = onnx_graph(text, infer=False)
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("a", 1, [4]))
    encoded = encode(model)
    assert encoded.unknown == {"Strange": 2}
    assert encoded.op.tolist() == [0, 0]
    assert "Strange × 2" in encoded.warnings[0]
    assert encoded.bytes.tolist() == [48, 48]


def test_a_string_attribute_that_is_no_text_is_read_over():
    model = onnx_graph("net (float[4] x) => (float[4] y) { y = com.microsoft.Strange(x) }", infer=False)
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("blob", b"\x95ab"))
    assert encode(model).unknown == {"Strange": 1}


def test_graph_without_operators_is_refused():
    with pytest.raises(InputError, match="at least one operator"):
        encode(onnx_graph("net (float[4] x) => (float[4] y) { y = Identity(x) }"))


def test_every_bound_is_stated_by_a_warning_when_sizes_depend_on_data():
    model = onnx_graph("net (float[4] x) => (int64[1,N] y) { y = NonZero(x) }", infer=False)
    pytest.importorskip("nnirp.graphs.shapes")
    assert any("depend on the data" in w for w in encode(model).warnings)


@pytest.mark.parametrize("path", LIGHT, ids=lambda p: p.stem)
@pytest.mark.parametrize("form", ["canonical", "executed"])
def test_published_topologies_encode_finitely(path, form):
    model = shape_inference.infer_shapes(onnx.load(path, load_external_data=False))
    encoded = encode(model, form=form)
    for values in (encoded.x, encoded.edge_attr, encoded.u, encoded.memory):
        assert np.isfinite(values).all()
    assert (encoded.x >= 0).all()
    assert set(encoded.unknown) <= {"Sum"}  # a sum of two, which only the canonical form calls Add
    assert bool(encoded.unknown) == any("<UNK>" in w for w in encoded.warnings)
    assert encoded.memory[1] > 0


def test_resnet50_and_vgg19_have_their_published_figures():
    figures = {
        p.stem: encode(shape_inference.infer_shapes(onnx.load(p)))
        for p in LIGHT
        if "resnet50" in p.stem or "vgg" in p.stem
    }
    # He et al. 2016: 3.8–4.1 GMACs, 25.6 M parameters; Simonyan & Zisserman 2015: 19.6 GMACs, 143.7 M.
    assert figures["light_resnet50"].total_flops / 2e9 == pytest.approx(3.9, rel=0.06)
    assert figures["light_resnet50"].memory[0] / 4e6 == pytest.approx(25.6, rel=0.01)
    assert figures["light_vgg19"].total_flops / 2e9 == pytest.approx(19.6, rel=0.01)
    assert figures["light_vgg19"].memory[0] / 4e6 == pytest.approx(143.7, rel=0.01)
