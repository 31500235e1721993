"""An epoch of GraphSAGE (3 layers of 128) on the packed store with exact compression, beside the usual PyTorch Geometric loop.

Both train the same network from the same weights on the same graphs in the same shuffled batches of 64, without dropout, in this process
on one thread; the usual loop is a `DataLoader` over `Data` objects in memory with both directions of every edge, and PyG's own layers
on all nodes. The curves of the loss, step by step, must agree to 1e-4. The time of an epoch includes making its batches; what is done
once before the first (compression, `Data` objects) is printed beside it.

    python benchmarks/epoch_speed.py <dataset root> [--families resnets vggs] [--graphs 2000]
    python benchmarks/epoch_speed.py <dataset root> --parametric-transformers --aim 8

The second form reads the ONNX archives of the parametric configurations of the attention families, measured or not; its target is the
analytic peak of memory, which every graph has.
"""

import argparse
import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import global_add_pool

from machine import describe, markdown
from nnirp.features import encode, to_data
from nnirp.graphs.reading import read_onnx
from nnirp.layers.archives import iter_archive
from nnirp.layers.store import COLUMNS, GraphSet, GraphStore, pack
from nnirp.predictors.message_passing import MessagePassingSettings
from nnirp.predictors.network import huber_log2
from nnirp.predictors.sage import SageNetwork
from nnirp.training.compression import CompressedSet, compress

TOLERANCE = 1e-4
RATE = 1e-4  # of Adam: over one epoch both loops must stay where rounding is not amplified


class PlainSage(nn.Module):
    """`SageNetwork` on all nodes of a PyG batch, by the same layers."""

    def __init__(self, network: SageNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Batch) -> Tensor:
        """[G, T] in log2."""
        net = self.network
        kinds = nn.functional.one_hot(batch.op_type_id, net.enter.operators).to(batch.x.dtype)
        state = torch.cat([net.enter.standard(batch.x), kinds], dim=1)
        edges = torch.cat([batch.edge_index, batch.edge_index.flip(0)], dim=1)
        for layer in net.layers:
            state = torch.relu(layer(state, edges))
        pooled = global_add_pool(state, batch.batch, size=batch.num_graphs) / net.pool_scale
        return net.labels.reverse(net.dense(torch.cat([pooled, net.globals(batch.u)], dim=1)))


def parametric_transformers(root: Path) -> Iterator[tuple[Data, str]]:
    """Graphs of the archives, with the name of their family."""
    for configuration in json.loads((root / "manifests/catalog.json").read_text(encoding="utf-8"))["configurations"]:
        archive = root / "onnx-graphs" / f"{configuration['id']}.tar.gz"
        if configuration["parametric"] and configuration["family"].startswith("attention") and archive.is_file():
            batch = {sample["name"]: sample["batch"] for sample in configuration["samples"]}
            for name, content in iter_archive(archive):
                encoded = encode(read_onnx(content), batch=batch[Path(name).stem])
                yield to_data(encoded, [np.log2(1 + encoded.memory[1])]), configuration["family"]


def read(arguments: argparse.Namespace) -> GraphSet:
    """The graphs that the options name."""
    if arguments.parametric_transformers:
        graphs, families = zip(*parametric_transformers(arguments.root), strict=True)
        samples = pd.DataFrame({column: [0] * len(graphs) for column in COLUMNS}).assign(family=families)
        found = GraphStore.from_graphs(graphs, samples, ("peak_mb",)).all()
    else:
        found = pack(arguments.root).all()
        found = found.select(np.isfinite(found.y).all(axis=1))
    if arguments.families:
        found = found.select(found.samples["family"].isin(arguments.families).to_numpy())
    order = np.random.default_rng(0).permutation(len(found))[: arguments.graphs]
    return found.subset(np.sort(order))


def epochs(step, batches, parameters, count: int) -> tuple[list[float], list[float]]:
    """Seconds of each epoch and the loss of each step, with Adam."""
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    seconds, losses = [], []
    for epoch in range(count):
        started = time.perf_counter()
        for batch in batches(epoch):
            optimizer.zero_grad()
            loss = step(batch)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        seconds.append(time.perf_counter() - started)
    return seconds, losses


def schedule(graphs: int, size: int, epoch: int) -> list[np.ndarray]:
    """The graphs of each batch of an epoch."""
    order = np.random.default_rng(epoch).permutation(graphs)
    return np.array_split(order, range(size, graphs, size))


def compressed_loop(network: SageNetwork, graphs: CompressedSet, size: int, count: int):
    """Seconds and losses of the store's loop."""
    return epochs(
        network.loss,
        lambda epoch: map(graphs.batch, schedule(len(graphs), size, epoch)),
        network.parameters(),
        count,
    )


def plain_loop(network: SageNetwork, graphs: list[Data], size: int, count: int):
    """Seconds and losses of the usual loop."""
    model = PlainSage(network)
    return epochs(
        lambda batch: huber_log2(model(batch), batch.y),
        lambda epoch: DataLoader(graphs, batch_sampler=[b.tolist() for b in schedule(len(graphs), size, epoch)]),
        model.parameters(),
        count,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="a dataset root")
    parser.add_argument("--parametric-transformers", action="store_true")
    parser.add_argument("--families", nargs="+", help="only these")
    parser.add_argument("--graphs", type=int, help="at most, drawn at random")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3, help="the fastest counts")
    parser.add_argument("--aim", type=float, default=3.0, help="how many times faster")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    graphs = read(arguments)
    torch.manual_seed(0)
    network = SageNetwork(len(graphs.targets), MessagePassingSettings(width=128, layers=3, dropout=0.0))
    started = time.perf_counter()
    compressed = compress(graphs, network)
    once = time.perf_counter() - started
    network.measure(graphs, compressed)
    started = time.perf_counter()
    data = [Data(**{name: graph[name] for name in ("x", "op_type_id", "edge_index", "u", "y")}) for graph in graphs]
    listed = time.perf_counter() - started
    seconds, curves = {}, {}
    for name, loop, given, before in (
        ("packed store, compressed", compressed_loop, compressed, once),
        ("PyG DataLoader, all nodes", plain_loop, data, listed),
    ):
        times, curves[name] = loop(copy.deepcopy(network), given, arguments.batch, arguments.epochs)
        seconds[name] = (min(times), before)
    nodes = int(graphs.nodes.sum())
    apart = float(np.abs(np.subtract(*curves.values())).max())
    ratio = seconds["PyG DataLoader, all nodes"][0] / seconds["packed store, compressed"][0]
    rows = [
        (name, f"{epoch:.2f}", f"{nodes / epoch:,.0f}", f"{before:.1f}") for name, (epoch, before) in seconds.items()
    ]
    print(describe(["torch", "torch-geometric", "numpy"]))
    print(
        f"{len(graphs)} graphs, {nodes} nodes, {compressed.classes} classes ({nodes / compressed.classes:.1f} nodes a class)\n"
    )
    print(markdown(("loop", "s an epoch", "nodes/s", "s before the first"), rows))
    print(f"\n{ratio:.1f} times faster (aim {arguments.aim:g}); the losses of {len(next(iter(curves.values())))} steps differ by {apart:.1e} at most (aim {TOLERANCE:g})")  # fmt: skip
    return 0 if ratio >= arguments.aim and apart <= TOLERANCE else 1


if __name__ == "__main__":
    raise SystemExit(main())
