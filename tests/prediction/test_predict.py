import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from small_models import write_model

import nnirp
from nnirp.errors import InputError, NotPulledError
from nnirp.graphs.frontends import Asked
from nnirp.prediction.answer import Operator
from nnirp.prediction.asking import ask
from nnirp.prediction.charts import write_charts
from nnirp.prediction.device import DeviceRates, device_rates
from nnirp.prediction.kept import find_kept, find_weights


def answer_for(path, kept, batch=None, **options):
    return ask(path, [Asked(batch=batch)], kept, **options)[0]


def test_the_answer_has_units_and_an_interval_around_the_value(kept, tmp_path):
    answer = answer_for(write_model(tmp_path / "m.onnx", 100), kept)
    runtime, memory = answer.estimates
    assert (runtime.unit, memory.unit) == ("ms", "MB")
    assert runtime.low <= runtime.value <= runtime.high
    assert math.isclose(runtime.value, 3 * 2 * 2 * 100 * 100 / 1e6, rel_tol=0.3)
    assert answer.rests_on["device"] == "a processor" and answer.batch == 2
    assert answer.rests_on["runtime"] == "eager" and answer.rests_on["trained"] == "2026-01-01"


def test_a_familiar_model_is_not_called_new_and_a_strange_one_is(kept, tmp_path):
    assert not answer_for(write_model(tmp_path / "a.onnx", 100), kept).novel
    answer = answer_for(write_model(tmp_path / "b.onnx", 4096, operator="Tanh"), kept)
    strange = answer.novelty
    assert answer.novel and strange.operators == ("Tanh",)
    assert "MatMul→Tanh" in strange.bigrams
    assert any(size.startswith("FLOPs") and "above" in size for size in strange.sizes)


def test_an_operator_outside_the_vocabulary_is_called_by_its_name(kept, tmp_path):
    answer = answer_for(write_model(tmp_path / "a.onnx", 100, operator="Acosh"), kept)
    assert "Acosh" in answer.novelty.operators


def test_a_batch_that_contradicts_the_file_is_refused(kept, tmp_path):
    with pytest.raises(InputError, match="fixes its batch at 2"):
        answer_for(write_model(tmp_path / "m.onnx", 64), kept, batch=8)


def test_a_predictor_of_another_device_or_runtime_is_refused(root):
    for wrong in ({"device": "H200"}, {"runtime": "openvino"}):
        with pytest.raises(InputError, match="--root"):
            find_kept(root / "models", root / "manifests", "linear", **wrong)
    assert find_kept(root / "models", root / "manifests", "linear", device="A Processor", runtime="eager")


def test_python_asks_about_a_module_and_several_batches(root):
    module = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
    answers = nnirp.predict(module, inputs=torch.empty(1, 64), batch=[1, 4], predictor="linear", root=root)
    assert [a.batch for a in answers] == [1, 4] and answers[1].gflops > 3 * answers[0].gflops
    assert nnirp.predict(module, inputs=torch.empty(1, 64), predictor="linear", root=root).model == "Sequential"


def test_what_bounds_an_operator_follows_from_the_calibrated_rates(root):
    rates = device_rates(root / "manifests")
    assert rates.flops_per_s == 2 * 384**3 / 1e-3 and rates.bytes_per_s == 2 * 2**25 / 2e-3
    known = DeviceRates(1e9, 1e8)
    bounds = known.bound(np.array([1e6, 1e3, 1e3]), np.array([1e3, 1e5, 1e2]), np.array([1.5, 2.0, 1.0]))
    assert [b for b, _ in bounds] == ["arithmetic", "memory", "overhead"]
    assert [p for _, p in bounds] == pytest.approx([1 / 1.5, 0.5, 1e-3])


def test_charts_are_drawn_for_several_batches_and_for_operators(kept, tmp_path):
    path = write_model(tmp_path / "m.onnx", 64, batch="N")
    answers = ask(path, [Asked(batch=b) for b in (1, 8)], kept)
    named = replace(
        answers[0], operators=(Operator("MatMul", 0, 2.0, 0.8, "memory", 0.5), Operator("Relu", 1, 0.5, 0.2))
    )
    written = write_charts([named, answers[1]], tmp_path / "charts")
    assert [p.name for p in written] == ["time-by-batch.svg", "operators-1.svg"]
    assert all("<svg" in p.read_text() for p in written)


def test_weights_that_are_not_there_name_the_command_that_brings_them(tmp_path):
    with pytest.raises(NotPulledError, match="dvc pull models"):
        find_weights(tmp_path, "linear")
