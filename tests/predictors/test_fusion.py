import numpy as np
import torch

from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import GraphBatch
from nnirp.predictors.fusion import KINDS, OPERATOR_KINDS, fused_kernels, kernel_kinds, operator_kinds


def batch_of(operators, edges, flops=None, channels=None):
    """A graph of operators on images of 10 × 10; an edge is (producer, consumer, port)."""
    n, index = len(operators), load_vocabulary().index
    channels = np.array(channels or [8] * n, dtype=np.float64)
    x = torch.zeros(n, 14)
    raw = torch.tensor(np.stack([flops or [0] * n, 0 * channels, 400 * channels, 0 * channels], axis=1))
    x[:, :4] = torch.log2(1 + raw)
    x[:, 5:9] = torch.log2(
        1 + torch.tensor(np.stack([1 + 0 * channels, channels, 10 + 0 * channels, 10 + 0 * channels], 1))
    )
    source, target, port = (torch.tensor(column, dtype=torch.int64) for column in zip(*edges, strict=True))
    attributes = torch.zeros(len(edges), 18)
    attributes[:, 1], attributes[:, 2:8] = port, x[source, 5:11]
    x[:, 11] = torch.log2(1.0 + torch.bincount(target, minlength=n))
    one = torch.zeros(1, 5)
    return GraphBatch(
        x=x,
        op=torch.tensor([index[name] for name in operators]),
        edge_index=torch.stack([source, target]),
        edge_attr=attributes,
        graph=torch.zeros(n, dtype=torch.int64),
        u=one,
        y=one[:, :1],
        memory=one[:, :4],
        num_graphs=1,
        index=torch.zeros(1, dtype=torch.int64),
    )


def test_an_activation_joins_its_convolution_and_a_residual_addition_the_branch_written_first():
    operators = ["Conv", "Relu", "Conv", "Add", "Relu", "Conv"]
    edges = [(0, 1, 0), (1, 2, 0), (2, 3, 0), (1, 3, 1), (3, 4, 0), (4, 5, 0)]
    batch = batch_of(operators, edges)
    assert fused_kernels(batch).tolist() == [0, 0, 2, 2, 2, 5]
    assert fused_kernels(batch, residual=False).tolist() == [0, 0, 2, 3, 3, 5]


def test_nothing_joins_a_producer_with_other_consumers_or_a_data_movement():
    batch = batch_of(
        ["Conv", "Relu", "Sigmoid", "Concat", "Relu"], [(0, 1, 0), (0, 2, 0), (1, 3, 0), (2, 3, 1), (3, 4, 0)]
    )
    assert fused_kernels(batch).tolist() == [0, 1, 2, 3, 4]


def test_convolutions_are_told_apart_by_multiply_accumulates_and_channels():
    taps = {"dense convolution": (8 * 9, 16), "pointwise convolution": (8, 16), "depthwise convolution": (9, 8)}
    for kind, (macs, channels) in taps.items():
        batch = batch_of(["Relu", "Conv"], [(0, 1, 0)], [0, 2 * macs * 100 * channels], [8, channels])
        assert KINDS[kernel_kinds(batch)[1]] == kind
    first = batch_of(["Conv", "Relu"], [(0, 1, 0)], [2 * 27 * 100 * 16, 0], [16, 16])
    assert KINDS[kernel_kinds(first)[0]] == "dense convolution"
    assert OPERATOR_KINDS[operator_kinds(first)[1]] == "fused"
