"""The same model exported without its weights and, folded, with them: one set of features."""

import numpy as np
import onnx_ir
import pytest
import torch
from onnxscript import optimizer
from torch import nn

from nnirp.features import encode


class Block(nn.Module):
    """Convolutions with batch normalisation, an attention with a linear projection and a recurrent layer."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.up = nn.Sequential(nn.ConvTranspose2d(8, 8, 2, 2), nn.BatchNorm2d(8), nn.SiLU(), nn.Dropout(0.1))
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.recurrent = nn.LSTM(8, 16, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        y = self.up(self.stem(x)).flatten(2).transpose(1, 2)
        y = self.norm(y + self.attention(y, y, y, need_weights=False)[0])
        return self.head(self.recurrent(y)[0][:, -1])


def export_without_weights():
    """A module on the meta device has shapes and no values; its weights become references to a file that is not there."""
    with torch.device("meta"):
        module, inputs = Block().eval(), (torch.zeros(2, 3, 6, 6),)
    model = torch.onnx.export(module, inputs, dynamo=True, optimize=False, verbose=False).model
    weights = [v for v in model.graph.initializers.values() if v.name in dict(module.state_dict())]
    for weight in weights:
        weight.const_value = None
    optimizer.optimize(model)
    for weight in weights:
        size = int(np.prod(weight.shape.numpy())) * weight.dtype.itemsize
        weight.const_value = onnx_ir.ExternalTensor(
            "absent", 0, size, weight.dtype, shape=weight.shape, name=weight.name
        )
    return onnx_ir.to_proto(model)


@pytest.fixture(scope="module")
def exports():
    torch.manual_seed(0)
    module = Block().eval()
    for tensor in [*module.parameters(), *(b for n, b in module.named_buffers() if "running" in n)]:
        nn.init.uniform_(tensor.data, 0.5, 1.5)  # an untrained model's zero biases would be optimised away
    program = torch.onnx.export(module, (torch.zeros(2, 3, 6, 6),), dynamo=True, optimize=True, verbose=False)
    return export_without_weights(), program.model_proto


def test_weight_free_and_optimised_exports_have_the_same_features(exports):
    bare, optimised = exports
    assert len(bare.graph.node) > len(optimised.graph.node)
    a, b = encode(bare), encode(optimised)
    assert a.op_names == b.op_names
    assert "BatchNormalization" not in a.op_names
    for field in ("x", "op", "edge_index", "edge_attr", "u", "memory"):
        assert np.array_equal(getattr(a, field), getattr(b, field)), field


class Attend(nn.Module):
    def forward(self, q, k, v):
        return nn.functional.scaled_dot_product_attention(q, k, v)


def test_attention_as_one_operator_costs_what_its_parts_do():
    inputs = tuple(torch.randn(1, 4, 64, 32) for _ in range(3))
    parts, whole = (
        encode(torch.onnx.export(Attend().eval(), inputs, dynamo=True, verbose=False, opset_version=opset).model_proto)
        for opset in (20, 23)
    )
    assert whole.op_names == ("Attention",) and "Softmax" in parts.op_names
    assert whole.total_flops == parts.total_flops
