"""Recurrent layers: LSTM, GRU, RNN and the quantised LSTM."""

from nnirp.features.costs.registry import Call, flops

# Gates, and element-wise FLOPs a hidden unit and step, from the equations of the ONNX specification: an LSTM has three
# sigmoids (4 each), two tanh, four additions of gate sums, c = f·c + i·g (3), h = o·tanh(c) (1); a GRU two sigmoids, a tanh,
# five additions/products and h = (1 − z)·n + z·h (4); an RNN one addition and tanh.
GATES = {"LSTM": (4, 22), "DynamicQuantizeLSTM": (4, 22), "GRU": (3, 18), "RNN": (1, 2)}


@flops("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM")
def recurrent(call: Call) -> float:
    """steps · batch · directions · (2 · gates · h · (inputs + h) + element-wise).

    Shapes: X [steps, batch, inputs] (or batch first with `layout` 1), W [directions, gates·h, inputs], R [directions, gates·h, h].
    Source: ONNX LSTM, GRU, RNN; Hochreiter & Schmidhuber, 1997; Cho et al., 2014.
    """
    gates, pointwise = GATES[call.op]
    steps, batch, width = call.inputs[0].shape
    hidden = call.attributes.get("hidden_size") or call.inputs[2].shape[-1]
    directions = 2 if call.attributes.get("direction") == "bidirectional" else 1
    return float(steps * batch * directions * (2 * gates * hidden * (width + hidden) + pointwise * hidden))
