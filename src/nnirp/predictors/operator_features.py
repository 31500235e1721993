"""What a network reads of one operator: its costs, its shape, the shape of its first input, and how it compares with the roofline."""

import torch
from torch import Tensor

from nnirp.layers.store import GraphBatch

NODE, EDGE_DIMS, EDGE_TYPES = 14, slice(2, 9), slice(10, 18)
OPERATOR_FEATURES = NODE + 7 + 8 + 5
OPERATOR_TRAITS = 4


def operator_features(batch: GraphBatch) -> Tensor:
    """float32 [N, 34]: `x`; dims, rank and type of the tensor at input port 0 (zeros without one); then, all in log2, the
    arithmetic intensity (FLOPs per byte), FLOPs per output byte, the weights' share of the bytes, output over input bytes,
    and the bytes of an output element.
    """
    target = batch.edge_index[1]
    first = batch.edge_attr[:, 1] == 0
    given = batch.x.new_zeros(len(batch.x), 15)
    attributes = torch.cat([batch.edge_attr[:, EDGE_DIMS], batch.edge_attr[:, EDGE_TYPES]], dim=1)
    given[target[first]] = attributes[first]
    flops, read, written, weights = batch.x[:, :4].T
    moved = torch.logaddexp2(torch.logaddexp2(read, written), weights)
    derived = [flops - moved, flops - written, weights - moved, written - read, written - batch.x[:, 5:11].sum(1)]
    return torch.cat([batch.x, given, torch.stack(derived, dim=1)], dim=1)


def operator_traits(batch: GraphBatch) -> Tensor:
    """float32 [N, 4], traits without a size: has weights; has arithmetic; log2(1 + inputs); reduces more than 32 values to an
    output (tells a dense convolution from a depthwise one).
    """
    x = batch.x
    return torch.stack(
        [(x[:, 13] > 0).float(), (x[:, 0] > 0).float(), x[:, 11], (x[:, 0] - x[:, 2] > 4).float()], dim=1
    )
