import json
import math

import numpy as np
import pandas as pd
import pytest
from small_models import write_model

from nnirp.errors import InputError, NotPulledError
from nnirp.features.data import to_data
from nnirp.layers.store import COLUMNS, GraphStore
from nnirp.prediction.encoding import encode_file
from nnirp.prediction.kept import find_weights
from nnirp.prediction.predict import predict_onnx
from nnirp.predictors import create
from nnirp.training.pool import describe_pool, write_pool

DATASET = {"targets": ["runtime_ms", "peak_ram_mb"], "form": "canonical", "fingerprint": {"runtime": "eager"}}


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A linear predictor of models whose time is one millisecond a megaFLOP and whose memory is a tenth of that in MB."""
    root = tmp_path_factory.mktemp("models") / "cluster" / "linear" / "0-0"
    encoded = [
        encode_file(write_model(root.parents[2] / f"{width}.onnx", width)) for width in (32, 64, 96, 128, 192, 256)
    ]
    time = np.array([e.total_flops / 1e6 for e in encoded])
    y = np.log2(np.stack([time, time / 10], axis=1))
    samples = pd.DataFrame([dict.fromkeys(COLUMNS) for _ in encoded]).assign(
        sample=[str(i) for i in range(len(encoded))]
    )
    memory = np.stack([e.memory for e in encoded])
    graphs = GraphStore.from_graphs(
        [to_data(e, row) for e, row in zip(encoded, y, strict=True)], samples, DATASET["targets"], memory
    ).all()
    predictor = create("linear")
    predictor.fit(graphs, graphs, seed=0)
    folder = root / "weights"
    predictor.save(folder)
    write_pool(describe_pool(graphs), folder)
    tags = {"predictor": "linear", "protocol": "cluster", "dataset_revision": "abc", "device": "a processor"}
    (root / "run.json").write_text(
        json.dumps({"tags": tags, "ended": "2026-01-01", "parameters": {"train_samples": 6}})
    )
    return folder


def test_the_answer_has_units_and_an_interval_around_the_value(weights, tmp_path):
    answer = predict_onnx(write_model(tmp_path / "m.onnx", 100), weights=weights, dataset=DATASET)
    runtime, memory = answer.estimates
    assert (runtime.unit, memory.unit) == ("ms", "MB")
    assert runtime.low <= runtime.value <= runtime.high
    assert math.isclose(runtime.value, 3 * 2 * 2 * 100 * 100 / 1e6, rel_tol=0.3)
    assert answer.rests_on["device"] == "a processor" and answer.batch == 2


def test_a_familiar_model_is_not_called_new_and_a_strange_one_is(weights, tmp_path):
    assert not predict_onnx(write_model(tmp_path / "a.onnx", 100), weights=weights, dataset=DATASET).novelty
    strange = predict_onnx(
        write_model(tmp_path / "b.onnx", 4096, operator="Tanh"), weights=weights, dataset=DATASET
    ).novelty
    assert strange.operators == ("Tanh",)
    assert "MatMul→Tanh" in strange.bigrams
    assert any(size.startswith("FLOPs") and "above" in size for size in strange.sizes)


def test_a_batch_that_contradicts_the_file_is_refused(weights, tmp_path):
    with pytest.raises(InputError, match="fixes its batch at 2"):
        predict_onnx(write_model(tmp_path / "m.onnx", 64), weights=weights, dataset=DATASET, batch=8)


def test_weights_that_are_not_there_name_the_command_that_brings_them(tmp_path):
    with pytest.raises(NotPulledError, match="dvc pull models"):
        find_weights(tmp_path, "linear")
