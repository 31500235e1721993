import numpy as np
from onnx import TensorProto, numpy_helper, parser

from nnirp.graphs import probing
from nnirp.graphs.shapes import complete_shapes
from nnirp.graphs.static import unresolved

TEXT = """<ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1]>
net (float[2,3] x) => (float[] y) <float scale = {0.1}, uint8 zero = {3}> {
  q = QuantizeLinear(x, scale, zero)
  r = com.microsoft.QLinearAdd(q, scale, zero, q, scale, zero, scale, zero)
  y = DequantizeLinear(r, scale, zero) }"""


def test_a_process_that_dies_leaves_the_shapes_open(monkeypatch):
    monkeypatch.setattr(probing, "run_apart", lambda given, found: None)
    assert unresolved(complete_shapes(parser.parse_model(TEXT))) == ["r", "y"]


def test_garbage_kills_only_the_process_apart(tmp_path):
    (tmp_path / "given").write_bytes(b"\xff" * 50)
    probing.run_apart(tmp_path / "given", tmp_path / "found")
    assert [p.name for p in tmp_path.iterdir()] == ["given"]


def test_large_weights_are_not_handed_over(monkeypatch):
    model = parser.parse_model(TEXT)
    model.graph.initializer.append(numpy_helper.from_array(np.ones((300, 300), np.float32), "w"))
    seen = []
    monkeypatch.setattr(probing, "run_apart", lambda given, found: seen.append(given.stat().st_size))
    probing.probe(model)
    assert seen[0] < 2000 and model.graph.initializer[-1].data_location == TensorProto.DEFAULT
