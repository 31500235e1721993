import pytest
from small_models import write_model

from nnirp.errors import InputError
from nnirp.features import encode
from nnirp.graphs.reading import read_onnx
from nnirp.prediction.analytic import MARGIN, analytic_memory, roofline_ms
from nnirp.prediction.answer import Answer, Estimate, Novelty
from nnirp.prediction.mig.advice import advise, gpu_prediction
from nnirp.prediction.mig.latency import slice_ms, slice_roofline_ms
from nnirp.prediction.mig.table import GPUS, profiles_of

H200 = GPUS["H200-141GB"]


@pytest.fixture(scope="module")
def encoded(tmp_path_factory):
    return encode(read_onnx(write_model(tmp_path_factory.mktemp("m") / "m.onnx", width=2048, batch=64)))


def answer(device, memory=2000.0, high=3000.0, runtime=4.0):
    estimates = (Estimate("peak_vram_mb", memory, 1000.0, high, "MB"), Estimate("runtime_ms", runtime, 1.0, 9.0, "ms"))
    basis = {"device": device, "predictor": "additive_roofline"}
    return Answer("m", 1, 1, 0.0, 0.0, estimates, False, Novelty(), basis)


def test_without_a_predictor_of_the_card_the_first_words_say_so(encoded):
    advice = advise("m", encoded, H200)
    assert advice.basis.startswith("no predictor of H200-141GB here") and "neither is measured" in advice.basis
    assert advice.margin == MARGIN and advice.memory_mb == analytic_memory(encoded).total
    assert advice.best == "1g.18gb"


def test_a_predictor_of_the_card_gives_memory_margin_and_time(encoded):
    measured = gpu_prediction(answer("NVIDIA H200, 1 thread"), H200)
    advice = advise("m", encoded, H200, measured=measured)
    assert (advice.memory_mb, advice.margin) == (2000.0, 0.5)
    assert "NVIDIA H200" in advice.basis
    whole = next(row for row in advice.rows if row.profile.startswith("7g"))
    assert whole.latency_ms == pytest.approx(4.0)
    assert gpu_prediction(answer("AMD EPYC, 1 thread"), H200) is None
    assert gpu_prediction(answer("NVIDIA A100-SXM4-40GB"), H200) is None


def test_a_slice_is_as_much_slower_as_its_scarcer_share_for_a_large_model(encoded):
    small = next(p for p in profiles_of(H200) if p.name == "1g.18gb")
    launches = 5e-3 * len(encoded.op)
    whole, part = (slice_roofline_ms(encoded, H200, p, "fp32") - launches for p in (None, small))
    assert whole * 8 <= part * 1.001 and part <= whole * 132 / 16 * 1.001
    assert slice_ms(encoded, H200, small, 10.0) == pytest.approx(10 * (part + launches) / (whole + launches))


def test_the_roofline_adds_the_larger_of_arithmetic_and_traffic_of_each_operator(encoded):
    flops, traffic = encoded.flops / 1e12, encoded.bytes / 1e11
    expected = sum(max(f, b) for f, b in zip(flops, traffic, strict=True)) * 1e3 + 2e-3 * len(encoded.op)
    assert roofline_ms(encoded, 1e12, 1e11, launch_us=2) == pytest.approx(expected)


def test_analytic_memory_holds_weights_and_live_activations(encoded):
    memory = analytic_memory(encoded)
    assert memory.weights == pytest.approx(3 * 2048 * 2048 * 4 / 2**20)
    assert memory.activations >= 2 * 64 * 2048 * 4 / 2**20
    assert memory.total > memory.weights + memory.activations


def test_a_model_that_is_nowhere_fast_enough_is_told_so(encoded):
    advice = advise("m", encoded, H200, max_latency_ms=1e-6)
    assert advice.best is None and advice.summary.startswith("does not fit")
    with pytest.raises(InputError, match="max-latency"):
        advise("m", encoded, H200, max_latency_ms=-1)
