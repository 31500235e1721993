"""One network of the additive roofline's ensemble: operators in context to factors on the prices of their work."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from nnirp.features.vocabulary import load_vocabulary
from nnirp.predictors.fusion import OPERATOR_KINDS
from nnirp.predictors.operator_features import OPERATOR_FEATURES, OPERATOR_TRAITS
from nnirp.training.compression import Block, Compressed


@dataclass
class Operators:
    """What the members read of K classes of operators.

    `features` float32 [K, 43], standardised; `kind` int64 [K], of `OPERATOR_KINDS`; `work` float32 [K, W], raw; `neighbours` int64 [K, 2], as
    `neighbouring_operators` numbers them, where the context is these.
    """

    features: Tensor
    kind: Tensor
    work: Tensor
    neighbours: Tensor | None


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
    """Operators in context to [K, A, W] factors, within e^±`log_range`, on the W prices of A targets.

    Messages carry operators and their traits, never sizes: what surrounds an operator decides whether it is fused, while
    its own features tell its size; a network that reads the sizes of its neighbours is lost on an unseen family.
    """

    def __init__(
        self,
        targets: int,
        terms: int,
        *,
        width: int,
        context: int,
        depth: int,
        embedding: int,
        neighbours: bool,
        log_range: float,
    ) -> None:
        super().__init__()
        self.targets, self.terms, self.log_range = targets, terms, log_range
        self.embedding = nn.Embedding(len(load_vocabulary()), embedding)
        self.enter = nn.Linear(OPERATOR_TRAITS + embedding, context)
        self.rounds = nn.ModuleList(ContextRound(context) for _ in range(depth))
        self.from_context = nn.Linear(context, width)
        self.from_kind = nn.Embedding(len(OPERATOR_KINDS), width)
        self.from_neighbours = nn.Embedding(2 * (1 + len(load_vocabulary())), width) if neighbours else None
        self.from_features = nn.Linear(OPERATOR_FEATURES, width, bias=False)
        self.leave = nn.Sequential(nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, terms * targets))
        nn.init.normal_(self.embedding.weight, std=0.5)
        nn.init.normal_(self.from_kind.weight, std=0.5)
        nn.init.zeros_(self.leave[-1].bias)
        nn.init.normal_(self.leave[-1].weight, std=0.01)

    @torch.no_grad()
    def forget_unseen(self, op: Tensor, kind: Tensor, neighbours: Tensor | None) -> None:
        """What training lacks stands at the middle of what it has, not at a random place: zero, where no gradient moves it."""
        tables = [(self.embedding, op), (self.from_kind, kind)]
        if self.from_neighbours is not None and neighbours is not None:
            tables.append((self.from_neighbours, neighbours + self._side(neighbours)))
        for table, seen in tables:
            unseen = torch.ones(len(table.weight), dtype=torch.bool)
            unseen[seen.unique()] = False
            table.weight[unseen] = 0

    def _side(self, neighbours: Tensor) -> Tensor:
        return neighbours.new_tensor([0, len(self.from_neighbours.weight) // 2])

    def forward(self, batch: Compressed, operators: Operators) -> Tensor:
        context = torch.relu(self.enter(torch.cat([batch.rows, self.embedding(batch.op)], dim=1)))
        for layer, block in zip(self.rounds, batch.blocks, strict=True):
            context = layer(context, block)
        hidden = self.from_features(operators.features) + self.from_context(context)[batch.place]
        hidden = hidden + self.from_kind(operators.kind)
        if self.from_neighbours is not None:
            hidden = hidden + self.from_neighbours(operators.neighbours + self._side(operators.neighbours)).sum(1)
        output = self.leave(hidden).view(-1, self.targets, self.terms)
        return torch.exp(self.log_range * torch.tanh(output / self.log_range))
