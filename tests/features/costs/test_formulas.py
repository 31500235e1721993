"""FLOPs of single operators against figures worked out by hand."""

import pytest

from nnirp.features.cost import Call, Operand, call_cost, knows
from nnirp.features.costs.elementwise import ELEMENTWISE_FLOPS
from nnirp.features.costs.movement import DATA_MOVEMENT
from nnirp.features.vocabulary import load_vocabulary

F = 1


def flops(op, inputs, output, **attributes):
    operands = tuple(None if s is None else Operand(F, s) for s in inputs)
    return call_cost(Call(op, attributes, operands, (Operand(F, output),))).flops


A = (2, 3, 4)  # 24 elements
TABLE = [
    # 2·8·16·16 outputs × 3·3·3 taps × 2
    ("Conv", [(2, 3, 16, 16), (8, 3, 3, 3)], (2, 8, 16, 16), {}, 2 * 4096 * 27),
    ("Conv", [(2, 3, 16, 16), (8, 3, 3, 3), (8,)], (2, 8, 16, 16), {}, 2 * 4096 * 27),
    ("Conv", [(1, 8, 10, 10), (8, 1, 3, 3)], (1, 8, 10, 10), {"group": 8}, 2 * 800 * 9),
    ("Conv", [(1, 8, 10, 10), (4, 4, 3, 3)], (1, 4, 8, 8), {"group": 2}, 2 * 256 * 36),
    ("Conv", [(1, 4, 20), (6, 4, 5)], (1, 6, 12), {"dilations": [2]}, 2 * 72 * 20),
    ("ConvTranspose", [(1, 4, 5, 5), (4, 6, 2, 2)], (1, 6, 10, 10), {"strides": [2, 2]}, 2 * 100 * 24),
    ("ConvInteger", [(1, 3, 8, 8), (4, 3, 1, 1)], (1, 4, 8, 8), {}, 2 * 256 * 3),
    ("QLinearConv", [(1, 3, 8, 8), (), (), (4, 3, 1, 1), (), (), (), ()], (1, 4, 8, 8), {}, 2 * 256 * 3 + 3 * 256),
    # 36 samples × 4 channels, taps 2·2: each 4 MACs
    ("DeformConv", [(1, 4, 6, 6), (5, 4, 1, 1), (1, 2, 6, 6)], (1, 5, 6, 6), {}, 2 * 180 * 4 + 36 * 4 * 8),
    ("MatMul", [(2, 5, 7), (7, 3)], (2, 5, 3), {}, 2 * 30 * 7),
    ("MatMul", [(7,), (7, 3)], (3,), {}, 2 * 3 * 7),
    ("MatMulInteger", [(5, 7), (7, 3)], (5, 3), {}, 2 * 15 * 7),
    ("QLinearMatMul", [(5, 7), (), (), (7, 3)], (5, 3), {}, 2 * 15 * 7 + 45),
    ("Gemm", [(5, 7), (3, 7), (3,)], (5, 3), {"transB": 1}, 2 * 15 * 7),
    ("Gemm", [(7, 5), (7, 3)], (5, 3), {"transA": 1}, 2 * 15 * 7),
    ("FusedMatMul", [(7, 5), (7, 3)], (5, 3), {"transA": 1}, 2 * 15 * 7 + 15),
    ("MatMulNBits", [(5, 64), (3, 2, 16)], (5, 3), {"K": 64, "N": 3}, 2 * 15 * 64 + 2 * 192),
    ("Einsum", [(2, 3, 4), (2, 4, 5)], (2, 3, 5), {"equation": "bij,bjk->bik"}, 2 * 2 * 3 * 4 * 5),
    ("Einsum", [(3, 4), (4, 5), (5, 2)], (3, 2), {"equation": "ij,jk,kl->il"}, 2 * (60 + 30)),
    ("Einsum", [(3,), (4,)], (3, 4), {"equation": "i,j->ij"}, 12),
    ("Einsum", [(2, 6, 3, 4), (2, 6, 4, 5)], (2, 6, 3, 5), {"equation": "...ij,...jk->...ik"}, 2 * 12 * 60),
    ("Attention", [(1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6)], (1, 2, 3, 6), {}, 2 * 30 * 10 + 6 * 30),
    ("Attention", [(1, 3, 8), (1, 3, 4), (1, 3, 4), None, (1, 1, 5, 4), (1, 1, 5, 4)], (1, 3, 8), {"q_num_heads": 2, "kv_num_heads": 1}, 48 * 22),
    # com.microsoft: the projection 2·3·8·24, then 2·9 scores
    ("Attention", [(1, 3, 8), (8, 24)], (1, 3, 8), {"num_heads": 2}, 1152 + 18 * 22),
    ("QAttention", [(1, 3, 8), (8, 24), None, (), (), None, None, None, (2, 1, 2, 5, 4)], (1, 3, 8), {"num_heads": 2}, 1152 + 48 * 22 + 2 * 72),
    ("MultiHeadAttention", [(2, 3, 8), (2, 5, 8), (2, 5, 8)], (2, 3, 8), {"num_heads": 2}, 60 * 22),
    ("GroupQueryAttention", [(1, 1, 8), (1, 1, 4), (1, 1, 4), (1, 1, 6, 4), (1, 1, 6, 4)], (1, 1, 8), {"num_heads": 2, "kv_num_heads": 1, "do_rotary": 1}, 14 * 22 + 3 * 3 * 4),
    ("GroupQueryAttention", [(1, 4, 16), None, None], (1, 4, 8), {"num_heads": 2, "kv_num_heads": 1}, 32 * 22),
    ("LinearAttention", [(1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 5)], (1, 2, 3, 5), {}, 4 * 24 * 5),
    ("RotaryEmbedding", [(1, 2, 3, 4), (3, 2), (3, 2)], (1, 2, 3, 4), {}, 72),
    ("MoE", [(1, 3, 4), (3, 8), (8, 16, 4), None, (8, 4, 16)], (1, 3, 4), {"k": 2}, 2 * 3 * 2 * 128),
    ("QMoE", [(3, 4), (3, 8), (8, 16, 2), (8, 16), None, (8, 4, 8)], (3, 4), {"k": 1, "expert_weight_bits": 4}, 2 * 3 * 128),
    ("FusedGemm", [(5, 7), (7, 3)], (5, 3), {"activation": "Relu"}, 210 + 15),
    ("GemmFastGelu", [(5, 7), (7, 3)], (5, 3), {}, 210 + 9 * 15),
    ("LinearRegressor", [(5, 7)], (5, 2), {"coefficients": [0.0] * 14}, 140),
    ("NhwcConv", [(1, 8, 8, 3), (4, 3, 1, 1)], (1, 8, 8, 4), {}, 2 * 256 * 3),
    # gates: 2·4·6·(5+6) = 528 and 22·6 = 132 a step and sample
    ("LSTM", [(7, 2, 5), (1, 24, 5), (1, 24, 6)], (7, 1, 2, 6), {"hidden_size": 6}, 14 * (528 + 132)),
    ("LSTM", [(7, 2, 5), (2, 24, 5), (2, 24, 6)], (7, 2, 2, 6), {"hidden_size": 6, "direction": "bidirectional"}, 28 * 660),
    ("GRU", [(7, 2, 5), (1, 18, 5), (1, 18, 6)], (7, 1, 2, 6), {"hidden_size": 6}, 14 * (2 * 3 * 6 * 11 + 18 * 6)),
    ("RNN", [(7, 2, 5), (1, 6, 5), (1, 6, 6)], (7, 1, 2, 6), {"hidden_size": 6}, 14 * (2 * 6 * 11 + 12)),
    ("LayerNormalization", [A, (4,), (4,)], A, {}, 168),
    ("LayerNormalization", [A, (4,)], A, {}, 144),
    ("RMSNormalization", [A, (4,)], A, {}, 96),
    ("GroupNormalization", [A, (3,), (3,)], A, {}, 168),
    ("InstanceNormalization", [A, (3,), (3,)], A, {}, 168),
    ("BatchNormalization", [A, (3,), (3,), (3,), (3,)], A, {}, 48),
    ("LRN", [(1, 8, 2, 2)], (1, 8, 2, 2), {"size": 5}, 320),
    ("Softmax", [A], A, {}, 120),
    ("Add", [A, (4,)], A, {}, 24),
    ("Sigmoid", [A], A, {}, 96),
    ("HardSwish", [A], A, {}, 120),
    ("Gelu", [A], A, {}, 120),
    ("Gelu", [A], A, {"approximate": "tanh"}, 216),
    ("Clip", [A, (), ()], A, {}, 48),
    ("Max", [A, A, A], A, {}, 48),
    ("Max", [A], A, {}, 24),
    ("ReduceMean", [A], (2, 3, 1), {}, 24 + 6),
    ("ReduceSum", [A], (2,), {}, 24),
    ("ReduceL2", [A], (2,), {}, 48 + 2),
    ("ArgMax", [A], (2, 1, 4), {}, 24),
    ("MaxPool", [(1, 2, 8, 8)], (1, 2, 4, 4), {"kernel_shape": [3, 3]}, 32 * 9),
    ("AveragePool", [(1, 2, 8, 8)], (1, 2, 4, 4), {"kernel_shape": [2, 2]}, 32 * 5),
    ("GlobalAveragePool", [(1, 2, 8, 8)], (1, 2, 1, 1), {}, 128 + 2),
    ("TopK", [(1, 100), (1,)], (1, 4), {}, 100 * 2),
    ("Gather", [(100, 8), (5,)], (5, 8), {}, 0),
    ("ScatterND", [A, (2, 1), (2, 3, 4)], A, {}, 0),
    ("ScatterND", [A, (2, 1), (2, 3, 4)], A, {"reduction": "add"}, 24),
    ("Resize", [(1, 2, 4, 4), None, (4,)], (1, 2, 8, 8), {"mode": "linear"}, 128 * 2 * 4),
    ("Resize", [(1, 2, 4, 4), None, (4,)], (1, 2, 8, 8), {"mode": "nearest"}, 0),
    ("GridSample", [(1, 2, 4, 4), (1, 3, 3, 2)], (1, 2, 3, 3), {"mode": "linear"}, 18 * 8 + 72),
    ("QuantizeLinear", [A, (), ()], A, {}, 120),
    ("DequantizeLinear", [A, ()], A, {}, 24),
    ("DequantizeLinear", [A, (), ()], A, {}, 48),
    ("QLinearAdd", [A, (), (), A, (), (), (), ()], A, {}, 240),
    ("QLinearWhere", [A, A, (), (), A, (), (), (), ()], A, {}, 192),
    ("QLinearGlobalAveragePool", [(1, 2, 8, 8), (), (), (), ()], (1, 2, 1, 1), {}, 128 + 12),
    ("GatherBlockQuantized", [(100, 8), (5,), (100, 1)], (5, 8), {}, 80),
    ("BiasSoftmax", [A, A], A, {}, 144),
    ("DynamicQuantizeLinear", [A], A, {}, 168),
    ("NonMaxSuppression", [(1, 8, 4), (1, 2, 8)], (1, 3), {}, 2 * (32 * 13 + 8 * 3)),
    ("RoiAlign", [(1, 2, 9, 9), (3, 4), (3,)], (3, 2, 7, 7), {"sampling_ratio": 2}, 294 * 4 * 9),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "output", "attributes", "expected"), TABLE)
def test_flops_are_those_worked_out_by_hand(op, inputs, output, attributes, expected):
    assert flops(op, inputs, output, **attributes) == expected


def test_table_covers_sixty_operators():
    assert len({row[0] for row in TABLE}) >= 60


@pytest.mark.parametrize("op", load_vocabulary().operators[1:])
def test_every_operator_of_the_vocabulary_has_a_formula(op):
    assert knows(op)


def test_zero_flops_are_stated_and_elementwise_is_never_zero():
    assert all(flops(op, [A], A) == 0 for op in DATA_MOVEMENT)
    assert min(ELEMENTWISE_FLOPS.values()) >= 1
    assert not DATA_MOVEMENT & set(ELEMENTWISE_FLOPS)
