"""Which operators a runtime runs as one kernel, and of what kind: rules on a graph, applied to whole batches at once.

The idea of nn-Meter (Zhang et al., MobiSys 2021), whose rules are found by tests on each device; these are the ones that inference
runtimes agree on:

1. an element-wise operator runs inside the kernel of its first producer, where it is that producer's only consumer and the
   producer's kernel is not a pure data movement: convolution + batch normalisation + activation, addition + activation,
   matrix product + bias + activation;
2. a batch normalisation is element-wise at inference;
3. views (reshapes) that follow an operator cost it nothing: they join the kernel of their producer whatever it is.

An operator joins through its port 0 only, so that a residual addition joins the branch that is written first.
"""

import torch
from torch import Tensor

from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import GraphBatch
from nnirp.predictors.operator_features import CHANNELS, first_input
from nnirp.predictors.totals import FLOPS, INPUTS, OUTPUT_BYTES

ELEMENTWISE = (
    *("BatchNormalization", "Relu", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Gelu", "Softplus"),
    *("Clip", "Erf", "Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Exp", "Log", "Neg", "Reciprocal", "Min", "Max", "Cast", "Where"),
)  # fmt: skip
VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
MOVEMENT = ("Transpose", "Concat", "Split", "Slice", "Gather", "Expand", "Tile", "Pad", "DepthToSpace")
CONVOLUTIONS = ("Conv", "ConvTranspose", "QLinearConv")
PRODUCTS = ("MatMul", "Gemm", "Einsum", "QLinearMatMul", "MatMulInteger")
POOLS = ("MaxPool", "AveragePool", "GlobalAveragePool", "ReduceMean", "ReduceSum", "ReduceMax")
KINDS = (
    *("dense convolution", "pointwise convolution", "depthwise convolution", "product"),
    *("pool", "elementwise", "movement", "view", "other"),
)
OPERATOR_KINDS = (*KINDS, "fused", "fused with a second input")
_OPERATORS = {"product": PRODUCTS, "pool": POOLS, "elementwise": ELEMENTWISE, "movement": MOVEMENT, "view": VIEWS}


def fused_kernels(batch: GraphBatch, *, residual: bool = True) -> Tensor:
    """int64 [N]: the node whose kernel each node runs in; a node that begins a kernel has its own number.

    `residual=False` keeps element-wise operators of two inputs out of rule 1: not every runtime fuses them.
    """
    source, target = batch.edge_index
    consumers = torch.bincount(source, minlength=len(batch.op))
    joins, view, moves = (_among(batch.op, names) for names in (ELEMENTWISE, VIEWS, VIEWS + MOVEMENT))
    if not residual:
        joins &= batch.x[:, INPUTS] < 1.1  # log2(1 + 1)
    first = batch.edge_attr[:, 1] == 0
    fused = first & (consumers[source] == 1) & ((joins[target] & ~moves[source]) | view[target])
    head = torch.arange(len(batch.op))
    head[target[fused]] = source[fused]
    while not torch.equal(head, jumped := head[head]):  # chains are short: pointers double
        head = jumped
    return head


def kernel_kinds(batch: GraphBatch) -> Tensor:
    """int64 [N], a position in `KINDS`: what kind of kernel a node would begin.

    A convolution is pointwise where an output value takes as many multiply-accumulates as there are input channels; depthwise
    where it takes at most 8 × 8 of them and there are as many output channels as input channels; dense otherwise, and
    where the input channels are not known, as at the input of the graph.
    """
    kind = torch.full_like(batch.op, KINDS.index("other"))
    for name, operators in _OPERATORS.items():
        kind[_among(batch.op, operators)] = KINDS.index(name)
    taken = torch.exp2(batch.x[:, FLOPS] - batch.x[:, OUTPUT_BYTES] + 1)  # multiply-accumulates per value of 4 bytes
    before, after = torch.exp2(first_input(batch)[:, CHANNELS]) - 1, torch.exp2(batch.x[:, 5 + CHANNELS]) - 1
    flat = (taken / before.clamp(min=1) - 1).abs() < 0.05
    alike = (after - before).abs() < 0.5
    convolution = _among(batch.op, CONVOLUTIONS)
    kind[convolution] = KINDS.index("dense convolution")
    kind[convolution & (taken < 66) & alike] = KINDS.index("depthwise convolution")
    kind[convolution & flat & (before > 0.5)] = KINDS.index("pointwise convolution")
    return kind


def operator_kinds(batch: GraphBatch) -> Tensor:
    """int64 [N], a position in `OPERATOR_KINDS`: `kernel_kinds`, but for what runs inside another operator's kernel.

    That with a second input is a kind of its own: not every runtime fuses a residual addition.
    """
    kind = kernel_kinds(batch)
    inner = fused_kernels(batch) != torch.arange(len(batch.op))
    kind[inner] = OPERATOR_KINDS.index("fused")
    kind[inner & (batch.x[:, INPUTS] > 1.1)] = OPERATOR_KINDS.index("fused with a second input")
    return kind


def _among(op: Tensor, names: tuple[str, ...]) -> Tensor:
    index = load_vocabulary().index
    return torch.isin(op, torch.tensor([index[name] for name in names]))
