import io
import os

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from nnirp.errors import InputError, NotPulledError, UnsafeFileError
from nnirp.layers.frames import compress
from nnirp.layers.samples import dump_sample, load_sample


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil",)


def saved(content) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return compress(buffer.getvalue(), 3)


@given(st.integers(1, 30), st.integers(0, 40), st.integers(1, 4), st.integers(0, 99))
def test_round_trip_is_bit_exact(make_graph, nodes, edges, targets, seed):
    graph = make_graph(nodes, edges, targets, seed)
    packed = dump_sample(graph, 3)
    back = load_sample(packed)
    assert back.keys() == graph.keys()
    assert all(torch.equal(back[k], graph[k]) and back[k].dtype == graph[k].dtype for k in graph.keys())  # noqa: SIM118
    assert dump_sample(back, 3) == packed == dump_sample(graph.clone(), 3)


def test_views_and_key_order_do_not_change_the_bytes(make_graph):
    graph = make_graph(4, 4)
    other = Data(**{k: graph[k] for k in reversed(list(graph.keys()))})
    other.edge_index = graph.edge_index.t().contiguous().t()
    other.x = torch.cat([graph.x, graph.x])[:4]
    assert dump_sample(other) == dump_sample(graph)


@pytest.mark.parametrize("targets", [1, 2])
def test_plain_torch_save_of_both_card_versions_is_read(make_graph, targets):
    assert load_sample(saved(make_graph(targets=targets))).y.shape == (1, targets)


def test_missing_labels_stay_missing(make_graph):
    graph = make_graph()
    graph.y[0, 1] = float("nan")
    assert torch.isnan(load_sample(dump_sample(graph)).y[0, 1])
    del graph.y
    assert load_sample(dump_sample(graph)).y is None


def test_a_foreign_class_is_named_and_not_run(make_graph, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = make_graph()
    graph.extra = Evil()
    with pytest.raises(UnsafeFileError, match=r"posix\.mkdir"):
        load_sample(saved(graph))
    with pytest.raises(UnsafeFileError, match="HeteroData"):  # on torch's own list once PyG is imported
        from torch_geometric.data import HeteroData

        load_sample(saved(HeteroData()))
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("x", torch.zeros(4, 13), r"`x` has shape \[4, 13\], expected \[N=4, 14\]"),
        ("op_type_id", torch.zeros(3, dtype=torch.long), "expected \\[N=4\\]"),
        ("op_type_id", torch.full((4,), -1), "values -1..-1"),
        ("edge_index", torch.full((2, 5), 4), "values 4..4, expected 0..3"),
        ("edge_attr", torch.zeros(4, 18), "expected \\[E=5, 18\\]"),
        ("edge_attr", torch.full((5, 18), float("nan")), "not finite"),
        ("u", torch.zeros(5), "expected \\[1, 5\\]"),
        ("y", torch.zeros(2), "expected \\[1, T\\]"),
        ("y", torch.full((1, 2), float("inf")), "infinite"),
        ("x", torch.zeros(4, 14, dtype=torch.long), "torch.int64, expected float"),
        ("x", "text", "str, expected a tensor"),
    ],
)
def test_what_does_not_fit_the_contract_is_refused(make_graph, field, value, message):
    graph = make_graph()
    graph[field] = value
    with pytest.raises(InputError, match=message):
        load_sample(saved(graph))


def test_a_bomb_a_tensor_and_a_missing_file_are_refused(make_graph, tmp_path):
    with pytest.raises(UnsafeFileError, match="more than 1000"):
        load_sample(dump_sample(make_graph()), max_bytes=1000)
    with pytest.raises(InputError, match="holds Tensor"):
        load_sample(saved(torch.zeros(2)))
    with pytest.raises(NotPulledError):
        load_sample(tmp_path / "a.pt.zst")
