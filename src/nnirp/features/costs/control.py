"""Control flow: which branch counts, how often a body runs, what its operators cost together."""

from nnirp.features.costs.registry import Call, flops


@flops("Loop", "Scan", "SequenceMap", "If")
def control(call: Call) -> float:
    """Iterations times the FLOPs of the body's operators; the costlier branch of an `If` inside a body.

    `control_flow.annotate` has put both numbers into the attributes. Source: ONNX Loop, Scan, If.
    """
    return float(call.attributes["iterations"] * call.attributes["body_flops"])
