"""Convolutions: plain, grouped, depthwise, dilated, transposed, deformable, integer.

A bias costs nothing extra: K multiply-accumulates are K products and K additions, of which K − 1 add the products up and one
adds the bias (or the zero that the accumulator starts from). `torch.utils.flop_counter` counts the same.
"""

from math import prod

from nnirp.features.costs.registry import Call, flops


def _convolution(weight: tuple[int, ...], output: tuple[int, ...]) -> float:
    return 2.0 * prod(output) * prod(weight[1:])


@flops("Conv", "FusedConv", "ConvInteger", "NhwcConv", "NhwcFusedConv")
def convolution(call: Call) -> float:
    """2 · |Y| · (C_in / groups) · ∏ kernel.

    The weight is [C_out, C_in / groups, *kernel], so groups and depthwise need no case, and dilation and stride only show in
    the output's shape. Source: ONNX Conv; `torch.utils.flop_counter.conv_flop_count`.
    """
    return _convolution(call.inputs[1].shape, call.out.shape)


@flops("ConvTranspose")
def transposed_convolution(call: Call) -> float:
    """2 · |X| · (C_out / groups) · ∏ kernel: every input element meets each tap once.

    The weight is [C_in, C_out / groups, *kernel]. Source: ONNX ConvTranspose; `torch.utils.flop_counter.conv_flop_count` with
    `transposed=True`.
    """
    data, weight = call.inputs[0], call.inputs[1]
    return 2.0 * data.size * prod(weight.shape[1:])


@flops("DeformConv")
def deformable_convolution(call: Call) -> float:
    """A convolution, and for every sampled tap of every input channel a bilinear interpolation (4 MACs) and a mask product.

    Source: ONNX DeformConv; Zhu et al., Deformable ConvNets v2, 2019, equation 1.
    """
    weight, out = call.inputs[1].shape, call.out.shape
    taps = out[0] * prod(out[2:]) * prod(weight[2:]) * call.inputs[0].shape[1]
    return _convolution(weight, out) + taps * (8.0 + (1.0 if call.given(4) else 0.0))


@flops("QLinearConv")
def quantised_convolution(call: Call) -> float:
    """The integer convolution and 3 FLOPs an output for requantising (scale, round, add zero point).

    Source: ONNX QLinearConv (x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias).
    """
    return _convolution(call.inputs[3].shape, call.out.shape) + 3.0 * call.out.size


@flops("CausalConvWithState")
def causal_convolution(call: Call) -> float:
    """Depthwise causal convolution: 2 · |Y| · taps. Source: ONNX CausalConvWithState."""
    return 2.0 * call.out.size * call.inputs[1].shape[-1]
