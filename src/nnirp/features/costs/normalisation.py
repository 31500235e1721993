"""Normalisations and softmax: a fixed number of FLOPs an element, counted from the definition."""

from nnirp.features.costs.registry import Call, flops

# Per element: mean (1), subtract (1), square (1), sum (1), multiply by the inverse deviation (1), scale (1), shift (1).
_FULL = 7.0


@flops("LayerNormalization", "GroupNormalization", "InstanceNormalization", "GroupNorm")
def layer_normalisation(call: Call) -> float:
    """7 FLOPs an element, 6 without a shift. Source: Ba et al., Layer Normalization, 2016, equation 4; ONNX definitions."""
    shift = call.op != "LayerNormalization" or call.given(2)
    return (_FULL if shift else _FULL - 1) * call.inputs[0].size


@flops("SkipLayerNormalization", "EmbedLayerNormalization", "SkipGroupNorm")
def skip_layer_normalisation(call: Call) -> float:
    """A layer normalisation after adding the skip (and a bias): 8 or 9 FLOPs an element. Source: com.microsoft operators."""
    return (_FULL + 1 + (1 if call.given(4) else 0)) * call.out.size


@flops("RMSNormalization", "SimplifiedLayerNormalization")
def rms_normalisation(call: Call) -> float:
    """Square, sum, multiply by the inverse, scale: 4 FLOPs an element. Source: Zhang & Sennrich, 2019, equation 4."""
    return 4.0 * call.inputs[0].size


@flops("SkipSimplifiedLayerNormalization")
def skip_rms_normalisation(call: Call) -> float:
    """An addition and an RMS normalisation: 5 FLOPs an element. Source: com.microsoft SkipSimplifiedLayerNormalization."""
    return 5.0 * call.inputs[0].size


@flops("BatchNormalization")
def batch_normalisation(call: Call) -> float:
    """Inference: y = x·a + b with a, b known beforehand, 2 FLOPs an element; 7 in training mode. Source: Ioffe & Szegedy, 2015."""
    return (_FULL if call.attributes.get("training_mode") else 2.0) * call.inputs[0].size


@flops("LRN")
def local_response_normalisation(call: Call) -> float:
    """Square, `size` additions, scale, add the bias, power, divide. Source: Krizhevsky et al., 2012, section 3.3; ONNX LRN."""
    return (call.attributes["size"] + 5.0) * call.out.size


@flops("LpNormalization", "MeanVarianceNormalization", "Normalizer")
def lp_normalisation(call: Call) -> float:
    """Power, sum and divide: 3 FLOPs an element (5 with a mean to subtract). Source: ONNX definitions."""
    return (5.0 if call.op == "MeanVarianceNormalization" else 3.0) * call.out.size


@flops("Softmax", "LogSoftmax", "Hardmax", "BiasSoftmax")
def softmax(call: Call) -> float:
    """Maximum, subtract, exponential, sum, divide (logarithm and subtract): 5 FLOPs an element, 6 with a bias. Source: ONNX Softmax."""
    return {"Hardmax": 2.0, "BiasSoftmax": 6.0}.get(call.op, 5.0) * call.out.size
