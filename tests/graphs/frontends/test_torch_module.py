import numpy as np
import pytest
import torch
from torch import nn

from nnirp.errors import InputError, NnirpError
from nnirp.features import encode
from nnirp.graphs.frontends import Asked, read_model
from nnirp.graphs.frontends.torch_module import without_weights


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids, scale):
        return self.head(torch.relu(self.embed(ids))) * scale


def test_a_module_is_read_with_its_inputs_and_left_as_it_is():
    module = Tied().train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    read = read_model(module, Asked((torch.zeros(2, 7, dtype=torch.int64), torch.ones(1)), batch=5))
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in read.graph.graph.input}
    assert shapes == {"ids": [5, 7], "scale": [1]} and read.name == "Tied"
    assert module.training and all(torch.equal(before[k], v) for k, v in module.state_dict().items())
    encoded = encode(read.graph)
    assert encoded.memory[0] == 50 * 16 * 4  # the tied matrix once
    assert encoded.total_flops >= 2 * 5 * 7 * 16 * 50
    assert np.isfinite(encoded.x).all()


def test_a_copy_without_weights_allocates_nothing_and_keeps_ties():
    light = without_weights(Tied())
    assert light.head.weight is light.embed.weight and light.head.weight.is_meta


def test_inputs_that_are_missing_or_no_tensors_are_refused():
    with pytest.raises(InputError, match="needs inputs"):
        read_model(nn.Linear(2, 2))
    with pytest.raises(InputError, match="no tensor"):
        read_model(nn.Linear(2, 2), Asked({"input": [1.0]}))
    with pytest.raises(InputError, match="takes 1 inputs"):
        read_model(nn.Linear(2, 2), Asked([torch.ones(1, 2)] * 2))


def test_a_module_that_branches_on_values_says_what_to_do():
    class Branch(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(NnirpError, match=r"torch\.onnx\.export"):
        read_model(Branch(), Asked(torch.ones(2)))
