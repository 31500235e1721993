"""Preparing and visiting a sample in this process; the GPU's part with answers that were recorded, not with a GPU."""

from types import SimpleNamespace

import pytest

from nnirp.profiling.calibration import calibrator
from nnirp.profiling.measurement import Instruments, calibrate, prepare, visit
from nnirp.profiling.model import Bench, import_build
from nnirp.profiling.monitors import MIB, Unavailable
from nnirp.profiling.monitors.vram import VramMonitor
from nnirp.profiling.record import METRICS
from nnirp.profiling.settings import ProfileSettings
from nnirp.runtimes import load

CONFIGURATION = SimpleNamespace(id=0, name="tiny", family="recurrent", sub_family="rnn")


@pytest.fixture
def tools(tmp_path):
    def make(**changes):
        settings = ProfileSettings(**{"time_budget_s": 0.01, "sustained_s": 0.05} | changes)
        bench = Bench(import_build("tiny_models:build"), load("eager"), "cpu")
        reason = "no RAPL counter"
        return Instruments(settings, bench, {0}, tmp_path, {"fingerprint": {}}, energy_reason=reason)

    return make


def gpu(**changes):
    """NVML's answers while a GPU works: 2 J more at every reading."""
    joule = iter(range(100, 1000, 2))
    answers = {
        "energy_joule": lambda: next(joule),
        "utilisation_percent": lambda: 87.0,
        "other_processes": lambda own: 3 - len(own),
        "process_memory": lambda: 900 * MIB,
    }
    return SimpleNamespace(**answers | changes)


def test_what_cannot_be_measured_is_null_with_its_reason(tools, make_sample):
    record = prepare(tools(), CONFIGURATION, make_sample("a"))
    without = {metric for metric in METRICS if record[metric] is None}
    assert without == {"Runtime (ms)", "Peak VRAM (MB)", "Energy (J)", "GPU Utilization (%)", "CPU Utilization (%)"}
    assert record["_meta"]["reasons"]["Energy (J)"] == "no RAPL counter"
    assert record["_meta"]["reasons"]["Peak VRAM (MB)"] == "the model runs on the processor"


def test_memory_is_weights_inputs_and_what_a_call_adds(tools, make_sample):
    wide = {"arguments": {"width": 1024}, "size": 2048}
    record = prepare(tools(), CONFIGURATION, make_sample("a", **wide))
    parts = record["_meta"]["memory_mb"]
    assert parts["model"] == pytest.approx(4.0, rel=0.01)
    assert parts["inputs"] == pytest.approx(8.0)
    assert parts["workspace"] == pytest.approx(8.0, abs=1.0)  # the output
    assert record["Peak RAM (MB)"]["max"] == pytest.approx(20.0, abs=1.0)


def test_a_visit_is_one_round_of_a_prepared_sample(tools, make_sample):
    held = tools()
    prepare(held, CONFIGURATION, make_sample("a"))
    found = visit(held, "a", budget_s=0.001, most=4)
    assert 1 <= len(found["times_ms"]) <= 4
    assert held.bench.held["a"].usual_ms <= min(found["times_ms"]) + 1e-5


def test_a_gpu_gives_energy_utilisation_and_device_memory(tools, make_sample):
    held = tools(device="cuda")
    held.nvml = gpu()
    cuda = {"max_memory_allocated": lambda device: 30 * MIB, "max_memory_reserved": lambda device: 64 * MIB}
    cuda |= dict.fromkeys(("synchronize", "empty_cache", "reset_peak_memory_stats"), lambda device=None: None)
    held.vram = VramMonitor(SimpleNamespace(memory_allocated=lambda device: 10 * MIB, **cuda), "cuda", held.nvml)
    held.bench.before_prepare = held.vram.before_prepare
    record = prepare(held, CONFIGURATION, make_sample("a", arguments={"width": 1024}))
    assert record["Energy (J)"]["mean"] > 0
    assert record["GPU Utilization (%)"]["median"] == 87.0
    assert record["Peak VRAM (MB)"]["max"] == pytest.approx(30 - 10 + 4, abs=0.1)
    assert record["_meta"]["vram_mb"]["process"] == 900
    held.calibrate = calibrator("cpu")
    assert calibrate(held, [7])["gpu_processes"] == 2


def test_a_gpu_whose_energy_cannot_be_read_keeps_the_rest(tools, make_sample):
    def refuse():
        raise Unavailable("NVML: Not Supported")

    held = tools(device="cuda")
    held.nvml = gpu(energy_joule=refuse)
    record = prepare(held, CONFIGURATION, make_sample("a"))
    assert record["Energy (J)"] is None
    assert record["_meta"]["reasons"]["Energy (J)"] == "NVML: Not Supported"
