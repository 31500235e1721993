import math

import pytest
import torch

from nnirp import runtimes
from nnirp.errors import InputError, MissingDependencyError
from nnirp.runtimes.interface import Runtime, largest_difference, tensors_of


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm, self.head = (
            torch.nn.Conv2d(3, 8, 3),
            torch.nn.BatchNorm2d(8),
            torch.nn.Linear(8, 4),
        )

    def forward(self, x, scale):
        y = torch.relu(self.norm(self.convolution(x))).mean((2, 3))
        return {"logits": self.head(y) * scale, "features": y}


@pytest.mark.parametrize("name", runtimes.names())
def test_a_runtime_computes_what_eager_does(name):
    runtime = runtimes.load(name)
    if not runtime.available()[0] or "cpu" not in runtime.devices:
        pytest.skip(f"{name} cannot run here")
    torch.manual_seed(0)
    module = Block().eval()
    inputs = {"x": torch.rand(2, 3, 16, 16), "scale": torch.tensor(2.0)}
    with torch.inference_mode():
        expected = tensors_of(module(**inputs))
    prepared = runtime.prepare(module, inputs, "cpu")
    assert largest_difference(expected, prepared.outputs(prepared.call())) < 1e-4
    assert prepared.compile_ms >= 0


def test_unknown_runtime_and_impossible_device_are_refused():
    with pytest.raises(InputError, match="expected one of eager"):
        runtimes.load("jax")
    with pytest.raises(InputError, match="runs on cpu, not on cuda"):
        runtimes.require("openvino", "cuda:0")


def test_a_missing_package_comes_with_the_line_that_installs_it(monkeypatch):
    absent = Runtime("x", ("cpu",), lambda *_: None, packages=("no_such_package",), install="pip install x")
    assert absent.available() == (False, "no_such_package not installed; pip install x")
    monkeypatch.setattr(runtimes, "load", lambda name: absent)
    with pytest.raises(MissingDependencyError, match="pip install x"):
        runtimes.require("x", "cpu")


def test_every_runtime_is_listed_with_a_state():
    assert set(runtimes.availability()) == set(runtimes.names())


def test_difference_is_relative_and_infinite_for_other_shapes():
    assert largest_difference([torch.tensor([100.0])], [torch.tensor([101.0])]) == pytest.approx(0.01)
    assert largest_difference([torch.ones(2)], [torch.ones(3)]) == math.inf
    assert largest_difference([torch.ones(2)], []) == math.inf
