"""Quantising, dequantising and the element-wise operators of quantised graphs."""

from nnirp.features.costs.registry import Call, flops


@flops("QuantizeLinear")
def quantize(call: Call) -> float:
    """Divide, round, add the zero point, saturate (2): 5 FLOPs an element. Source: ONNX QuantizeLinear."""
    return 5.0 * call.out.size


@flops("DequantizeLinear")
def dequantize(call: Call) -> float:
    """Subtract the zero point and multiply: 2 FLOPs an element, 1 without a zero point. Source: ONNX DequantizeLinear."""
    return (2.0 if call.given(2) else 1.0) * call.out.size


@flops("DynamicQuantizeLinear")
def dynamic_quantize(call: Call) -> float:
    """Minimum and maximum (2), then quantising (5): 7 FLOPs an element. Source: ONNX DynamicQuantizeLinear."""
    return 7.0 * call.out.size


@flops("QLinearAdd", "QLinearMul")
def quantised_binary(call: Call) -> float:
    """Dequantise both operands, combine, requantise: 2 + 2 + 1 + 5 FLOPs an element. Source: com.microsoft QLinearAdd."""
    return 10.0 * call.out.size


@flops("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
def quantised_activation(call: Call) -> float:
    """Dequantise (2), apply (4, 2 or 5), requantise (5). Source: com.microsoft QLinear activations."""
    apply = {"QLinearSigmoid": 4.0, "QLinearLeakyRelu": 2.0, "QLinearSoftmax": 5.0}[call.op]
    return (7.0 + apply) * call.out.size


@flops("QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearReduceMean")
def quantised_pool(call: Call) -> float:
    """One addition an input element (a tap for a windowed pool) and requantising an output. Source: com.microsoft operators."""
    if call.op == "QLinearAveragePool":
        taps = 1
        for size in call.attributes["kernel_shape"]:
            taps *= size
        return float((taps + 6) * call.out.size)
    return float(call.inputs[0].size + 6 * call.out.size)


@flops("QLinearWhere")
def quantised_choice(call: Call) -> float:
    """Dequantise what is chosen (2), requantise (5), compare (1). Source: com.microsoft QLinearWhere."""
    return 8.0 * call.out.size


@flops("GatherBlockQuantized")
def quantised_lookup(call: Call) -> float:
    """Dequantise the rows that are read: 2 FLOPs an element. Source: com.microsoft GatherBlockQuantized."""
    return 2.0 * call.out.size


@flops("QEmbedLayerNormalization")
def quantised_embedding(call: Call) -> float:
    """Dequantise three look-ups (2 each), add them (2), normalise (7). Source: com.microsoft QEmbedLayerNormalization."""
    return 15.0 * call.out.size
