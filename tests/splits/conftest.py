from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nnirp.layers.store import GraphStore

FAMILIES = ("conv", "decoder", "encoder")


def chain(operators, *, batch=1, width=1.0):
    """One graph as arrays: operators in a row, with a skip over every second, features that depend on batch and width."""
    op = np.array(operators, dtype=np.int16)
    n = len(op)
    skips = np.arange(0, n - 2, 2)
    edges = np.concatenate([np.stack([np.arange(n - 1), np.arange(1, n)]), np.stack([skips, skips + 2])], axis=1)
    x = np.zeros((n, 14), dtype=np.float32)
    x[:, 0] = np.log2(1 + op * batch * width)
    x[:, 5] = np.log2(1 + batch)
    edge_attr = np.zeros((edges.shape[1], 18), dtype=np.float32)
    edge_attr[:, 2] = np.log2(1 + batch)
    work = float(np.sum(op * batch * width)) + 1
    u = np.array([np.log2(n), np.log2(edges.shape[1]), np.log2(work), np.log2(work), np.log2(batch)], dtype=np.float32)
    return x, op, edges.T.astype(np.int32), edge_attr, u


def store_of(rows):
    """rows: list of (names dict, graph arrays)."""
    x, op, edges, edge_attr, u = zip(*(graph for _, graph in rows), strict=True)
    frame = pd.DataFrame([names for names, _ in rows])
    y = np.stack([[v[2] / 2, v[3] / 3] for v in u]).astype(np.float32)
    pointer = [np.concatenate([[0], np.cumsum([len(v) for v in values])]).astype(np.int64) for values in (op, edges)]
    joined = [np.concatenate(values) for values in (x, op, edges, edge_attr)]
    memory = np.zeros((len(frame), 4), dtype=np.float32)
    return GraphStore(*joined, np.stack(u), y, memory, *pointer, frame, ("runtime_ms", "peak_ram_mb"))


def rows_of(*, configurations=6, batches=(1, 2, 4), families=FAMILIES, seed=0):
    """Random families of three sub-families each; a configuration is a cluster, except that every fourth joins its neighbour's."""
    generator = np.random.default_rng(seed)
    rows, number = [], 0
    for f, family in enumerate(families):
        for c in range(configurations):
            operators = generator.integers(1, 5, size=40 + c) + (f % 2)
            joined = number - 1 if c % 4 == 3 else number
            sub = f"{family}-{(c - (c % 4 == 3)) % 3}"
            for batch in batches:
                names = {
                    "sample": f"m{number}_b{batch}",
                    "configuration": number,
                    "configuration_name": f"m{number}",
                    "cluster": f"{sub}-{joined}",
                    "sub_family": sub,
                    "family": family,
                    "batch": batch,
                    "size": 224,
                    "precision": "fp32",
                    "mode": "forward",
                    "parametric": c % 2 == 0,
                }
                rows.append((names, chain(operators, batch=batch, width=1.0 + 0.37 * number)))
            number += 1
    return rows


def permuted(graph, seed):
    """The same graph with its nodes and edges in another order, as after renaming its tensors."""
    x, op, edges, edge_attr, u = graph
    generator = np.random.default_rng(seed)
    order, edge_order = generator.permutation(len(op)), generator.permutation(len(edges))
    return x[order], op[order], np.argsort(order)[edges][edge_order].astype(np.int32), edge_attr[edge_order], u


@pytest.fixture(scope="session")
def make():
    return SimpleNamespace(chain=chain, store_of=store_of, rows_of=rows_of, permuted=permuted)


@pytest.fixture(scope="session")
def rows():
    return rows_of()


@pytest.fixture(scope="session")
def store(rows):
    return store_of(rows)


@pytest.fixture(autouse=True)
def few_restarts(monkeypatch):
    monkeypatch.setattr("nnirp.splits.search.RESTARTS", 6)
