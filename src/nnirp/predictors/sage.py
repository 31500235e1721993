"""GraphSAGE (Hamilton, Ying and Leskovec, NeurIPS 2017) as a predictor."""

from torch import nn
from torch_geometric.nn import SAGEConv

from nnirp.predictors.message_passing import MessagePassingNetwork, MessagePassingPredictor
from nnirp.predictors.registry import register


class SageNetwork(MessagePassingNetwork):
    """Each layer adds a node's own state and the mean of its neighbours', each times its own matrix."""

    def layer(self, size: int, width: int) -> nn.Module:
        return SAGEConv((size, size), width, aggr="mean")


@register
class Sage(MessagePassingPredictor):
    """GraphSAGE with mean aggregation over the true data flow in both directions.

    One of the four networks that DIPPM compares (Panner Selvam and Brorsson, Euro-Par 2023). Departures from its arrangement, the same
    for all four: edges are the data flow in place of a chain of nodes with weights; three layers of 128 in place of six of
    512; log2 of the targets with a Huber loss in place of raw targets; `u` for its five static features; no normalisation of states.
    """

    name = "sage"
    Network = SageNetwork
