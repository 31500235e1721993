"""One network of the additive roofline's ensemble: operators in context to overhead, rate and bandwidth."""

import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from nnirp.features.vocabulary import load_vocabulary
from nnirp.training.compression import Compressed

_LOG_RANGE = 6.0  # an efficiency stays within e^±6 of the typical one


class ContextRound(nn.Module):
    """One round of GraphSAGE (Hamilton et al., NeurIPS 2017) with weights of its own for producers and for consumers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.from_producers = SAGEConv(width, width, aggr="mean")
        self.from_consumers = SAGEConv(width, width, aggr="mean", root_weight=False)

    def forward(self, state: Tensor, nodes: Compressed) -> Tensor:
        message = self.from_producers(state, nodes.producers) + self.from_consumers(state, nodes.consumers)
        return state + torch.relu(message)


class RooflineMember(nn.Module):
    """Operators in context to [K, A, 3] factors on the typical overhead, time per FLOP and time per byte of A targets.

    Messages carry operators and their traits, never sizes: what surrounds an operator decides whether it is fused, while
    its own features tell its size; a network that reads the sizes of its neighbours is lost on an unseen family.
    """

    def __init__(
        self, features: int, traits: int, targets: int, width: int, depth: int, embedding: int, roofline: bool
    ) -> None:
        super().__init__()
        self.targets, self.roofline = targets, roofline
        self.embedding = nn.Embedding(len(load_vocabulary()), embedding)
        context = width // 2
        self.context_enter = nn.Linear(traits + embedding, context)
        self.rounds = nn.ModuleList(ContextRound(context) for _ in range(depth))
        self.leave = nn.Sequential(
            nn.Linear(features + embedding + context, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 3 * targets),
        )
        nn.init.normal_(self.embedding.weight, std=0.5)
        nn.init.zeros_(self.leave[-1].bias)
        nn.init.normal_(self.leave[-1].weight, std=0.01)

    def forward(self, nodes: Compressed, surroundings: Compressed, place: Tensor) -> Tensor:
        """`nodes` K groups of equal features, operator and surroundings; `surroundings` the groups that messages pass between, of
        which `place` int64 [K] says each node's.
        """
        context = torch.relu(self.context_enter(torch.cat([surroundings.x, self.embedding(surroundings.op)], dim=1)))
        for layer in self.rounds:
            context = layer(context, surroundings)
        entry = torch.cat([nodes.x, self.embedding(nodes.op), context[place]], dim=1)
        output = self.leave(entry).view(-1, self.targets, 3)
        factors = torch.exp(_LOG_RANGE * torch.tanh(output / _LOG_RANGE))
        return factors if self.roofline else factors * factors.new_tensor([1.0, 0.0, 0.0])
