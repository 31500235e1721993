"""Matrix products: MatMul, Gemm, Einsum, attention and their fused and low-precision relatives."""

from math import prod

from nnirp.features.costs.registry import Call, flops


def matmul_macs(left: tuple[int, ...], output: tuple[int, ...]) -> int:
    """Each output element is a dot product over the left operand's last axis (numpy.matmul)."""
    return prod(output) * (left[-1] if left else 1)


@flops("MatMul", "MatMulInteger")
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


@flops("Gemm", "QGemm")
def gemm(call: Call) -> float:
    """2 · M · N · K; the third operand is the accumulator's start, as a convolution's bias is.

    Source: ONNX Gemm (Y = αA'B' + βC); `torch.utils.flop_counter.addmm_flop`.
    """
    left = call.inputs[0].shape
    inner = left[0] if call.attributes.get("transA") else left[-1]
    return 2.0 * call.out.size * inner


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


def attention_flops(batch: int, heads: int, queries: int, keys: int, head: int, value_head: int) -> float:
    """Two products and a softmax: 2·b·h·q·k·(d + d_v), and 6·b·h·q·k for scaling and softmax.

    Source: Vaswani et al., Attention Is All You Need, 2017, equation 1; `torch.utils.flop_counter.sdpa_flop_count`.
    """
    scores = batch * heads * queries * keys
    return 2.0 * scores * (head + value_head) + 6.0 * scores


@flops("Attention", "FlexAttention")
def attention(call: Call) -> float:
    """Scaled dot-product attention on 4-D [b, h, s, d] or 3-D [b, s, h·d] operands with an optional past.

    Source: ONNX Attention (opset 23). A com.microsoft Attention, whose weight is the projection, adds that product.
    """
    query = call.inputs[0].shape
    if call.given(1) and len(call.inputs[1].shape) == 2:  # com.microsoft: x [b, s, e], weight [e, 3h]
        batch, length, width = query
        columns = call.inputs[1].shape[1]
        heads, hidden = call.attributes["num_heads"], columns // 3
        projection = 2.0 * batch * length * width * columns
        return projection + attention_flops(batch, heads, length, length, hidden // heads, hidden // heads)
    key, value = call.inputs[1].shape, call.inputs[2].shape
    past = call.inputs[4].shape[2] if call.given(4) else 0
    if len(query) == 4:
        batch, heads, queries, head = query
        return attention_flops(batch, heads, queries, key[2] + past, head, value[3])
    heads, key_heads = call.attributes["q_num_heads"], call.attributes["kv_num_heads"]
    batch, queries, width = query
    return attention_flops(batch, heads, queries, key[1] + past, width // heads, value[2] // key_heads)


@flops("MultiHeadAttention", "GroupQueryAttention")
def multi_head_attention(call: Call) -> float:
    """Attention on projected [b, s, h·d] operands. Source: com.microsoft MultiHeadAttention, GroupQueryAttention."""
    batch, queries, width = call.inputs[0].shape[:3]
    heads = call.attributes["num_heads"]
    keys = call.inputs[1].shape[1] if call.given(1) else queries
    head = call.out.shape[-1] // heads
    return attention_flops(batch, heads, queries, keys, width // heads if call.given(1) else head, head)


@flops("LinearAttention")
def linear_attention(call: Call) -> float:
    """A state update and a read-out a token: 4 · b · h · s · d · d_v. Source: Katharopoulos et al., 2020, equations 18–20."""
    query, value = call.inputs[0].shape, call.inputs[2].shape
    if len(query) == 4:
        return 4.0 * query[0] * query[1] * query[2] * query[3] * value[3]
    heads = call.attributes.get("q_num_heads", 1)
    return 4.0 * query[0] * query[1] * query[2] * (value[2] // heads)
