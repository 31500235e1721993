"""Attention as one operator: ONNX's own, ONNX Runtime's fused ones, and linear attention."""

from nnirp.features.costs.registry import Call, flops

# Where an operator has the keys of earlier tokens, [batch, heads, past, head].
_PAST_KEYS = {"MultiHeadAttention": 6, "GroupQueryAttention": 3, "DecoderMaskedMultiHeadAttention": 5}


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
    if call.given(1) and len(call.inputs[1].shape) == 2:
        return _projected_attention(call, past=4)
    key, value = call.inputs[1].shape, call.inputs[2].shape
    past = call.inputs[4].shape[2] if call.given(4) else 0
    if len(query) == 4:
        batch, heads, queries, head = query
        return attention_flops(batch, heads, queries, key[2] + past, head, value[3])
    heads, key_heads = call.attributes["q_num_heads"], call.attributes["kv_num_heads"]
    batch, queries, width = query
    return attention_flops(batch, heads, queries, key[1] + past, width // heads, value[2] // key_heads)


@flops("QAttention")
def quantised_attention(call: Call) -> float:
    """A com.microsoft Attention on integers, and 2 FLOPs an element of the projections to scale them."""
    batch, length, _ = call.inputs[0].shape
    return _projected_attention(call, past=8) + 2.0 * batch * length * call.inputs[1].shape[1]


def _projected_attention(call: Call, past: int) -> float:
    """x [b, s, e] times weight [e, q + k + v], then attention; `past` is [2, b, h, past, d]. Source: com.microsoft Attention."""
    batch, length, width = call.inputs[0].shape
    columns, heads = call.inputs[1].shape[1], call.attributes["num_heads"]
    query, _, value = call.attributes.get("qkv_hidden_sizes") or [columns // 3] * 3
    keys = length + (call.inputs[past].shape[3] if call.given(past) else 0)
    projection = 2.0 * batch * length * width * columns
    return projection + attention_flops(batch, heads, length, keys, query // heads, value // heads)


@flops("MultiHeadAttention", "GroupQueryAttention", "DecoderMaskedMultiHeadAttention")
def multi_head_attention(call: Call) -> float:
    """Attention on projected operands with an optional past; a rotary embedding inside adds 3 FLOPs an element it turns.

    The query is [b, s, h·d], or [b, s, (h + 2·kv)·d] and [b, s, h, 3, d] where keys and values are packed with it. Source:
    com.microsoft MultiHeadAttention, GroupQueryAttention, DecoderMaskedMultiHeadAttention.
    """
    query, heads = call.inputs[0].shape, call.attributes["num_heads"]
    batch, queries = query[:2]
    value_head = call.out.shape[-1] // heads
    keys, past = queries, _PAST_KEYS[call.op]
    if call.given(1):
        key = call.inputs[1].shape
        keys = key[2] if len(key) == 4 else key[1]
    if call.given(past):
        keys += call.inputs[past].shape[2]
    if len(call.outputs) > 1 and call.outputs[1] is not None:  # what is kept for the next token
        keys = call.outputs[1].shape[2]
    head = query[2] // heads if call.given(1) and len(query) == 3 and call.op != "GroupQueryAttention" else value_head
    turned = heads + call.attributes.get("kv_num_heads", heads) if call.attributes.get("do_rotary") else 0
    return attention_flops(batch, heads, queries, keys, head, value_head) + 3.0 * batch * queries * turned * head


@flops("LinearAttention")
def linear_attention(call: Call) -> float:
    """A state update and a read-out a token: 4 · b · h · s · d · d_v. Source: Katharopoulos et al., 2020, equations 18–20."""
    query, value = call.inputs[0].shape, call.inputs[2].shape
    if len(query) == 4:
        return 4.0 * query[0] * query[1] * query[2] * query[3] * value[3]
    heads = call.attributes.get("q_num_heads", 1)
    return 4.0 * query[0] * query[1] * query[2] * (value[2] // heads)
