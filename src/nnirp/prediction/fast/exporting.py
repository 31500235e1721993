"""A kept additive roofline → `champion.onnx` and `champion.json` beside its weights, checked against it before they are written."""

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from nnirp.errors import InputError, NnirpError
from nnirp.features.encoder import EncodedGraph, encode
from nnirp.features.vocabulary import load_vocabulary
from nnirp.graphs.reading import read_onnx
from nnirp.layers.archives import iter_archive
from nnirp.prediction.fast.reading import sequences
from nnirp.prediction.fast.running import CONFIG, NETWORK, Champion, digest
from nnirp.prediction.graph_set import graph_set
from nnirp.predictors import load
from nnirp.predictors.fusion import CONVOLUTIONS, ELEMENTWISE, MOVEMENT, OPERATOR_KINDS, POOLS, PRODUCTS, VIEWS
from nnirp.predictors.operator_features import OPERATOR_FEATURES, WORK
from nnirp.predictors.roofline_member import Operators
from nnirp.training.compression import Block, Compressed

FORMAT = 1
TOLERANCE = 1e-3
"""Largest difference in log2 between the exported champion and the predictor: 0.07 %."""
OPSET = 20


class OneGraph(Compressed):
    """A single graph whose nodes are all classes of their own."""

    def pool(self, values: Tensor) -> Tensor:
        return values.sum(0, keepdim=True)


class SymbolicRound(nn.Module):
    """A round of messages as the network's own, but written so that the number of nodes stays open in the exported graph."""

    def __init__(self, layer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, state: Tensor, block: Block) -> Tensor:
        message = _mean_heard(self.layer.from_producers, state, block.producers)
        return state + torch.relu(message + _mean_heard(self.layer.from_consumers, state, block.consumers))


def _mean_heard(convolution, state: Tensor, edges: Tensor) -> Tensor:
    """GraphSAGE with the mean of the neighbours."""
    heard, hearing = edges
    at = hearing[:, None].expand(-1, state.shape[1])
    total = torch.zeros_like(state).scatter_add(0, at, state[heard])
    count = torch.zeros_like(state).scatter_add(0, at, torch.ones_like(state[heard]))
    result = convolution.lin_l(total / count.clamp(min=1))
    return result + convolution.lin_r(state) if convolution.root_weight else result


def _operators(network, batch: Compressed) -> Operators:
    """What `RooflineNetwork.operators` gives, with an open number of nodes."""
    features, log_work, kind = torch.tensor_split(batch.leaf, [OPERATOR_FEATURES, OPERATOR_FEATURES + len(WORK)], dim=1)
    work = torch.ones_like(features[:, :1])
    if network.settings.roofline:
        work = torch.cat([work, (torch.exp2(log_work.double()) - 1).to(work.dtype)], dim=1)
    return Operators(network.features(features), kind[:, 0].long(), work, None)


class Single(nn.Module):
    """A network and its calibration as a function of one graph's arrays to mean, low, high [T] in log2 and milliseconds [N]."""

    def __init__(self, predictor) -> None:
        super().__init__()
        self.network = predictor.network.eval()
        self.network.operators = partial(_operators, self.network)
        for member in self.network.members:
            member.rounds = nn.ModuleList(SymbolicRound(layer) for layer in member.rounds)
        self.runtime = predictor.targets.index("runtime_ms")
        self.column = self.network.additive_columns.index(self.runtime)
        factors = [c.factor if c.factor is not None else float("inf") for c in predictor.calibrations]
        self.register_buffer("factor", torch.tensor(factors))
        self.register_buffer("floor", torch.tensor([float(c.floor) for c in predictor.calibrations]))

    def forward(self, rows: Tensor, op: Tensor, source: Tensor, target: Tensor, leaf: Tensor, memory: Tensor):
        """All of one graph; see `nnirp.prediction.fast.reading.read`."""
        itself = torch.arange(rows.shape[0])
        block = Block(itself, torch.stack([source, target]), torch.stack([target, source]))
        nothing = torch.zeros(1, dtype=torch.int64)
        graph = OneGraph(
            rows=rows,
            op=op,
            blocks=[block] * self.network.depth,
            leaf=leaf,
            place=itself,
            graph=torch.zeros_like(op),
            member=itself,
            count=torch.ones_like(rows[:, 0]),
            u=torch.zeros(1, 5),
            y=torch.zeros(1, 1),
            memory=memory,
            index=nothing,
            final=itself,
        )
        outputs = self.network.outputs(graph)  # [members, 1, T]
        mean = outputs.mean(0)[0]
        spread = outputs.std(0, correction=0)[0]
        # without a floor the half width is the factor alone, see `nnirp.predictors.conformal.Calibration`
        width = self.factor * torch.where(self.floor > 0, spread + self.floor, torch.ones_like(spread))
        operators = self.network.operators(graph)
        times = [self.network.operator_times(graph, operators, m)[:, self.column] for m in self.network.members]
        shares = torch.stack([t / t.sum() for t in times]).mean(0)
        return mean, mean - width, mean + width, shares * torch.exp2(mean[self.runtime])


