import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))  # small_models
from small_models import write_model

from nnirp.prediction.encoding import encode_file
from nnirp.prediction.graph_set import graph_set
from nnirp.prediction.kept import find_kept
from nnirp.predictors import create

DATASET = {"targets": ["runtime_ms", "peak_ram_mb"], "form": "canonical", "fingerprint": {"runtime": "eager"}}


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A linear predictor of models whose time is one millisecond a megaFLOP and whose memory is a tenth of that in MB."""
    top = tmp_path_factory.mktemp("root")
    root = top / "models" / "cluster" / "linear" / "0-0"
    root.mkdir(parents=True)
    encoded = [encode_file(write_model(top / f"{width}.onnx", width)) for width in (32, 64, 96, 128, 192, 256)]
    time = np.array([e.total_flops / 1e6 for e in encoded])
    y = np.log2(np.stack([time, time / 10], axis=1))
    graphs = graph_set(encoded, tuple(DATASET["targets"])).relabel(y)
    predictor = create("linear")
    predictor.fit(graphs, graphs, seed=0)
    folder = root / "weights"
    predictor.save(folder)
    tags = {"predictor": "linear", "protocol": "cluster", "dataset_revision": "abc", "device": "a processor"}
    (root / "run.json").write_text(
        json.dumps({"tags": tags, "ended": "2026-01-01", "parameters": {"train_samples": 6}})
    )
    campaign = top / "manifests" / "campaign"
    campaign.mkdir(parents=True)
    (top / "manifests" / "dataset.json").write_text(json.dumps(DATASET))
    (campaign / "run.json").write_text(json.dumps({"parameters": {"profile.runtime": "eager"}}))
    (campaign / "summary.json").write_text(json.dumps({"floor": {"matmul_ms": 1.0, "copy_ms": 2.0}}))
    return top


@pytest.fixture(scope="session")
def kept(root):
    return find_kept(root / "models", root / "manifests", "linear")
