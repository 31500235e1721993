import pytest
import torch

from nnirp import runtimes
from nnirp.errors import InputError
from nnirp.runtimes.interface import largest_difference, tensors_of
from nnirp.runtimes.options import VARIABLE, choosing, options


def test_options_are_the_defaults_and_what_was_chosen(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert options("x", level="all", fast=False) == {"level": "all", "fast": False}
    with choosing({"level": "basic"}):
        assert options("x", level="all", fast=False) == {"level": "basic", "fast": False}
    assert options("x", level="all") == {"level": "all"}


def test_an_option_that_a_runtime_does_not_have_is_refused():
    with choosing({"levle": 3}), pytest.raises(InputError, match="no option 'levle'; expected one of level"):
        options("x", level=1)


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("torchscript", {"optimize_for_inference": True}),
        ("onnxruntime", {"graph_optimisation": "disabled"}),
        ("openvino", {"performance_hint": "THROUGHPUT"}),
    ],
)
def test_a_chosen_level_reaches_the_runtime_and_its_record(name, chosen):
    runtime = runtimes.load(name)
    if not runtime.available()[0]:
        pytest.skip(runtime.available()[1])
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()).eval()
    inputs = {"input": torch.rand(1, 3, 8, 8)}
    with torch.inference_mode():
        expected = tensors_of(module(**inputs))
    with choosing(chosen):
        prepared = runtime.prepare(module.requires_grad_(False), inputs, "cpu")
    assert largest_difference(expected, prepared.outputs(prepared.call())) < 1e-5
    assert set(chosen.values()) <= set(prepared.settings.values())


def test_an_impossible_level_is_refused():
    pytest.importorskip("onnxruntime")
    with choosing({"graph_optimisation": "most"}), pytest.raises(InputError, match="disabled, basic, extended, all"):
        runtimes.load("onnxruntime").prepare(torch.nn.Linear(1, 1), {"input": torch.ones(1, 1)}, "cpu")