def export_champion(weights: Path, checked: Sequence[EncodedGraph], output: Path | None = None) -> float:
    """Write the champion of a kept predictor.

    Args:
        weights: a folder that an additive roofline's `save` wrote.
        checked: graphs that the export must answer as the predictor does.
        output: a folder that exists; `weights` by default.

    Returns:
        The largest difference in log2 between both, over all targets, bounds and graphs.

    Raises:
        InputError: it is another predictor, of another context than messages, or no graph is given to check.
        NnirpError: the answers differ; nothing is written.
    """
    predictor = load(weights)
    if predictor.name != "additive_roofline" or predictor.settings.context == "neighbours":
        raise InputError(f"{weights} holds {predictor.name}; only an additive roofline of messages has a fast path")
    if "runtime_ms" not in predictor.targets or not checked:
        raise InputError(f"{weights}: the fast path needs a predictor of runtime_ms and at least one graph to check it")
    network = _onnx(Single(load(weights)))  # which is changed for the export
    operators = {
        "product": PRODUCTS,
        "pool": POOLS,
        "elementwise": ELEMENTWISE,
        "movement": MOVEMENT,
        "view": VIEWS,
        "convolution": CONVOLUTIONS,
    }
    vocabulary = load_vocabulary()
    config = {
        "format": FORMAT,
        "weights": digest(weights),
        "vocabulary": vocabulary.digest,
        "targets": list(predictor.targets),
        "supported": [bool(s) for s in predictor._supported],
        "operators": sequences({k: [vocabulary.index[n] for n in names] for k, names in operators.items()}),
        "number": {name: number for number, name in enumerate(OPERATOR_KINDS)},
    }
    champion = Champion(network, config)
    worst = max(_difference(champion, predictor, graph) for graph in checked)
    if not worst <= TOLERANCE:
        raise NnirpError(f"the exported champion differs from {weights} by {worst:.2e} in log2; it was not written")
    output = output or weights
    (output / NETWORK).write_bytes(network)
    (output / CONFIG).write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return worst


def _difference(champion: Champion, predictor, encoded: EncodedGraph) -> float:
    graphs = graph_set([encoded], predictor.targets)
    prediction = predictor.predict(graphs)
    times = np.log2(np.asarray(predictor.attribute(graphs, predictor.targets.index("runtime_ms"))[0]))
    fast = champion.figures(encoded)
    pairs = [(fast.mean, prediction.mean[0]), (fast.low, prediction.low[0]), (fast.high, prediction.high[0])]
    known = [np.abs(a - b)[np.isfinite(b)] for a, b in pairs]
    return float(max(part.max(initial=0.0) for part in [*known, np.abs(np.log2(fast.milliseconds) - times)]))


def _onnx(module: nn.Module) -> bytes:
    nodes, edges = torch.export.Dim("nodes", min=2), torch.export.Dim("edges", min=2)
    inputs = {
        "rows": torch.ones(7, 4),
        "op": torch.arange(7),
        "source": torch.arange(5),
        "target": torch.arange(5) + 1,
        "leaf": torch.ones(7, 49),
        "memory": torch.full((1, 4), 20.0),
    }
    axes = {"rows": nodes, "op": nodes, "leaf": nodes, "source": edges, "target": edges}
    shapes = {name: {0: axes[name]} if name in axes else None for name in inputs}
    quiet = logging.getLogger("torch.onnx")
    before = quiet.level
    quiet.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                module.eval(), (), kwargs=inputs, dynamo=True, dynamic_shapes=shapes, opset_version=OPSET,
                output_names=["log2_mean", "log2_low", "log2_high", "operator_ms"], verbose=False,
            )  # fmt: skip
    finally:
        quiet.setLevel(before)
    return program.model_proto.SerializeToString()


def some_graphs(layer: Path, form: str, count: int = 12) -> list[EncodedGraph]:
    """Graphs to check an export on: the first sample of configurations evenly spread over a layer.

    Args:
        layer: `onnx-graphs`, a folder of archives.
        form: that the predictor was trained on.
        count: at most so many.
    """
    archives = sorted(layer.glob("*.tar.gz"), key=lambda path: path.name)
    chosen = archives[:: max(len(archives) // count, 1)][:count]
    return [encode(read_onnx(next(iter(iter_archive(path)))[1]), form=form) for path in chosen]
