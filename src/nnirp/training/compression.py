"""Exact compression: nodes that a message-passing network of a given depth cannot tell apart are computed once.

Colour refinement (Weisfeiler and Leman 1968) groups nodes by their features and, `depth` times, by the multisets of their
producers' and consumers' groups. One representative a group keeps its own edges, each leading to the representative of the
neighbour's group. By induction over the layers a representative has the output of every member, with any aggregation over
neighbours; a readout weighs it by the number of members in each graph. Groups reach across the graphs of a batch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from nnirp.layers.store import GraphBatch


@dataclass
class Compressed:
    """A batch of G graphs with N nodes as K representatives.

    `x` float32 [K, F], `op` int64 [K]; `producers` int64 [2, Ei] leads from the representative of a producer to a
    representative, `consumers` int64 [2, Eo] from that of a consumer; `graph`, `member` int64 [M] and `count` float32 [M]: graph
    `graph[m]` has `count[m]` nodes of representative `member[m]`; `node` int64 [N]: the group of each node; `representative` int64 [K]: the node
    that stands for each group.
    """

    x: Tensor
    op: Tensor
    producers: Tensor
    consumers: Tensor
    graph: Tensor
    member: Tensor
    count: Tensor
    node: Tensor
    representative: Tensor
    num_graphs: int

    def pool(self, values: Tensor) -> Tensor:
        """Sum of `values` [K, C] over the nodes of each graph: [G, C]."""
        weighted = values[self.member] * self.count[:, None].to(values.dtype)
        return values.new_zeros(self.num_graphs, values.shape[1]).index_add_(0, self.graph, weighted)

    def nodes_per_graph(self) -> Tensor:
        """float32 [G]."""
        return self.count.new_zeros(self.num_graphs).index_add_(0, self.graph, self.count)


def compress(x: Tensor, batch: GraphBatch, depth: int, within: Tensor | None = None) -> Compressed:
    """Group the nodes of a batch.

    Args:
        x: float32 [N, F], what the network reads of each node besides its operator.
        batch: operators, edges and graphs.
        within: int64 [N], groups that must not be merged.
        depth: the number of message-passing layers; more is correct and compresses less. Below 0 nothing is grouped.
    """
    source, target = batch.edge_index
    if depth < 0:
        group = torch.arange(len(x), device=x.device)
        representative = group
    else:
        colour = _row_colours(x, batch.op if within is None else batch.op + within * 4096)
        for _ in range(depth):
            incoming = torch.zeros_like(colour).index_add_(0, target, _mix(colour * _IN)[source])
            outgoing = torch.zeros_like(colour).index_add_(0, source, _mix(colour * _OUT)[target])
            colour = _mix(colour * _SELF + _mix(incoming) * _IN + _mix(outgoing) * _OUT)
        _, group = torch.unique(colour, return_inverse=True)
        groups = int(group.max()) + 1 if len(group) else 0
        order = torch.arange(len(x), device=x.device)
        representative = order.new_full((groups,), len(x)).scatter_reduce_(0, group, order, "amin")
    chosen = torch.zeros(len(x), dtype=torch.bool, device=x.device)
    chosen[representative] = True
    into, out_of = chosen[target], chosen[source]
    key, count = torch.unique(batch.graph * max(len(representative), 1) + group, return_counts=True)
    return Compressed(
        x=x[representative],
        op=batch.op[representative],
        producers=torch.stack([group[source[into]], group[target[into]]]),
        consumers=torch.stack([group[target[out_of]], group[source[out_of]]]),
        graph=key // max(len(representative), 1),
        member=key % max(len(representative), 1),
        count=count.to(x.dtype),
        node=group,
        representative=representative,
        num_graphs=batch.num_graphs,
    )


_SELF, _IN, _OUT = -7046029254386353131, -4417276706812531889, 7809847782465536323  # odd 64-bit multipliers
_SHIFT = 5871781006564002453


def _mix(value: Tensor) -> Tensor:
    """Scatter the bits of int64 values; sums of mixed values stand for multisets, so 0 must not stay 0."""
    value = value + _SHIFT
    value = (value ^ (value >> 30)) * -4658895280553007687
    value = (value ^ (value >> 27)) * -7723592293110705685
    return value ^ (value >> 31)


def _row_colours(x: Tensor, op: Tensor) -> Tensor:
    bits = x.contiguous().view(torch.int32).long()
    columns = torch.arange(1, x.shape[1] + 1, device=x.device)
    return _mix((bits * (_mix(columns * _SELF) | 1)).sum(1) + _mix(op * _OUT))
