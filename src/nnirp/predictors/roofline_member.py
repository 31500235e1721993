"""One network of the additive roofline's ensemble: operators in context to overhead, rate and bandwidth."""

import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from nnirp.features.vocabulary import load_vocabulary
from nnirp.training.compression import Block, Compressed

_LOG_RANGE = 6.0  # an efficiency stays within e^±6 of the typical one


class ContextRound(nn.Module):
    """One round of GraphSAGE (Hamilton et al., NeurIPS 2017) with weights of its own for producers and for consumers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.from_producers = SAGEConv((width, width), width, aggr="mean")
        self.from_consumers = SAGEConv((width, width), width, aggr="mean", root_weight=False)

    def forward(self, state: Tensor, block: Block) -> Tensor:
        here = state[block.parent]
        size = (len(state), len(here))
        message = self.from_producers((state, here), block.producers, size=size)
        return here + torch.relu(message + self.from_consumers((state, here), block.consumers, size=size))


class RooflineMember(nn.Module):
    """Operators in context to [K, A, 3] factors on the typical overhead, time per FLOP and time per byte of A targets.

    Messages carry operators and their traits, never sizes: what surrounds an operator decides whether it is fused, while
    its own features tell its size; a network that reads the sizes of its neighbours is lost on an unseen family.
    """

    def __init__(
        self, features: int, traits: int, targets: int, width: int, context: int, depth: int, embedding: int
    ) -> None:
        super().__init__()
        self.targets = targets
        self.embedding = nn.Embedding(len(load_vocabulary()), embedding)
        self.enter = nn.Linear(traits + embedding, context)
        self.rounds = nn.ModuleList(ContextRound(context) for _ in range(depth))
        self.from_context = nn.Linear(context, width)
        self.from_features = nn.Linear(features, width, bias=False)
        self.leave = nn.Sequential(nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3 * targets))
        nn.init.normal_(self.embedding.weight, std=0.5)
        nn.init.zeros_(self.leave[-1].bias)
        nn.init.normal_(self.leave[-1].weight, std=0.01)

    def forward(self, batch: Compressed, features: Tensor) -> Tensor:
        """`features` float32 [K, features] of the final classes."""
        context = torch.relu(self.enter(torch.cat([batch.rows, self.embedding(batch.op)], dim=1)))
        for layer, block in zip(self.rounds, batch.blocks, strict=True):
            context = layer(context, block)
        hidden = self.from_features(features) + self.from_context(context)[batch.place]
        output = self.leave(hidden).view(-1, self.targets, 3)
        return torch.exp(_LOG_RANGE * torch.tanh(output / _LOG_RANGE))
