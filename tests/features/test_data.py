import torch
from onnx_text import onnx_graph

from nnirp.features import encode, to_data


def test_data_has_exactly_the_published_fields():
    encoded = encode(onnx_graph("net (float[2,4] x) => (float[2,4] y) { a = Relu(x) y = Exp(a) }"))
    data = to_data(encoded, [1.5, 7.0])
    assert {key: (tuple(value.shape), value.dtype) for key, value in data.to_dict().items()} == {
        "x": ((2, 14), torch.float32),
        "op_type_id": ((2,), torch.int64),
        "edge_index": ((2, 1), torch.int64),
        "edge_attr": ((1, 18), torch.float32),
        "u": ((1, 5), torch.float32),
        "y": ((1, 2), torch.float32),
    }
