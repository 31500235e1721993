from types import SimpleNamespace

import pytest
import torch

from nnirp.errors import InputError
from nnirp.profiling.model import Bench, host_bytes, import_build, inputs_like
from nnirp.runtimes import load


def test_inputs_of_another_batch_keep_values_in_range():
    held = {"ids": torch.tensor([[1, 2, 3], [4, 5, 6]]), "scale": torch.tensor(2.0)}
    wanted = {"ids": torch.empty(5, 3, dtype=torch.long, device="meta"), "scale": torch.empty((), device="meta")}
    found = inputs_like(wanted, held)
    assert found["ids"].shape == (5, 3)
    assert torch.equal(found["ids"][2], held["ids"][0])


@pytest.mark.parametrize(
    "wanted",
    [{"y": torch.ones(1)}, {"x": torch.ones(1, 1)}, {"x": torch.ones(1, dtype=torch.long)}],
    ids=["name", "rank", "type"],
)
def test_other_inputs_need_a_new_model(wanted):
    assert inputs_like(wanted, {"x": torch.ones(1)}) is None


def test_a_module_serves_several_batches_but_not_another_size(make_sample):
    bench = Bench(import_build("tiny_models:build"), load("eager"), "cpu")
    configuration = SimpleNamespace(id=0)
    first = bench.hold(configuration, make_sample("a")).module
    held = bench.hold(configuration, make_sample("b", batch=3))
    assert held.module is first
    assert held.reused
    assert held.inputs["x"].shape[0] == 3
    assert bench.hold(configuration, make_sample("c", size=8)).module is not first


def test_a_builder_that_cannot_be_imported_is_named():
    with pytest.raises(InputError, match="no_such_module:build"):
        import_build("no_such_module:build")


def test_tied_weights_are_held_once():
    one, other = torch.nn.Linear(8, 8, bias=False), torch.nn.Linear(8, 8, bias=False)
    other.weight = one.weight
    assert host_bytes(torch.nn.Sequential(one, other)) == 8 * 8 * 4
