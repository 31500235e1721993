"""DIPPM: the multi-target predictor of Panner Selvam and Brorsson (Euro-Par 2023), as its paper describes the network."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import GraphBatch, GraphSet
from nnirp.predictors.network import NetworkPredictor, masked_mean
from nnirp.predictors.registry import register
from nnirp.predictors.totals import WEIGHTS
from nnirp.training.compression import Compressed, compress

_CONVOLUTIONS = ("Conv", "ConvTranspose", "QLinearConv")
_DENSE = ("MatMul", "Gemm", "QLinearMatMul", "MatMulInteger")
_STATIC = 5


@dataclass(frozen=True)
class DippmSettings:
    """The paper's sizes; epochs and learning rate are this project's."""

    width: int = 512
    blocks: int = 3
    dropout: float = 0.05
    max_epochs: int = 40
    patience: int = 12
    learning_rate: float = 5e-4
    weight_decay: float = 0.0
    steps_per_epoch: int = 16
    max_nodes: int = 20_000


@dataclass
class Prepared:
    """The chain of kept operators, compressed, and the static features [G, 5]."""

    chain: Compressed
    static: Tensor


class DippmNetwork(nn.Module):
    """Three blocks of two GraphSAGE layers, sum over nodes, static features, three dense layers, softplus."""

    def __init__(self, targets: int, settings: DippmSettings) -> None:
        super().__init__()
        width, operators = settings.width, load_vocabulary()
        self.layers = 2 * settings.blocks
        self.blocks = nn.ModuleList()
        size = 14 + len(operators)
        for _ in range(settings.blocks):
            self.blocks.append(nn.ModuleList([SAGEConv(size, width), SAGEConv(width, width)]))
            size = width
        self.dropout = nn.Dropout(settings.dropout)
        self.dense = nn.ModuleList(
            [nn.Linear(width + _STATIC, width), nn.Linear(width, width), nn.Linear(width, width)]
        )
        self.leave = nn.Linear(width, targets)
        for name, value in (("x_mean", torch.zeros(14)), ("x_scale", torch.ones(14)), ("y_scale", torch.ones(targets))):
            self.register_buffer(name, value)
        self.register_buffer("pool_scale", torch.ones(()))
        self.register_buffer("static_scale", torch.ones(_STATIC))
        for name, members in (("convolutions", _CONVOLUTIONS), ("dense_layers", _DENSE), ("relus", ("Relu",))):
            marks = torch.tensor([float(operator in members) for operator in operators.operators])
            self.register_buffer(name, marks, persistent=False)

    def static(self, batch: GraphBatch) -> Tensor:
        """[G, 5]: batch size, GMACs, number of convolutions, of dense layers, of ReLUs."""
        marks = torch.stack([self.convolutions, self.dense_layers, self.relus], dim=1)[batch.op]
        counts = marks.new_zeros(batch.num_graphs, 3).index_add_(0, batch.graph, marks)
        return torch.cat([torch.exp2(batch.u[:, 4:5]), torch.exp2(batch.u[:, 2:3]) / 2e9, counts], dim=1)

    def prepare(self, batch: GraphBatch) -> Prepared:
        chain = weighted_chain(batch)
        x = (chain.x - self.x_mean) / self.x_scale
        return Prepared(compress(x, chain, self.layers), self.static(batch) / self.static_scale)

    def forward(self, prepared: Prepared) -> Tensor:
        """[G, T], positive, in units of `y_scale`."""
        chain = prepared.chain
        kinds = nn.functional.one_hot(chain.op, len(self.relus)).to(chain.x.dtype)
        state = torch.cat([chain.x, kinds], dim=1)
        for block in self.blocks:
            for layer in block:
                state = torch.relu(layer(state, chain.producers))
            state = self.dropout(state)
        state = torch.cat([chain.pool(state) / self.pool_scale, prepared.static], dim=1)
        for layer in self.dense:
            state = self.dropout(torch.relu(layer(state)))
        return nn.functional.softplus(self.leave(state))

    def predict(self, prepared: Prepared) -> tuple[Tensor, None]:
        return torch.log2((self(prepared) * self.y_scale).clamp(min=1e-9)), None

    def loss(self, prepared: Prepared, y: Tensor) -> Tensor:
        target = torch.exp2(torch.nan_to_num(y)) / self.y_scale
        return masked_mean(nn.functional.huber_loss(self(prepared), target, reduction="none"), y)


@register
class Dippm(NetworkPredictor):
    """Several targets from one graph, as published; the row that the project must beat.

    As the paper: only nodes with weights are kept, and edges chain consecutive kept nodes; six GraphSAGE convolutions 512 wide in
    three blocks; ReLU; dropout 0.05; sum over nodes; five static features (batch, GMACs, convolutions, dense layers, ReLUs);
    three fully connected layers of 512; softplus; Huber loss (δ = 1) on raw targets; Adam.

    Departures: node features are the layer's 14 and a one-hot operator of 88 in place of 16; each target is divided by its
    training median, the pooled sum by the mean number of kept nodes, node and static features by their deviation or mean,
    so that the loss trains in 40 epochs on a processor (the paper has 500 on a GPU); the learning rate is 5e-4 with a cosine;
    weights of the epoch that is best on validation; missing targets masked; a graph without a kept node, which the public
    code cannot take, pools to zero.
    """

    name = "dippm"
    Settings = DippmSettings

    def _build(self, targets: tuple[str, ...]) -> nn.Module:
        return DippmNetwork(len(targets), self.settings)

    def _measure(self, network: DippmNetwork, train: GraphSet) -> None:
        rows, kept, static = [], 0, []
        for batch in train.batches(100_000):
            chain = weighted_chain(batch)
            rows.append(chain.x)
            kept += len(chain.x)
            static.append(network.static(batch))
        x = torch.cat(rows)
        if len(x) > 1:
            deviation = x.std(0, correction=0)
            network.x_mean.copy_(x.mean(0))
            network.x_scale.copy_(torch.where(deviation > 1e-3, deviation, 1.0))
        network.static_scale.copy_(torch.cat(static).mean(0).clamp(min=1e-3))
        network.pool_scale.fill_(max(kept / len(train), 1.0))
        y = torch.from_numpy(train.y)
        network.y_scale.copy_(torch.nan_to_num(torch.exp2(torch.nanmedian(y, dim=0).values), nan=1.0))


def weighted_chain(batch: GraphBatch) -> GraphBatch:
    """The nodes with weights, each with one edge to the next of its graph."""
    kept = torch.nonzero(batch.x[:, WEIGHTS] > 0).squeeze(1)
    graph = batch.graph[kept]
    first = torch.nonzero(graph[1:] == graph[:-1]).squeeze(1)
    return GraphBatch(
        x=batch.x[kept],
        op=batch.op[kept],
        edge_index=torch.stack([first, first + 1]),
        edge_attr=batch.edge_attr[:0],
        graph=graph,
        u=batch.u,
        y=batch.y,
        memory=batch.memory,
        num_graphs=batch.num_graphs,
        index=batch.index,
    )
