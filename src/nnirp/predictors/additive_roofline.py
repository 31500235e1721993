"""Additive roofline: the time of a graph is a sum over operators, each with an efficiency that its context decides.

t = Σ_i [overhead_i + FLOPs_i / rate_i + bytes_i / bandwidth_i], where bytes that are read, written, kept as weights and gathered into
patches have bandwidths of their own. The roofline bound is of Williams, Waterman and Patterson (CACM 2009); the sum over
operators is common to operator-wise predictors. This project's are the efficiencies: a constant one for each kind of operator, by
non-negative least squares, times a factor that a message-passing network finds for the operator in its context.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from nnirp.errors import InputError
from nnirp.layers.store import GraphBatch, GraphSet
from nnirp.predictors.fusion import OPERATOR_KINDS, operator_kinds
from nnirp.predictors.memory_base import MemoryHead, is_memory
from nnirp.predictors.network import GraphNetwork, NetworkPredictor, Standard, masked_mean
from nnirp.predictors.operator_features import (
    OPERATOR_FEATURES,
    WORK,
    neighbouring_operators,
    operator_features,
    operator_traits,
    operator_work,
)
from nnirp.predictors.registry import register
from nnirp.predictors.roofline_base import kind_prices
from nnirp.predictors.roofline_member import Operators, RooflineMember
from nnirp.training.compression import Compressed, CompressedSet, Reading, compress

_KIND = OPERATOR_FEATURES + len(WORK)  # column of a leaf
CONTEXTS = ("messages", "neighbours", "none")
_LIMIT = 2.0  # deviations that a feature approaches: beyond the training range the base decides
_FACTOR, _DIRECT = (
    4.0,
    12.0,
)  # natural logarithm of the largest factor on a price, and on the time of a typical operator


@dataclass(frozen=True)
class AdditiveRooflineSettings:
    """`members` networks of `width` with `depth` rounds of message passing, `context_width` wide.

    `huber` is the error in natural logarithm above which the loss is linear. Ablations: `roofline=False` predicts times directly,
    `context="neighbours"` reads the operators of the first producer and consumer in place of messages, `"none"` nothing but
    the operator itself.
    """

    members: int = 3
    width: int = 64
    context_width: int = 32
    depth: int = 2
    embedding: int = 16
    roofline: bool = True
    context: str = "messages"
    huber: float = 0.05
    max_epochs: int = 60
    patience: int = 20
    learning_rate: float = 6e-3
    weight_decay: float = 1e-3
    steps_per_epoch: int = 16
    max_classes: int = 20_000


class RooflineNetwork(GraphNetwork):
    """Members that share the training batches; additive targets come from the operators, memory from its analytic base."""

    producers = consumers = True

    def __init__(self, targets: Sequence[str], settings: AdditiveRooflineSettings) -> None:
        super().__init__()
        if settings.context not in CONTEXTS:
            raise InputError(f"context {settings.context!r}: expected one of {', '.join(CONTEXTS)}")
        self.settings = settings
        self.depth = settings.depth if settings.context == "messages" else 0
        self.neighbours = settings.context == "neighbours"
        self.memory_columns = [t for t, name in enumerate(targets) if is_memory(name)]
        self.additive_columns = [t for t, name in enumerate(targets) if not is_memory(name)]
        self.features = Standard(OPERATOR_FEATURES, limit=_LIMIT)
        terms = 1 + len(WORK) if settings.roofline else 1
        self.register_buffer("prices", torch.ones(len(self.additive_columns), len(OPERATOR_KINDS), terms))
        self.members = nn.ModuleList(
            RooflineMember(
                len(self.additive_columns),
                terms,
                width=settings.width,
                context=settings.context_width,
                depth=self.depth,
                embedding=settings.embedding,
                neighbours=self.neighbours,
                log_range=_FACTOR if settings.roofline else _DIRECT,
            )
            for _ in range(settings.members)
        )
        self.memory_heads = nn.ModuleList(MemoryHead() for _ in self.memory_columns)

    def read(self, batch: GraphBatch) -> Reading:
        columns = [operator_features(batch), operator_work(batch), operator_kinds(batch)[:, None].float()]
        if self.neighbours:
            columns.append(neighbouring_operators(batch).float())
        leaf, traits = torch.cat(columns, dim=1), operator_traits(batch)
        return Reading(traits, batch.op, *batch.edge_index, batch.graph, batch.num_graphs, leaf=leaf)

    def operators(self, batch: Compressed) -> Operators:
        """What `read` put into the leaves."""
        features, log_work, kind, neighbours = torch.tensor_split(
            batch.leaf, [OPERATOR_FEATURES, _KIND, _KIND + 1], dim=1
        )
        work = torch.ones(len(features), 1, device=features.device)
        if self.settings.roofline:
            raw = torch.exp2(log_work.double()) - 1
            work = torch.cat([work, raw.to(work.dtype)], dim=1)
        return Operators(
            self.features(features), kind[:, 0].long(), work, neighbours.long() if self.neighbours else None
        )

    def measure(self, train: GraphSet, compressed: CompressedSet) -> None:
        self.features.measure(compressed.leaf[:, :OPERATOR_FEATURES])
        kind, *neighbours = compressed.leaf[:, _KIND:].long().split([1, 2] if self.neighbours else [1], dim=1)
        for member in self.members:
            member.forget_unseen(compressed.tables.op, kind, *(neighbours or [None]))
        if self.additive_columns:
            totals = self._kind_totals(compressed)
        for a, t in enumerate(self.additive_columns):
            known = np.isfinite(train.y[:, t])
            if known.any():
                measured = np.exp2(train.y[known, t].astype(np.float64))
                self.prices[a] = torch.from_numpy(kind_prices(totals[known], measured))
        for head, t in zip(self.memory_heads, self.memory_columns, strict=True):
            head.measure(train.memory, train.y[:, t])

    def _kind_totals(self, compressed: CompressedSet) -> np.ndarray:
        """float64 [n, kinds, W]: the work of each graph by kind of operator."""
        total = np.zeros((len(compressed), *self.prices.shape[1:]))
        for batch in compressed.batches(self.settings.max_classes):
            operators = self.operators(batch)
            mark = nn.functional.one_hot(operators.kind, len(OPERATOR_KINDS)).double()
            each = (mark[:, :, None] * operators.work.double()[:, None, :]).flatten(1)
            total[batch.index.numpy()] = batch.pool(each).numpy().reshape(-1, *total.shape[1:])
        return total

    def operator_times(self, batch: Compressed, operators: Operators, member: RooflineMember) -> Tensor:
        """[K, A]: the part of each class of operators in each additive target, in the target's unit."""
        costs = self.prices[:, operators.kind] * operators.work  # [A, K, W]
        return (member(batch, operators) * costs.transpose(0, 1)).sum(2)

    def outputs(self, batch: Compressed) -> Tensor:
        """[members, G, T] in log2."""
        memory = {t: head(batch.memory) for t, head in zip(self.memory_columns, self.memory_heads, strict=True)}
        operators = self.operators(batch) if self.additive_columns else None
        result = []
        for member in self.members:
            columns = dict(memory)
            if operators is not None:
                total = torch.log2(batch.pool(self.operator_times(batch, operators, member)).clamp(min=1e-12))
                columns |= {t: total[:, a] for a, t in enumerate(self.additive_columns)}
            result.append(torch.stack([columns[t] for t in sorted(columns)], dim=1))
        return torch.stack(result)

    def predict(self, batch: Compressed) -> tuple[Tensor, Tensor | None]:
        outputs = self.outputs(batch)
        return outputs.mean(0), outputs.std(0, correction=0) if len(outputs) > 1 else None

    def loss(self, batch: Compressed) -> Tensor:
        delta = self.settings.huber / np.log(2)
        target = torch.nan_to_num(batch.y)
        errors = [
            masked_mean(nn.functional.huber_loss(output, target, reduction="none", delta=delta), batch.y) / delta
            for output in self.outputs(batch)
        ]
        return torch.stack(errors).sum()


