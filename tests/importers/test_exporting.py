"""Graphs made in worker processes: bounded, kept, and tried again where time or memory ended them."""

import onnx
import pytest

from nnirp.errors import InputError
from nnirp.features import encode
from nnirp.importers.exporting import Limits, _reason, make_graphs
from nnirp.importers.sources import Source, make_graph, without_weights


def test_graphs_are_made_once_and_failures_have_a_reason(tmp_path, make_network):
    good = Source("onnx", str(make_network(tmp_path / "a.onnx", symbolic=True)), 8)
    bad = Source("timm", "resnet18", 2, 64, parameters=99.0)
    first = make_graphs([good, bad, good], tmp_path / "work")
    assert onnx.load(first[good].path).graph.input[0].type.tensor_type.shape.dim[0].dim_value == 8
    assert first[bad].path is None and "11.69 M parameters in the installed timm, 99 M in the table" in first[bad].error
    seen = []
    again = make_graphs([good, bad], tmp_path / "work", on_progress=lambda *state: seen.append(state[:2]))
    assert again == first and seen == [(2, 2)]


def test_the_reason_of_a_failure_is_the_innermost_error_unless_the_error_is_our_own():
    try:
        try:
            raise AssertionError("only 4D query, key, and value are supported")
        except AssertionError as cause:
            raise RuntimeError("how to report this,\nstep 3/3") from cause
    except RuntimeError as error:
        assert _reason(error) == "AssertionError: only 4D query, key, and value are supported"
    assert _reason(InputError("no such model")) == "no such model"


def test_a_graph_that_takes_too_long_or_too_much_is_given_up_and_tried_again(tmp_path, make_network):
    source = Source("onnx", str(make_network(tmp_path / "a.onnx")), 2)
    late = make_graphs([source], tmp_path / "work", limits=Limits(timeout_s=0.01))
    large = make_graphs([source], tmp_path / "work", limits=Limits(memory_gib=0.001))
    assert late[source].error == "no graph after 0.01 s" and "0.001 GiB" in large[source].error
    assert make_graphs([source], tmp_path / "work")[source].path


def test_a_file_loses_its_weights_and_keeps_its_features(tmp_path, make_network):
    model = onnx.load(make_network(tmp_path / "a.onnx", width=64, weights=True))
    bare = without_weights(model)
    assert bare.ByteSize() < 1000 < model.ByteSize() and bare.graph.initializer[0].dims == [64, 64]
    assert encode(bare).total_flops == encode(model).total_flops == 2 * 2 * 64 * 64 + 2 * 64


def test_a_file_of_another_batch_than_the_table_says_is_refused(tmp_path, make_network):
    path = make_network(tmp_path / "a.onnx", batch=2)
    with pytest.raises(InputError, match="fixes its batch at 2, the table says 3"):
        make_graph(Source("onnx", str(path), 3))
    with pytest.raises(InputError, match="batch"):
        make_graph(Source("onnx", str(make_network(tmp_path / "b.onnx", symbolic=True)), None))
