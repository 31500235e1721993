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
from nnirp.predictors.network import NetworkPredictor, masked_mean
from nnirp.predictors.operator_features import (
    OPERATOR_FEATURES,
    OPERATOR_TRAITS,
    OperatorFeatures,
    operator_features,
    operator_traits,
)
from nnirp.predictors.registry import register
from nnirp.predictors.roofline_member import RooflineMember
from nnirp.predictors.totals import graph_totals
from nnirp.training.compression import Compressed, compress


@dataclass(frozen=True)
class AdditiveRooflineSettings:
    """`members` networks of `width` with `depth` rounds of message passing; `roofline=False` predicts times directly.

    `huber` is the error in natural logarithm above which the loss is linear.
    """

    members: int = 3
    width: int = 64
    depth: int = 2
    embedding: int = 16
    roofline: bool = True
    huber: float = 0.05
    max_epochs: int = 60
    patience: int = 20
    learning_rate: float = 3e-3
    weight_decay: float = 1e-3
    steps_per_epoch: int = 16
    max_nodes: int = 20_000


@dataclass
class Prepared:
    """Groups of equal surroundings; K groups of nodes equal in features too, with the surroundings, FLOPs and bytes of each; the
    analytic memory of the graphs.
    """

    surroundings: Compressed
    nodes: Compressed
    place: Tensor
    work: Tensor
    memory: Tensor


class RooflineNetwork(nn.Module):
    """Members that share the training batches; additive targets first come from the operators, memory from its analytic base."""

    def __init__(self, targets: Sequence[str], settings: AdditiveRooflineSettings) -> None:
        super().__init__()
        self.settings = settings
        self.memory_columns = [t for t, name in enumerate(targets) if is_memory(name)]
        self.additive_columns = [t for t, name in enumerate(targets) if not is_memory(name)]
        self.features = OperatorFeatures()
        self.register_buffer("prices", torch.ones(max(len(self.additive_columns), 1), 3))
        self.members = nn.ModuleList(
            RooflineMember(
                OPERATOR_FEATURES,
                OPERATOR_TRAITS,
                len(self.additive_columns),
                settings.width,
                settings.depth,
                settings.embedding,
                settings.roofline,
            )
            for _ in range(settings.members)
        )
        self.memory_heads = nn.ModuleList(MemoryHead() for _ in self.memory_columns)

    def prepare(self, batch: GraphBatch) -> Prepared:
        surroundings = compress(operator_traits(batch), batch, self.settings.depth)
        place = surroundings.node
        nodes = compress(operator_features(batch), batch, 0, within=place)
        raw = torch.exp2(nodes.x[:, :4].double()) - 1
        work = torch.stack([torch.ones_like(raw[:, 0]), raw[:, 0], raw[:, 1:].sum(1)], dim=1).float()
        nodes.x = self.features(nodes.x)
        return Prepared(surroundings, nodes, place[nodes.representative], work, batch.memory)

    def operator_times(self, prepared: Prepared, member: RooflineMember) -> Tensor:
        """[K, A]: the part of each representative in each additive target, in the target's unit."""
        factors = member(prepared.nodes, prepared.surroundings, prepared.place)
        return (factors * prepared.work[:, None, :] * self.prices).sum(2)

    def outputs(self, prepared: Prepared) -> Tensor:
        """[members, G, T] in log2."""
        memory = {t: head(prepared.memory) for t, head in zip(self.memory_columns, self.memory_heads, strict=True)}
        result = []
        for member in self.members:
            columns = dict(memory)
            if self.additive_columns:
                total = torch.log2(prepared.nodes.pool(self.operator_times(prepared, member)).clamp(min=1e-12))
                columns |= {t: total[:, a] for a, t in enumerate(self.additive_columns)}
            result.append(torch.stack([columns[t] for t in sorted(columns)], dim=1))
        return torch.stack(result)

    def predict(self, prepared: Prepared) -> tuple[Tensor, Tensor | None]:
        outputs = self.outputs(prepared)
        return outputs.mean(0), outputs.std(0, correction=0) if len(outputs) > 1 else None

    def loss(self, prepared: Prepared, y: Tensor) -> Tensor:
        delta = self.settings.huber / np.log(2)
        target = torch.nan_to_num(y)
        errors = [
            masked_mean(nn.functional.huber_loss(output, target, reduction="none", delta=delta), y) / delta
            for output in self.outputs(prepared)
        ]
        return torch.stack(errors).sum()


@register
class AdditiveRoofline(NetworkPredictor):
    """The project's own predictor; see the module's docstring.

    Runtime and every other additive target (energy) get overhead, rate and bandwidth of their own for each operator; a memory
    target is its analytic figure times a learned residual. The spread of the members widens the interval.
    """

    name = "additive_roofline"
    Settings = AdditiveRooflineSettings

    def _build(self, targets: tuple[str, ...]) -> nn.Module:
        return RooflineNetwork(targets, self.settings)

    def _measure(self, network: RooflineNetwork, train: GraphSet) -> None:
        network.features.measure(train)
        totals = graph_totals(train)[:, [2, 0, 1]]  # operators, FLOPs, bytes
        for a, t in enumerate(network.additive_columns):
            known = np.isfinite(train.y[:, t])
            if known.any():
                # each of the three terms starts as a third of the time of a typical graph
                log_price = np.median(train.y[known, t, None] - np.log2(np.maximum(totals[known], 1.0)), axis=0)
                network.prices[a] = torch.from_numpy(np.exp2(log_price) / 3)
        for head, t in zip(network.memory_heads, network.memory_columns, strict=True):
            head.measure(train.memory, train.y[:, t])

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
        result = []
        for batch in graphs.batches(self.training().max_nodes):
            prepared = self.network.prepare(batch)
            mean = torch.exp2(self.network.predict(prepared)[0][:, target].double())
            shares = torch.zeros(len(batch.graph), dtype=torch.float64)
            for member in self.network.members:
                times = self.network.operator_times(prepared, member)[:, column].double()[prepared.nodes.node]
                total = torch.zeros(batch.num_graphs, dtype=torch.float64).index_add_(0, batch.graph, times)
                shares += times / total[batch.graph] / len(self.network.members)
            costs = (shares * mean[batch.graph]).numpy()
            result.extend(np.split(costs, np.cumsum(np.bincount(batch.graph, minlength=batch.num_graphs))[:-1]))
        return result
