"""Which operators a runtime runs as one kernel: rules on a graph, applied to whole batches at once.

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
from nnirp.predictors.totals import FLOPS, INPUTS, OUTPUT_BYTES, WEIGHTS

ELEMENTWISE = (
    *("BatchNormalization", "Relu", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Gelu", "Softplus"),
    *("Clip", "Erf", "Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Exp", "Log", "Neg", "Reciprocal", "Min", "Max", "Cast", "Where"),
)  # fmt: skip
VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
MOVEMENT = ("Transpose", "Concat", "Split", "Slice", "Gather", "Expand", "Tile", "Pad", "DepthToSpace")
CONVOLUTIONS = ("Conv", "ConvTranspose", "QLinearConv")
PRODUCTS = ("MatMul", "Gemm", "Einsum", "QLinearMatMul", "MatMulInteger")
POOLS = ("MaxPool", "AveragePool", "GlobalAveragePool", "ReduceMean", "ReduceSum", "ReduceMax")
KINDS = ("dense convolution", "depthwise convolution", "product", "pool", "elementwise", "movement", "view", "other")


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

    A convolution is depthwise where an output value takes at most 64 multiply-accumulates, which is 7 × 7 taps of one
    channel and 8 × 8 at most.
    """
    kind = torch.full_like(batch.op, KINDS.index("other"))
    short = batch.x[:, FLOPS] - batch.x[:, OUTPUT_BYTES] < 5.05  # log2 of FLOPs per output byte, 4 bytes a value
    for name, operators in (
        ("product", PRODUCTS),
        ("pool", POOLS),
        ("elementwise", ELEMENTWISE),
        ("movement", MOVEMENT),
        ("view", VIEWS),
    ):
        kind[_among(batch.op, operators)] = KINDS.index(name)
    convolution = _among(batch.op, CONVOLUTIONS)
    kind[convolution & ~short] = KINDS.index("dense convolution")
    kind[convolution & short & (batch.x[:, WEIGHTS] > 0)] = KINDS.index("depthwise convolution")
    return kind


def _among(op: Tensor, names: tuple[str, ...]) -> Tensor:
    index = load_vocabulary().index
    return torch.isin(op, torch.tensor([index[name] for name in names]))
