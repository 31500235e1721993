"""What a network reads of one operator: its costs, its shape, the shape of its first input, and how both fill a processor's lanes."""

import torch
from torch import Tensor

from nnirp.layers.store import GraphBatch
from nnirp.predictors.totals import FLOPS, OUTPUT_BYTES, WEIGHT_BYTES, WEIGHTS

NODE, EDGE_DIMS, EDGE_TYPES = 14, slice(2, 9), slice(10, 18)
CHANNELS, FIRST_SPATIAL = 1, 2  # among the dims of an image
OPERATOR_TRAITS = 4
# log2 of the quantities that a kernel's time is made of, besides one a kernel; each log2(1 + v)
WORK = ("FLOPs", "bytes in", "bytes out", "bytes of weights", "bytes of patches")
_LANES = (4, 8, 16)  # a vector of float32 has 4 (NEON), 8 (AVX) or 16 (AVX-512) lanes
OPERATOR_FEATURES = NODE + 7 + 8 + 5 + 3 + 2 * len(_LANES)


def first_input(batch: GraphBatch) -> Tensor:
    """float32 [N, 15]: log2(1 + v) of the dims and rank of the tensor at input port 0, and its type one-hot; zeros without one."""
    given = batch.x.new_zeros(len(batch.x), 15)
    first = batch.edge_attr[:, 1] == 0
    attributes = torch.cat([batch.edge_attr[:, EDGE_DIMS], batch.edge_attr[:, EDGE_TYPES]], dim=1)
    given[batch.edge_index[1, first]] = attributes[first]
    return given


def operator_features(batch: GraphBatch) -> Tensor:
    """float32 [N, 43], in log2: `x`; `first_input`; arithmetic intensity (FLOPs per byte), FLOPs per output byte, the weights' share of
    the bytes, output over input bytes, bytes of an output element; FLOPs per output element, output positions of a channel, the
    stride; by how much output and input channels grow when they are filled up to multiples of 4, 8 and 16.
    """
    x, given = batch.x, first_input(batch)
    flops, read, written, weights = x[:, :4].T
    elements = x[:, 5:11].sum(1)
    moved = torch.logaddexp2(torch.logaddexp2(read, written), weights)
    positions, before = x[:, 5 + FIRST_SPATIAL : 11].sum(1), given[:, FIRST_SPATIAL:6].sum(1)
    stride = torch.where((positions > 0) & (before > 0), before - positions, 0.0)
    derived = [flops - moved, flops - written, weights - moved, written - read, written - elements]
    derived += [flops - elements, positions, stride]
    for log_channels in (x[:, 5 + CHANNELS], given[:, CHANNELS]):
        channels = torch.exp2(log_channels).sub(1).round().clamp(min=1)
        derived += [torch.log2(torch.ceil(channels / lanes) * lanes / channels) for lanes in _LANES]
    return torch.cat([x, given, torch.stack(derived, dim=1)], dim=1)


def operator_work(batch: GraphBatch) -> Tensor:
    """float32 [N, 5]: `WORK`. The patches are the FLOPs over the output's channels, at 2 FLOPs and 4 bytes a value: what a
    convolution gathers before it multiplies (Chellapilla, Puri and Simard, 2006), what a product reads of its first operand.
    Patches and weights are zero where a float32 of the output takes at most 8 FLOPs: there the weights are a vector, or a table of
    which only some rows are read.
    """
    x = batch.x
    raw, channels = torch.exp2(x[:, FLOPS].double()) - 1, torch.exp2(x[:, 5 + CHANNELS].double()) - 1
    multiplies = (x[:, WEIGHTS] > 0) & (x[:, FLOPS] - x[:, OUTPUT_BYTES] > 1)
    patches = torch.where(multiplies & (channels >= 1), 2 * raw / channels.clamp(min=1), 0.0)
    weights = torch.where(multiplies, x[:, WEIGHT_BYTES], 0.0)
    return torch.cat([x[:, :3], weights[:, None], torch.log2(1 + patches)[:, None].to(x.dtype)], dim=1)


def operator_traits(batch: GraphBatch) -> Tensor:
    """float32 [N, 4], traits without a size: has weights; has arithmetic; log2(1 + inputs); reduces more than 32 values to an
    output (tells a dense convolution from a depthwise one).
    """
    x = batch.x
    return torch.stack(
        [(x[:, 13] > 0).float(), (x[:, 0] > 0).float(), x[:, 11], (x[:, 0] - x[:, 2] > 4).float()], dim=1
    )


def neighbouring_operators(batch: GraphBatch) -> Tensor:
    """int64 [N, 2]: 1 + the operator of the producer at input port 0 and of the first consumer; 0 where there is none."""
    found = torch.zeros(len(batch.op), 2, dtype=torch.int64)
    source, target = batch.edge_index
    first = batch.edge_attr[:, 1] == 0
    found[target[first], 0] = 1 + batch.op[source[first]]
    edges = len(source)
    earliest = torch.full_like(batch.op, edges).scatter_reduce_(0, source, torch.arange(edges), "amin")
    consumed = earliest < edges
    found[consumed, 1] = 1 + batch.op[target[earliest[consumed]]]
    return found
