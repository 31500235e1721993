"""Reductions, pooling and sorting-like selection along an axis."""

from math import log2, prod

from nnirp.features.costs.registry import Call, flops

# FLOPs an input element: the accumulation, and what is applied before it.
_REDUCE = {
    "ReduceSum": 1, "ReduceMax": 1, "ReduceMin": 1, "ReduceProd": 1, "ReduceMean": 1, "ReduceL1": 2, "ReduceL2": 2,
    "ReduceSumSquare": 2, "ReduceLogSum": 1, "ReduceLogSumExp": 2, "ArgMax": 1, "ArgMin": 1,
}  # fmt: skip
_FINISH = {"ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}  # a division, root or logarithm an output


@flops(*_REDUCE)
def reduce(call: Call) -> float:
    """One accumulation an input element (two with a square, exponential or absolute value), and the finishing step an output.

    Source: ONNX Reduce* definitions.
    """
    return float(_REDUCE[call.op] * call.inputs[0].size + (call.out.size if call.op in _FINISH else 0))


@flops("MaxPool", "AveragePool", "LpPool", "NhwcMaxPool")
def pool(call: Call) -> float:
    """∏ kernel FLOPs an output: one comparison or addition a tap, and the division. Source: ONNX MaxPool, AveragePool."""
    taps = prod(call.attributes["kernel_shape"])
    extra = {"MaxPool": 0, "NhwcMaxPool": 0, "AveragePool": 1, "LpPool": taps + 1}[call.op]
    return float((taps + extra) * call.out.size)


@flops("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(call: Call) -> float:
    """One FLOP an input element, two for a power, and a division or root an output. Source: ONNX Global*Pool."""
    each = 2 if call.op == "GlobalLpPool" else 1
    return float(each * call.inputs[0].size + (0 if call.op == "GlobalMaxPool" else call.out.size))


@flops("TopK")
def top_k(call: Call) -> float:
    """n · log2(k) comparisons with a heap of k. Source: Knuth, The Art of Computer Programming 3, section 5.2.3 (heaps)."""
    axis = call.attributes.get("axis", -1)
    k = max(call.out.shape[axis], 1) if call.out.shape else 1
    return call.inputs[0].size * max(log2(k), 1.0)


@flops("Unique")
def unique(call: Call) -> float:
    """n · log2(n) comparisons of a sort. Source: ONNX Unique (sorted)."""
    size = call.inputs[0].size
    return size * max(log2(max(size, 2)), 1.0)


@flops("DFT", "STFT")
def fourier(call: Call) -> float:
    """5 · n · log2(n) FLOPs a transform of n points. Source: Cooley & Tukey, 1965; the customary figure of FFTW's benchmarks."""
    if call.op == "DFT":
        axis = call.attributes.get("axis", -2)
        points = call.out.shape[axis] if len(call.out.shape) > 1 else call.out.size
        return 5.0 * (call.out.size / 2) * log2(max(points, 2))
    batch, frames, bins, _ = call.out.shape
    points = 2 * (bins - 1) if call.attributes.get("onesided", 1) else bins
    return batch * frames * (5.0 * points * log2(max(points, 2)) + points)


@flops("Det")
def determinant(call: Call) -> float:
    """2/3 · n³ a matrix by elimination. Source: Golub & Van Loan, Matrix Computations, section 3.2."""
    size = call.inputs[0].shape[-1]
    return call.out.size * 2.0 / 3.0 * size**3
