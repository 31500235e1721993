"""The graph convolutional network (Kipf and Welling, ICLR 2017) as a predictor."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from nnirp.layers.store import GraphBatch
from nnirp.predictors.message_passing import MessagePassingNetwork, MessagePassingPredictor
from nnirp.predictors.registry import register
from nnirp.training.compression import Compressed, Reading


class GcnNetwork(MessagePassingNetwork):
    """Each layer sums (d_i d_j)^-1/2 x_j over a node i and its neighbours j, times a matrix; d counts a node's edges and itself.

    The degrees are those of the graph, a column of the rows: a class holds nodes of one degree.
    """

    def layer(self, size: int, width: int) -> nn.Module:
        return GCNConv(size, width, add_self_loops=False, normalize=False)

    def read(self, batch: GraphBatch) -> Reading:
        degree = 1.0 + torch.bincount(batch.edge_index.reshape(-1), minlength=len(batch.x))
        rows = torch.cat([batch.x, degree[:, None].to(batch.x.dtype)], dim=1)
        return replace(super().read(batch), rows=rows)

    def states(self, batch: Compressed) -> Tensor:
        state, degree = self.enter(batch), batch.rows[:, -1]
        for layer, block in zip(self.layers, batch.blocks, strict=True):
            here = torch.arange(len(block.parent), device=state.device)
            edges = torch.cat([block.both(), torch.stack([block.parent, here])], dim=1)
            below, degree = degree, degree[block.parent]
            weight = (below[edges[0]] * degree[edges[1]]).rsqrt()
            size = (len(state), len(here))
            message = layer.propagate(edges, x=layer.lin(state), edge_weight=weight, size=size)
            state = self.dropout(torch.relu(message + layer.bias))
        return state[batch.place]


@register
class Gcn(MessagePassingPredictor):
    """GCN with symmetric normalisation over the true data flow in both directions.

    One of the four networks that DIPPM compares; departures from its arrangement as in `nnirp.predictors.sage`.
    """

    name = "gcn"
    Network = GcnNetwork
