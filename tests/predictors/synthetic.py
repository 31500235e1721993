"""A small store of random chains whose time is a known sum over operators."""

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from nnirp.layers.store import COLUMNS, GraphStore

TARGETS = ("runtime_ms", "peak_ram_mb")
OPERATORS = (1, 15, 28)  # Conv, Relu, Add


def chain(generator: np.random.Generator, nodes: int, operators=OPERATORS) -> tuple[Data, float, np.ndarray]:
    """A chain with skips, its time in ms and its memory arithmetic in bytes."""
    op = generator.choice(operators, nodes)
    elements = 2.0 ** generator.integers(8, 14, nodes)
    conv = op == 1
    flops = np.where(conv, elements * 512, elements)
    weights = np.where(conv, 4096.0, 0.0)
    raw = np.zeros((nodes, 14))
    raw[:, 0], raw[:, 1], raw[:, 2], raw[:, 3] = flops, 4 * elements, 4 * elements, weights
    raw[:, 4], raw[:, 5], raw[:, 6], raw[:, 11], raw[:, 12], raw[:, 13] = 2, 1, elements, 1 + (op == 28), 1, conv
    source = np.r_[np.arange(nodes - 1), np.arange(max(nodes - 2, 0))[::3]]
    target = np.r_[np.arange(1, nodes), np.arange(max(nodes - 2, 0))[::3] + 2]
    edge = np.zeros((len(source), 18))
    edge[nodes - 1 :, 1] = 1
    edge[:, 2:4], edge[:, 8], edge[:, 9], edge[:, 10] = (
        np.log2(1 + raw[source, 5:7]),
        np.log2(3),
        np.log2(1 + raw[source, 2]),
        1,
    )
    moved = raw[:, 1:4].sum()
    milliseconds = 0.01 * nodes + flops.sum() / 1e8 + moved / 1e8
    memory = np.array([weights.sum() + 1e6, 8 * elements.max(), 4 * elements[0], 4 * elements.max()])
    u = np.log2([[nodes, max(len(source), 1), flops.sum(), moved, 1]])
    data = Data(
        x=torch.tensor(np.log2(1 + raw), dtype=torch.float32),
        op_type_id=torch.tensor(op),
        edge_index=torch.tensor(np.stack([source, target])),
        edge_attr=torch.tensor(edge, dtype=torch.float32),
        u=torch.tensor(u, dtype=torch.float32),
    )
    return data, milliseconds, memory


def make_store(graphs: int = 48, seed: int = 0, operators=OPERATORS) -> GraphStore:
    generator = np.random.default_rng(seed)
    made = [chain(generator, int(generator.integers(3, 20)), operators) for _ in range(graphs)]
    for data, milliseconds, memory in made:
        ram = 100 + (memory[0] + memory[1]) / 2**20
        data.y = torch.tensor(np.log2([[milliseconds, ram]]), dtype=torch.float32)
    samples = pd.DataFrame({name: [f"g{i}" if name == "sample" else 0 for i in range(graphs)] for name in COLUMNS})
    return GraphStore.from_graphs([m[0] for m in made], samples, TARGETS, np.stack([m[2] for m in made]))
