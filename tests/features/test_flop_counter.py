"""FLOPs of exported modules against `torch.utils.flop_counter`, which counts products and convolutions only."""

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from nnirp.features import encode

PRODUCTS = frozenset(["Conv", "ConvTranspose", "MatMul", "Gemm", "Einsum", "LSTM", "GRU"])


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def r(*shape):
    return torch.ones(shape)


CASES = {
    "conv": (nn.Conv2d(3, 8, 3, stride=2, padding=1), (r(2, 3, 16, 16),)),
    "grouped_dilated": (nn.Conv2d(8, 16, 3, groups=4, dilation=2), (r(1, 8, 12, 12),)),
    "depthwise_1d": (nn.Conv1d(8, 8, 5, groups=8), (r(2, 8, 20),)),
    "transposed": (nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1, groups=2), (r(1, 8, 6, 6),)),
    "matmul": (Call(torch.matmul), (r(2, 3, 5, 7), r(7, 4))),
    "bmm": (Call(torch.bmm), (r(4, 5, 7), r(4, 7, 3))),
    "addmm": (nn.Linear(24, 32), (r(5, 24),)),
    "einsum": (Call(lambda a, b: torch.einsum("bhqd,bkhd->bhqk", a, b)), (r(2, 3, 5, 8), r(2, 7, 3, 8))),
    "attention": (Call(nn.functional.scaled_dot_product_attention), (r(1, 4, 16, 8), r(1, 4, 16, 8), r(1, 4, 16, 8))),
    "lstm": (Recurrent(nn.LSTM(192, 192, bidirectional=True)), (r(4, 2, 192),)),
    "gru": (Recurrent(nn.GRU(192, 192)), (r(4, 2, 192),)),
}


@pytest.mark.parametrize("name", CASES)
def test_products_agree_with_torchs_counter_within_one_percent(name):
    module, inputs = CASES[name]
    module = module.eval()
    model = torch.onnx.export(module, inputs, dynamo=True, optimize=True, verbose=False).model_proto
    encoded = encode(model)
    ours = sum(f for f, op in zip(encoded.flops, encoded.op_names, strict=True) if op in PRODUCTS)
    off = torch.backends.mkldnn.flags(enabled=False)  # its fused recurrent kernel is not in the counter's table
    with torch.no_grad(), off, sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(*inputs)
    # A recurrent operator counts its gates too: 22 (GRU 18) element-wise FLOPs a hidden unit beside the products.
    theirs = counter.get_total_flops()
    assert ours == pytest.approx(theirs, rel=0.01)
