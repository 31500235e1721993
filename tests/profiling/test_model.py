from types import SimpleNamespace

import pytest

from nnirp.errors import InputError
from nnirp.profiling.model import Bench, import_build, prime
from nnirp.runtimes import load


def test_a_module_serves_several_batches_but_not_another_size(make_sample):
    bench = Bench(import_build("tiny_models:build"), load("eager"), "cpu")
    configuration = SimpleNamespace(id=0)
    assert not bench.hold(configuration, make_sample("a")).reused
    first = bench.weights.module
    held = bench.hold(configuration, make_sample("b", batch=3))
    assert held.reused
    assert bench.weights.module is first
    assert held.inputs["x"].shape[0] == 3
    assert not bench.hold(configuration, make_sample("c", size=8)).reused
    assert set(bench.held) == {"a", "b", "c"}


def test_outputs_are_compared_with_eager_once_a_set_of_weights(make_sample, monkeypatch):
    compared = []
    monkeypatch.setattr("nnirp.profiling.model.largest_difference", lambda *_: compared.append(1) or 0.5)
    bench = Bench(import_build("tiny_models:build"), load("torchscript"), "cpu")
    for batch in (1, 2, 3):
        held = bench.hold(SimpleNamespace(id=0), make_sample(f"b{batch}", batch=batch))
        assert held.agreement == 0.5
    assert len(compared) == 1


def test_onnx_runtime_is_charged_for_its_weights_and_not_for_the_exporter(make_sample):
    pytest.importorskip("onnxruntime")
    runtime = load("onnxruntime")
    prime("cpu", runtime)
    bench = Bench(import_build("tiny_models:build"), runtime, "cpu")
    weights = 1024 * 1024 * 4
    for batch in (1, 2):
        sample = make_sample(f"b{batch}", batch=batch, arguments={"width": 1024})
        held = bench.hold(SimpleNamespace(id=0), sample)
        assert 0.9 * weights <= held.growth_bytes <= 1.3 * weights
        assert held.file.is_file()
    for name in list(bench.held):
        bench.release(name)
    assert not held.file.exists()


def test_a_sample_that_failed_takes_its_module_with_it(make_sample):
    bench = Bench(import_build("tiny_models:build"), load("eager"), "cpu")
    bench.hold(SimpleNamespace(id=0), make_sample("a"))
    bench.drop("a")
    assert not bench.held
    assert not bench.hold(SimpleNamespace(id=0), make_sample("b", batch=2)).reused


def test_a_builder_that_cannot_be_imported_is_named():
    with pytest.raises(InputError, match="no_such_module:build"):
        import_build("no_such_module:build")
