"""The exported champion answers as the predictor does, without torch."""

import json
import subprocess
import sys

import numpy as np
import pytest
from small_models import write_model

from nnirp.errors import InputError
from nnirp.prediction.encoding import encode_file
from nnirp.prediction.fast.exporting import TOLERANCE, export_champion
from nnirp.prediction.fast.running import CONFIG, NETWORK, open_champion
from nnirp.prediction.graph_set import graph_set
from nnirp.prediction.kept import find_kept
from nnirp.prediction.predict import champion_of, figures_of
from nnirp.predictors import create, load


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs")
    return [
        encode_file(write_model(folder / f"{i}.onnx", 16 * i, operator=op, depth=i))
        for i, op in enumerate(("Relu", "Tanh", "Elu", "Relu", "Sigmoid", "Relu"), 1)
    ]


@pytest.fixture(scope="module")
def kept(root, graphs):
    """A small additive roofline, exported, in the root of the session's predictors."""
    folder = root / "models" / "cluster" / "additive_roofline" / "0-0"
    time = np.array([e.total_flops / 1e6 for e in graphs])
    labelled = graph_set(graphs, ("runtime_ms", "peak_ram_mb")).relabel(np.log2(np.stack([time, time / 10], axis=1)))
    predictor = create("additive_roofline", members=2, width=8, context_width=8, depth=1, max_epochs=3)
    predictor.fit(labelled, labelled)
    predictor.save(folder / "weights")
    (folder / "run.json").write_bytes((root / "models" / "cluster" / "linear" / "0-0" / "run.json").read_bytes())
    assert export_champion(folder / "weights", graphs) < TOLERANCE
    return find_kept(root / "models", root / "manifests")


def test_the_export_says_what_the_predictor_says_of_graphs_it_was_not_checked_on(kept, tmp_path):
    assert champion_of(kept.weights) is not None
    for width, depth in ((64, 1), (200, 9), (33, 40)):
        encoded = encode_file(write_model(tmp_path / "m.onnx", width, depth=depth))
        fast = figures_of(encoded, kept, attribute=True)
        graphs = graph_set([encoded], kept.targets)
        predictor = load(kept.weights)
        slow = predictor.predict(graphs)
        for mine, theirs in ((fast.mean, slow.mean), (fast.low, slow.low), (fast.high, slow.high)):
            assert mine == pytest.approx(theirs[0], abs=TOLERANCE)
        assert fast.milliseconds == pytest.approx(predictor.attribute(graphs)[0], rel=1e-3)


def test_the_command_answers_without_importing_torch(kept, root, tmp_path):
    path = write_model(tmp_path / "m.onnx", 64)
    code = (
        "import sys; from nnirp.cli import app\n"
        f"try: app(['predict', {str(path)!r}, '--root', {str(root)!r}, '--json', '--top-operators', '3'])\n"
        "except SystemExit: pass\n"
        "sys.stderr.write(' '.join(m for m in ('torch', 'pandas', 'scipy', 'mlflow') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "", done.stderr[-500:]
    (answer,) = json.loads(done.stdout)
    assert len(answer["operators"]) == 3 and answer["estimates"][0]["value"] > 0


def test_an_export_of_other_weights_is_refused(kept):
    config = kept.weights / CONFIG
    before = config.read_text()
    try:
        config.write_text(json.dumps(json.loads(before) | {"weights": "0"}))
        with pytest.raises(InputError, match="other weights"):
            open_champion(kept.weights)
    finally:
        config.write_text(before)


def test_the_folder_beside_the_models_answers_for_its_own_weights_alone(kept, graphs, root):
    published = root / "champion"
    published.mkdir()
    try:
        for name in (NETWORK, CONFIG):
            (kept.weights / name).rename(published / name)
        assert open_champion(kept.weights) is not None
        assert open_champion(root / "models" / "cluster" / "linear" / "0-0" / "weights") is None
    finally:
        for name in (NETWORK, CONFIG):
            (published / name).rename(kept.weights / name)
        published.rmdir()


def test_a_predictor_without_a_fast_path_is_refused(root, graphs):
    with pytest.raises(InputError, match="only an additive roofline"):
        export_champion(root / "models" / "cluster" / "linear" / "0-0" / "weights", graphs)
    assert open_champion(root / "models" / "cluster" / "linear" / "0-0" / "weights") is None
