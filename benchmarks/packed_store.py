"""Opening and batching the packed store beside a PyTorch Geometric loader over one `.pt.zst` file a graph.

Both serve the same graphs in the same shuffled batches from a warm page cache, in this process. The graphs are those of a folder of
ONNX archives, repeated up to `--graphs`.

    python benchmarks/packed_store.py data/onnx-graphs --graphs 5000
"""

import argparse
import io
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import torch
import zstandard
from torch_geometric.data import Data, Dataset
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage
from torch_geometric.loader import DataLoader

from machine import describe, markdown
from nnirp.features import encode, to_data
from nnirp.graphs.reading import read_onnx
from nnirp.layers.archives import iter_archive
from nnirp.layers.samples import dump_sample
from nnirp.layers.store import COLUMNS, GraphStore

OPEN_TARGET_S, RATIO_TARGET = 0.2, 5.0


class Files(Dataset):
    """One `.pt.zst` file a graph, read when it is asked for."""

    def __init__(self, paths: list[Path]):
        super().__init__()
        self.paths = paths

    def len(self) -> int:
        return len(self.paths)

    def get(self, index: int) -> Data:
        content = zstandard.ZstdDecompressor().decompress(self.paths[index].read_bytes())
        return torch.load(io.BytesIO(content), weights_only=True)


def graphs_of(folder: Path) -> Iterator[Data]:
    for archive in sorted(folder.glob("*.tar.gz")):
        for _, content in iter_archive(archive):
            yield to_data(encode(read_onnx(content), batch=1), [0.0, 0.0])


def seconds(run: Callable[[], object], repeats: int) -> float:
    """Median wall-clock time of a call."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archives", type=Path)
    parser.add_argument("--graphs", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    distinct = list(graphs_of(arguments.archives))
    count = arguments.graphs
    graphs = [distinct[i % len(distinct)] for i in range(count)]
    samples = pd.DataFrame({name: [""] * count if name != "configuration" else [0] * count for name in COLUMNS})
    order = np.random.default_rng(0).permutation(count)
    batches = np.array_split(order, range(arguments.batch, count, arguments.batch))
    with tempfile.TemporaryDirectory() as scratch:
        store_folder, paths = Path(scratch) / "store", [Path(scratch) / f"{i}.pt.zst" for i in range(count)]
        GraphStore.from_graphs(graphs, samples, ("runtime_ms", "peak_ram_mb")).save(store_folder)
        contents = [dump_sample(graph, 9) for graph in distinct]
        for i, path in enumerate(paths):
            path.write_bytes(contents[i % len(contents)])
        opened = seconds(lambda: GraphStore.open(store_folder), 5)
        store = GraphStore.open(store_folder)
        packed = seconds(lambda: [store.batch(b) for b in batches], arguments.repeats)
        loader = DataLoader(Files(paths), batch_sampler=[b.tolist() for b in batches])
        with torch.serialization.safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]):
            files = seconds(lambda: [batch for batch in loader], arguments.repeats)  # noqa: C416  (the loader does the work)
        in_memory = seconds(
            lambda: [b for b in DataLoader(graphs, batch_sampler=[b.tolist() for b in batches])],  # noqa: C416
            arguments.repeats,
        )
    nodes = sum(g.num_nodes for g in graphs)
    rows = [
        ("packed store", f"{packed:.2f}", f"{count / packed:,.0f}", "1.0"),
        ("PyG DataLoader over .pt.zst files", f"{files:.2f}", f"{count / files:,.0f}", f"{files / packed:.1f}"),
        ("PyG DataLoader over graphs in memory", f"{in_memory:.2f}", f"{count / in_memory:,.0f}", f"{in_memory / packed:.1f}"),
    ]  # fmt: skip
    print(describe(("torch", "torch-geometric", "numpy", "zstandard")))
    print(f"{count} graphs ({len(distinct)} distinct), {nodes} nodes, batches of {arguments.batch}")
    print(markdown(("served by", "s an epoch", "graphs/s", "time beside the store"), rows))
    print(f"open: {opened:.3f} s (target {OPEN_TARGET_S}), ratio {files / packed:.1f} (target {RATIO_TARGET})")


if __name__ == "__main__":
    main()
