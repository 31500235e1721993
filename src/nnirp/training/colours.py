"""Colours of nodes: equal 64-bit numbers where a message-passing network of a given depth cannot tell nodes apart.

Colour refinement (Weisfeiler and Leman 1968): the first colour is a node's own row, each further one adds the multisets of
the colours of its producers and consumers. Multisets are sums of mixed colours, so that nothing is sorted; with 64 bits the
chance that any two of ten million nodes collide is below 1 in 100,000. A colour depends on the content alone, not on the
batch, so that chunks of a large set can be coloured one after the other.
"""

import torch
from torch import Tensor

_SELF, _IN, _OUT = -7046029254386353131, -4417276706812531889, 7809847782465536323  # odd 64-bit multipliers
_SHIFT = 5871781006564002453


def row_colours(rows: Tensor, kind: Tensor | None = None) -> Tensor:
    """int64 [N] of the bits of `rows` float32 [N, F] and of `kind` int64 [N]."""
    bits = rows.contiguous().view(torch.int32).long()
    columns = torch.arange(1, rows.shape[1] + 1, device=rows.device)
    colour = (bits * (_mix(columns * _SELF) | 1)).sum(1)
    return _mix(colour if kind is None else colour + _mix(kind * _OUT))


def refine(
    colour: Tensor, source: Tensor, target: Tensor, edge: Tensor | None, *, producers: bool, consumers: bool
) -> Tensor:
    """One round of refinement.

    Args:
        colour: int64 [N].
        source, target: int64 [E], producer and consumer of each edge.
        edge: int64 [E] colours of the edges where messages carry something of them.
        producers, consumers: which neighbours a node hears.
    """
    result = colour * _SELF
    for used, heard, hearing, factor in ((producers, source, target, _IN), (consumers, target, source, _OUT)):
        if used:
            message = colour[heard] * factor
            message = _mix(message if edge is None else message + edge)
            result = result + _mix(torch.zeros_like(colour).index_add_(0, hearing, message)) * factor
    return _mix(result)


def join(first: Tensor, second: Tensor) -> Tensor:
    """int64 [N]: equal where both are equal."""
    return _mix(first * _SELF + _mix(second * _OUT))


def _mix(value: Tensor) -> Tensor:
    """Scatter the bits of int64 values; sums of mixed values stand for multisets, so 0 must not stay 0."""
    value = value + _SHIFT
    value = (value ^ (value >> 30)) * -4658895280553007687
    value = (value ^ (value >> 27)) * -7723592293110705685
    return value ^ (value >> 31)
