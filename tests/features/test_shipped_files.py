"""Files that the onnx package ships: their products and convolutions against a profiled run of ONNX Runtime."""

from pathlib import Path

import onnx
import pytest

from flop_agreement import gate_flops
from nnirp.features import encode
from nnirp.graphs.reading import read_onnx
from nnirp.graphs.shapes import complete_shapes
from nnirp.graphs.static import unresolved
from third_party import PRODUCTS, products_of_a_run

DATA = Path(onnx.__file__).parent / "backend/test/data"
NETWORKS = [DATA / f"light/light_{name}.onnx" for name in ("squeezenet", "shufflenet", "densenet121")]
LAYERS = sorted(DATA.glob("pytorch-converted/test_Conv*/model.onnx"))


@pytest.mark.parametrize(
    "path", [*NETWORKS, *LAYERS], ids=lambda p: p.stem if p.parent.name == "light" else p.parent.name
)
def test_products_are_those_of_the_run(path):
    completed = complete_shapes(read_onnx(path))
    assert unresolved(completed) == []
    encoded = encode(completed, form="executed")
    ours = sum(f for f, op in zip(encoded.flops, encoded.op_names, strict=True) if op in PRODUCTS)
    assert ours - gate_flops(completed.graph) == products_of_a_run(completed) > 0


def test_a_quantised_file_keeps_its_products_and_reads_a_quarter_of_the_weights(tmp_path):
    import numpy as np
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class OneImage(CalibrationDataReader):
        def __init__(self):
            self.left = [{"data_0": np.random.default_rng(0).random((1, 3, 224, 224), dtype=np.float32)}]

        def get_next(self):
            return self.left.pop() if self.left else None

    quantised = tmp_path / "quantised.onnx"
    quantize_static(str(NETWORKS[0]), str(quantised), OneImage(), quant_format=QuantFormat.QDQ)
    a, b = (encode(complete_shapes(read_onnx(p))) for p in (NETWORKS[0], quantised))
    convolutions = [sum(f for f, op in zip(e.flops, e.op_names, strict=True) if op == "Conv") for e in (a, b)]
    assert convolutions[0] == convolutions[1] and b.op_names.count("QuantizeLinear") > 20
    assert b.memory[0] == pytest.approx(a.memory[0] / 4, rel=0.02)