@register
class AdditiveRoofline(NetworkPredictor):
    """The project's own predictor; see the module's docstring.

    Runtime and every other additive target (energy) get prices and factors of their own for each operator; a memory
    target is its analytic figure times a learned residual. The spread of the members widens the interval.
    """

    name = "additive_roofline"
    Settings = AdditiveRooflineSettings

    def _build(self, targets: tuple[str, ...]) -> RooflineNetwork:
        return RooflineNetwork(targets, self.settings)

    @torch.inference_mode()
    def attribute(self, graphs: GraphSet, target: int = 0) -> list[np.ndarray]:
        """What each operator costs.

        Args:
            graphs: n graphs.
            target: the column of an additive target.

        Returns:
            float64 [N_i] a graph, in the target's unit, in the order of its nodes; sums to the prediction.
        """
        column = self.network.additive_columns.index(target)
        compressed = compress(graphs, self.network)
        members = self.network.members
        times = torch.zeros(len(members), compressed.classes, dtype=torch.float64)
        mean, totals = torch.zeros(len(graphs), dtype=torch.float64), torch.zeros(len(members), len(graphs)).double()
        for batch in compressed.batches(self.training().max_classes):
            mean[batch.index] = torch.exp2(self.network.predict(batch)[0][:, target].double())
            operators = self.network.operators(batch)
            for m, member in enumerate(members):
                own = self.network.operator_times(batch, operators, member)[:, column : column + 1].double()
                times[m, batch.final] = own[:, 0]
                totals[m, batch.index] = batch.pool(own)[:, 0]
        graph = torch.repeat_interleave(torch.arange(len(graphs)), torch.from_numpy(graphs.nodes))
        shares = (times[:, compressed.node_class] / totals[:, graph]).mean(0)
        return np.split((shares * mean[graph]).numpy(), np.cumsum(graphs.nodes)[:-1])
