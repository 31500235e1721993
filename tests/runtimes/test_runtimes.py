import math

import pytest
import torch

from nnirp import runtimes
from nnirp.errors import InputError, MissingDependencyError
from nnirp.runtimes.interface import Runtime, largest_difference, tensors_of, weights_of


class Convolutional(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x, scale):
        y = torch.relu(self.norm(self.convolution(x))).mean((2, 3))
        return {"logits": self.head(y) * scale, "features": y}


class Text(torch.nn.Module):
    """BERT with two layers, called by keywords it does not name."""

    def __init__(self):
        super().__init__()
        transformers = pytest.importorskip("transformers")
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        self.bert = transformers.BertModel(transformers.BertConfig(vocab_size=100, **sizes))

    def forward(self, **inputs):
        return self.bert(**inputs).last_hidden_state


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.layer(x) + 1)


MODELS = {
    Convolutional: lambda: {"x": torch.rand(2, 3, 16, 16), "scale": torch.tensor(2.0)},
    Text: lambda: {
        "input_ids": torch.randint(100, (2, 16)),
        "attention_mask": torch.ones(2, 16, dtype=torch.long),
    },
    Small: lambda: {"x": torch.rand(4, 8)},
}


def cases():
    for name in runtimes.names():
        for model in (Small,) if name == "inductor" else (Convolutional, Text):  # a C++ compiler takes its time
            yield pytest.param(name, model, id=f"{name}-{model.__name__}")


@pytest.mark.parametrize(("name", "model"), cases())
def test_a_runtime_computes_what_eager_does(name, model):
    runtime = runtimes.load(name)
    if not runtime.available()[0] or "cpu" not in runtime.devices:
        pytest.skip(f"{name} cannot run here: {runtime.available()[1]}")
    torch.manual_seed(0)
    module, inputs = model().eval().requires_grad_(False), MODELS[model]()
    with torch.inference_mode():
        expected = tensors_of(module(**inputs))
    prepared = runtime.prepare(module, inputs, "cpu")
    assert largest_difference(expected, prepared.outputs(prepared.call())) < 1e-4
    assert prepared.compile_ms >= 0


def test_tied_weights_count_once():
    one, other = torch.nn.Linear(8, 8, bias=False), torch.nn.Linear(8, 8, bias=False)
    other.weight = one.weight
    assert weights_of(torch.nn.Sequential(one, other)) == 8 * 8 * 4


def test_a_traced_module_holds_its_weights_as_constants_lists_of_them_included():
    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = torch.nn.LSTM(8, 16), torch.nn.Linear(16, 4)

        def forward(self, x):
            return self.head(self.lstm(x)[0])

    module = Recurrent().eval().requires_grad_(False)
    prepared = runtimes.load("torchscript").prepare(module, {"x": torch.rand(3, 2, 8)}, "cpu")
    assert weights_of(module) <= prepared.weights_bytes <= weights_of(module) + 2048


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


def test_inductor_says_that_it_needs_a_compiler(monkeypatch):
    monkeypatch.setattr("nnirp.runtimes.inductor.shutil.which", lambda name: None)
    assert runtimes.availability()["inductor"] == (False, "no C++ compiler on PATH; apt-get install g++")


def test_every_runtime_is_listed_with_a_state():
    assert set(runtimes.availability()) == set(runtimes.names())


def test_difference_is_relative_and_infinite_for_other_shapes():
    assert largest_difference([torch.tensor([100.0])], [torch.tensor([101.0])]) == pytest.approx(0.01)
    assert largest_difference([torch.ones(2)], [torch.ones(3)]) == math.inf
    assert largest_difference([torch.ones(2)], []) == math.inf
