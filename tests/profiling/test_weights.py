import pytest
import torch

from nnirp.profiling.weights import inputs_like, same_network


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


class Scaled(torch.nn.Module):
    def __init__(self, scale, width=4):
        super().__init__()
        self.scale, self.layer = scale, torch.nn.Linear(width, width)


def test_a_network_is_the_same_by_types_settings_and_shapes():
    assert same_network(Scaled(2), Scaled(2))
    with torch.device("meta"):
        assert same_network(Scaled(2), Scaled(2))
    assert not same_network(Scaled(2), Scaled(3))
    assert not same_network(Scaled(2), Scaled(2, width=5))
    assert not same_network(torch.nn.ReLU(), torch.nn.GELU())
