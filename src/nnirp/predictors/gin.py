"""The graph isomorphism network (Xu et al., ICLR 2019) as a predictor."""

from torch import nn
from torch_geometric.nn import GINConv

from nnirp.predictors.message_passing import MessagePassingNetwork, MessagePassingPredictor
from nnirp.predictors.registry import register


class GinNetwork(MessagePassingNetwork):
    """Each layer sends a node's own state plus the sum of its neighbours' through a perceptron of two layers."""

    def layer(self, size: int, width: int) -> nn.Module:
        return GINConv(nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, width)))


@register
class Gin(MessagePassingPredictor):
    """GIN with ε = 0 over the true data flow in both directions.

    One of the four networks that DIPPM compares; departures from its arrangement as in `nnirp.predictors.sage`, and no batch normalisation
    inside the perceptrons, whose statistics would count a class once instead of its nodes.
    """

    name = "gin"
    Network = GinNetwork
