"""Graph attention (Veličković et al., ICLR 2018) as a predictor."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv

from nnirp.predictors.message_passing import MessagePassingNetwork, MessagePassingPredictor, MessagePassingSettings
from nnirp.predictors.registry import register
from nnirp.training.compression import Block


@dataclass(frozen=True)
class GatSettings(MessagePassingSettings):
    """`heads` share the width."""

    heads: int = 4


class GatNetwork(MessagePassingNetwork):
    """Each layer averages a node and its neighbours with learned weights, `heads` times side by side."""

    def layer(self, size: int, width: int) -> nn.Module:
        return GATConv(size, width // self.settings.heads, heads=self.settings.heads, add_self_loops=False)

    def convolve(self, layer: nn.Module, state: Tensor, block: Block) -> Tensor:
        here = torch.arange(len(block.parent), device=state.device)
        edges = torch.cat([block.both(), torch.stack([block.parent, here])], dim=1)  # a node attends to itself too
        return layer((state, state[block.parent]), edges, size=(len(state), len(here)))


@register
class Gat(MessagePassingPredictor):
    """Graph attention over the true data flow in both directions; a class of multiplicity m has m terms in the softmax.

    One of the four networks that DIPPM compares; departures from its arrangement as in `nnirp.predictors.sage`, and four heads in place of one.
    """

    name = "gat"
    Settings = GatSettings
    Network = GatNetwork
