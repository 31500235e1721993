"""Matrix products: MatMul, Gemm, Einsum, mixtures of experts and their fused and low-precision relatives."""

from math import prod

from nnirp.features.costs.elementwise import ELEMENTWISE_FLOPS
from nnirp.features.costs.registry import Call, flops


def matmul_macs(left: tuple[int, ...], output: tuple[int, ...]) -> int:
    """Each output element is a dot product over the left operand's last axis (numpy.matmul)."""
    return prod(output) * (left[-1] if left else 1)


@flops("MatMul", "MatMulInteger", "MatMulInteger16")
def matmul(call: Call) -> float:
    """2 · |Y| · K. Source: ONNX MatMul (numpy.matmul); `torch.utils.flop_counter.bmm_flop`."""
    return 2.0 * matmul_macs(call.inputs[0].shape, call.out.shape)


@flops("FusedMatMul", "TransposeMatMul", "MatMulIntegerToFloat", "DynamicQuantizeMatMul")
def fused_matmul(call: Call) -> float:
    """2 · |Y| · K, with K from the transposed axis if `transA`, plus scaling an output. Source: com.microsoft operators."""
    left = call.inputs[0].shape
    inner = left[-2] if call.attributes.get("transA") else left[-1]
    return 2.0 * call.out.size * inner + call.out.size


@flops("MatMulNBits", "MatMulBnb4")
def packed_matmul(call: Call) -> float:
    """2 · |Y| · K and 2 FLOPs a weight to dequantise it (subtract, scale). Source: com.microsoft MatMulNBits."""
    inner, columns = call.attributes["K"], call.attributes["N"]
    return 2.0 * call.out.size * inner + 2.0 * inner * columns


@flops("Gemm", "QGemm", "GemmFloat8", "FusedGemm", "GemmFastGelu")
def gemm(call: Call) -> float:
    """2 · M · N · K; the third operand is the accumulator's start, as a convolution's bias is. A fused activation adds its own.

    Source: ONNX Gemm (Y = αA'B' + βC); `torch.utils.flop_counter.addmm_flop`; com.microsoft FusedGemm, GemmFastGelu.
    """
    left = call.inputs[0].shape
    inner = left[0] if call.attributes.get("transA") else left[-1]
    after = {"FusedGemm": ELEMENTWISE_FLOPS.get(call.attributes.get("activation", ""), 1.0), "GemmFastGelu": 9.0}
    return 2.0 * call.out.size * inner + after.get(call.op, 0.0) * call.out.size


@flops("LinearClassifier", "LinearRegressor")
def linear_model(call: Call) -> float:
    """2 FLOPs a coefficient and row. Source: ai.onnx.ml LinearClassifier, LinearRegressor."""
    return 2.0 * call.inputs[0].shape[0] * len(call.attributes["coefficients"])


@flops("MoE", "QMoE")
def mixture_of_experts(call: Call) -> float:
    """2 · tokens · k · the weights of one expert: every token passes k experts. Router and activations are left out.

    Weights are [experts, …]; those of QMoE hold 8 / bits in a byte. Source: com.microsoft MoE, QMoE; Fedus et al., Switch
    Transformers, 2022, section 2.
    """
    tokens = prod(call.inputs[0].shape[:-1])
    positions, packed = (
        ((2, 4, 6), 1) if call.op == "MoE" else ((2, 5, 8), 8 // call.attributes.get("expert_weight_bits", 4))
    )
    expert = sum(prod(call.inputs[p].shape[1:]) * packed for p in positions if call.given(p))
    return 2.0 * tokens * call.attributes.get("k", 1) * expert


@flops("QLinearMatMul")
def quantised_matmul(call: Call) -> float:
    """2 · |Y| · K and 3 FLOPs an output for requantising. Source: ONNX QLinearMatMul."""
    return 2.0 * matmul_macs(call.inputs[0].shape, call.out.shape) + 3.0 * call.out.size


@flops("Einsum")
def einsum(call: Call) -> float:
    """Operands contracted in pairs from left to right: 2 · ∏ of the sizes of the indices that a pair involves.

    An index is summed as soon as no later operand and no output has it. A pair that sums nothing is a product (1 FLOP an
    element), one operand alone an addition a summed element. Source: ONNX Einsum (numpy.einsum); the order is that of
    `torch.einsum` without opt_einsum.
    """
    terms, output, sizes = _einsum_terms(call)
    total, left = 0.0, terms[0]
    for position, right in enumerate(terms[1:], start=1):
        kept = set(output).union(*terms[position + 1 :])
        joined = set(left) | set(right)
        summed = joined - kept
        cost = prod(sizes[i] for i in joined)
        total += (2.0 if summed else 1.0) * cost
        left = sorted(joined - summed)
    if len(terms) == 1 and set(left) - set(output):
        total += prod(sizes[i] for i in set(left))
    return total


def _einsum_terms(call: Call) -> tuple[list[list[str]], list[str], dict[str, int]]:
    equation = call.attributes["equation"].replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    sizes: dict[str, int] = {}
    terms = []
    for term, operand in zip(inputs.split(","), call.inputs, strict=False):
        indices = _expand(term, len(operand.shape))
        for index, size in zip(indices, operand.shape, strict=True):
            sizes[index] = max(size, sizes.get(index, 1))
        terms.append(indices)
    if arrow:
        return terms, _expand(output, len(call.out.shape)), sizes
    flat = [i for term in terms for i in term]
    return terms, [i for i in sizes if flat.count(i) == 1 or i.startswith(".")], sizes


def _expand(term: str, rank: int) -> list[str]:
    head, dots, tail = term.partition("...")
    if not dots:
        return list(term)
    hidden = rank - len(head) - len(tail)
    return [*head, *(f".{hidden - i}" for i in range(hidden)), *tail]
