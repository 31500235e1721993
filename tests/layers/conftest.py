import json

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from nnirp.layers.archives import write_archive
from nnirp.layers.records import Meta, ProfileRecord, statistics, write_record
from nnirp.layers.samples import dump_sample

CONFIGURATIONS = {1: ("convolutional", "resnet"), 2: ("convolutional", "vgg"), 7: ("recurrent", "lstm")}


def graph(nodes: int = 4, edges: int = 5, targets: int = 2, seed: int = 0) -> Data:
    g = torch.Generator().manual_seed(seed)
    return Data(
        x=torch.rand(nodes, 14, generator=g),
        op_type_id=torch.randint(0, 89, (nodes,), generator=g),
        edge_index=torch.randint(0, nodes, (2, edges), generator=g),
        edge_attr=torch.rand(edges, 18, generator=g),
        u=torch.rand(1, 5, generator=g),
        y=torch.randn(1, targets, generator=g),
    )


def record(status="ok", fingerprint=None, **metrics) -> bytes:
    values = {"Runtime (ms)": [1.0, 2.0, 3.0], "Peak RAM (MB)": [64.0], "Peak VRAM (MB)": None} | metrics
    stats = {name: None if v is None else statistics(v) for name, v in values.items()}
    return write_record(
        ProfileRecord(metrics=stats, meta=Meta(status=status, fingerprint=fingerprint or {"cpu": "a"}, batch=1))
    )


@pytest.fixture(scope="session")
def make_graph():
    return graph


@pytest.fixture(scope="session")
def make_record():
    return record


@pytest.fixture
def root(tmp_path):
    """A dataset root of six samples in three configurations, as a download of the published layers looks."""
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    clusters = {f"{s}-{i}": {"sub_family": s, "cases": [i]} for i, (_, s) in CONFIGURATIONS.items()}
    families = {s: f for f, s in CONFIGURATIONS.values()}
    (manifests / "clusters.json").write_text(json.dumps({"clusters": clusters, "subfamily_to_family": families}))
    (manifests / "splits.json").write_text(json.dumps({"train": [1], "val": [2], "test": [7]}))
    for i in CONFIGURATIONS:
        names = [f"net{i}_im32_b{b}_fp32" for b in (1, 4)]
        graphs = {f"{n}.pt.zst": dump_sample(graph(3 + i, 4 + i, seed=10 * i + k)) for k, n in enumerate(names)}
        write_archive(tmp_path / "pyg-features" / f"{i}.tar.gz", graphs.items())
        write_archive(tmp_path / "profiling" / f"{i}.tar.gz", [(f"{n}.json", record()) for n in names])
    return tmp_path


@pytest.fixture
def memory_bytes():
    return np.array([[10, 20, 30, 40]] * 3, dtype=np.float64)
