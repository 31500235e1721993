"""Additive roofline: the time of a graph is a sum over operators, each with an efficiency that its context decides.

t = Σ_i [overhead_i + FLOPs_i / rate_i + bytes_i / bandwidth_i]. The roofline bound is of Williams, Waterman and Patterson
(CACM 2009); the sum over operators is common to operator-wise predictors; the efficiencies as positive outputs of a
message-passing network are this project's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from nnirp.layers.store import GraphBatch, GraphSet
from nnirp.predictors.memory_base import MemoryHead, is_memory
from nnirp.predictors.network import GraphNetwork, NetworkPredictor, Standard, masked_mean
from nnirp.predictors.operator_features import (
    OPERATOR_FEATURES,
    OPERATOR_TRAITS,
    operator_features,
    operator_traits,
)
from nnirp.predictors.registry import register
from nnirp.predictors.roofline_member import RooflineMember
from nnirp.predictors.totals import graph_totals
from nnirp.training.compression import Compressed, CompressedSet, Reading, compress


@dataclass(frozen=True)
class AdditiveRooflineSettings:
    """`members` networks of `width` with `depth` rounds of message passing, `context` wide.

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
    learning_rate: float = 3e-3
    weight_decay: float = 1e-3
    steps_per_epoch: int = 16
    max_classes: int = 20_000


class RooflineNetwork(GraphNetwork):
    """Members that share the training batches; additive targets come from the operators, memory from its analytic base."""

    producers = consumers = True

    def __init__(self, targets: Sequence[str], settings: AdditiveRooflineSettings) -> None:
        super().__init__()
        self.settings = settings
        self.depth = settings.depth
        self.memory_columns = [t for t, name in enumerate(targets) if is_memory(name)]
        self.additive_columns = [t for t, name in enumerate(targets) if not is_memory(name)]
        self.features = Standard(OPERATOR_FEATURES, limit=4.0)
        self.register_buffer("prices", torch.ones(max(len(self.additive_columns), 1), 3))
        self.members = nn.ModuleList(
            RooflineMember(
                OPERATOR_FEATURES,
                OPERATOR_TRAITS,
                len(self.additive_columns),
                settings.width,
                settings.context_width,
                settings.depth,
                settings.embedding,
            )
            for _ in range(settings.members)
        )
        self.memory_heads = nn.ModuleList(MemoryHead() for _ in self.memory_columns)

    def read(self, batch: GraphBatch) -> Reading:
        traits, leaf = operator_traits(batch), operator_features(batch)
        return Reading(traits, batch.op, *batch.edge_index, batch.graph, batch.num_graphs, leaf=leaf)

    def measure(self, train: GraphSet, compressed: CompressedSet) -> None:
        self.features.measure(compressed.leaf)
        totals = graph_totals(train)[:, [2, 0, 1]]  # operators, FLOPs, bytes
        for a, t in enumerate(self.additive_columns):
            known = np.isfinite(train.y[:, t])
            if known.any():
                # each of the three terms starts as a third of the time of a typical graph
                log_price = np.median(train.y[known, t, None] - np.log2(np.maximum(totals[known], 1.0)), axis=0)
                self.prices[a] = torch.from_numpy(np.exp2(log_price) / 3)
        for head, t in zip(self.memory_heads, self.memory_columns, strict=True):
            head.measure(train.memory, train.y[:, t])

    def operator_times(self, batch: Compressed, member: RooflineMember) -> Tensor:
        """[K, A]: the part of each class of operators in each additive target, in the target's unit."""
        raw = torch.exp2(batch.leaf[:, :4].double()) - 1
        work = torch.stack([torch.ones_like(raw[:, 0]), raw[:, 0], raw[:, 1:].sum(1)], dim=1).float()
        factors = member(batch, self.features(batch.leaf))
        return (factors * work[:, None, :] * self.prices).sum(2)

    def outputs(self, batch: Compressed) -> Tensor:
        """[members, G, T] in log2."""
        memory = {t: head(batch.memory) for t, head in zip(self.memory_columns, self.memory_heads, strict=True)}
        result = []
        for member in self.members:
            columns = dict(memory)
            if self.additive_columns:
                total = torch.log2(batch.pool(self.operator_times(batch, member)).clamp(min=1e-12))
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
    """The project's own predictor; see the module's docstring."""

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
            for m, member in enumerate(members):
                own = self.network.operator_times(batch, member)[:, column : column + 1].double()
                times[m, batch.final] = own[:, 0]
                totals[m, batch.index] = batch.pool(own)[:, 0]
        graph = torch.repeat_interleave(torch.arange(len(graphs)), torch.from_numpy(graphs.nodes))
        shares = (times[:, compressed.node_class] / totals[:, graph]).mean(0)
        return np.split((shares * mean[graph]).numpy(), np.cumsum(graphs.nodes)[:-1])
