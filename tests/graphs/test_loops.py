import pytest
from onnx import parser

from nnirp.features import encode
from nnirp.graphs.shapes import complete_shapes
from nnirp.graphs.static import unresolved

HEADER = '<ir_version: 10, opset_import: ["" : 20]>'
LOOP = """ net (float[4,4] x, float[7,3] z) => (float[] y, float[] s) <float[4,4] w, float[3,4] v> {
  d = Shape<start = 0, end = 1>(z) n = Squeeze(d) go = Constant<value = bool {1}>()
  y, s = Loop(n, go, x)<body = step (int64 i, bool k, float[] h) => (bool k2, float[] o, float[] q) {
    k2 = Identity(k) r = Gather(z, i) a = MatMul(r, v) p = MatMul(h, w) o = Add(p, a) q = Relu(a) }>
}"""
SCAN = """ net (float[6,3] z, float[4] h0) => (float[] y, float[] s) <float[3,4] v, float[4,4] w> {
  y, s = Scan<num_scan_inputs = 1, body = step (float[] h, float[] e) => (float[] o, float[] q) {
    a = MatMul(e, v) p = MatMul(h, w) o = Add(p, a) q = Relu(o) }>(h0, z)
}"""
GROWING = """ net (float[1,4] x) => (float[] y) <int64 n = {3}, bool go = {1}> {
  y = Loop(n, go, x)<body = step (int64 i, bool k, float[] h) => (bool k2, float[] o) {
    k2 = Identity(k) o = Concat<axis = 0>(h, h) }>
}"""


def with_weights(text):
    model = parser.parse_model(HEADER + text)
    held = {t.name for t in model.graph.initializer}
    for value in [v for v in model.graph.value_info if v.name not in held]:
        weight = model.graph.initializer.add(name=value.name, data_type=1, data_location=1)
        weight.dims.extend(d.dim_value for d in value.type.tensor_type.shape.dim)
    del model.graph.value_info[:]
    return model


@pytest.mark.parametrize(
    ("text", "trips", "flops", "stacked"),
    [(LOOP, 7, 2 * 12 + 2 * 64 + 16 + 4, [7, 4]), (SCAN, 6, 2 * 12 + 2 * 16 + 4 + 4, [6, 4])],
)
def test_a_body_has_the_shapes_of_one_iteration_and_counts_each(text, trips, flops, stacked):
    found = complete_shapes(with_weights(text))
    assert unresolved(found) == []
    output = next(v for v in [*found.graph.output, *found.graph.value_info] if v.name == "s")
    assert [d.dim_value for d in output.type.tensor_type.shape.dim] == stacked
    encoded = encode(with_weights(text))
    assert encoded.total_flops == trips * flops and encoded.memory[0] == 4 * 28


def test_a_body_that_changes_what_it_carries_stays_open():
    assert "y" in unresolved(complete_shapes(with_weights(GROWING)))
