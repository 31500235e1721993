"""Derived graphs are equal to traced ones, or the candidates are traced."""

import pytest
from small_models import write_model

from nnirp.errors import InputError
from nnirp.features import encode
from nnirp.graphs.reading import read_onnx
from nnirp.prediction.exploration.candidates import Candidates, trace_candidate
from nnirp.prediction.exploration.interpolation import Corners, InterpolationError
from nnirp.prediction.exploration.repetition import find_block, repeat, same
from nnirp.prediction.exploration.spec import Range, Spec

SPACE = Spec(
    builder="b",
    family="f",
    vary={"depth": Range(low=1, high=12), "width": [8, 12, 20, 32], "batch": [1, 2, 4, 16]},
    depth="depth",
)


class Tracer:
    """Writes chains of products, counting how often."""

    def __init__(self, folder, width_of=lambda values: values["width"]):
        self.folder, self.width_of, self.calls = folder, width_of, 0

    def __call__(self, values):
        self.calls += 1
        path = self.folder / f"{self.calls}.onnx"
        return read_onnx(
            write_model(path, self.width_of(values), batch=values["batch"], depth=values["depth"], shapes=True)
        )


def test_every_point_is_as_if_it_were_traced_and_few_are(tmp_path):
    tracer = Tracer(tmp_path)
    candidates = Candidates(SPACE, tracer)
    made = [(point, candidates.encoded(point)) for point in SPACE.grid()]
    assert len(made) == 12 * 4 * 4
    assert tracer.calls == candidates.counts.traced < len(made) / 4
    for point, encoded in made[::7]:
        direct = encode(tracer(SPACE.complete(point)), batch=point["batch"])
        assert same(encoded, direct), point
    assert candidates.counts.other == 0 and candidates.counts.equal >= 2


def test_an_axis_that_is_not_straight_is_noticed_and_traced(tmp_path):
    tracer = Tracer(tmp_path, width_of=lambda values: values["width"] ** 2 // 4)
    candidates = Candidates(SPACE, tracer)
    for point in list(SPACE.grid())[::13]:
        direct = encode(tracer(SPACE.complete(point)), batch=point["batch"])
        assert same(candidates.encoded(point), direct), point
    assert "width" not in candidates.straight and any("width" in note for note in candidates.counts.notes)


def test_corners_with_other_operators_are_refused(tmp_path):
    graphs = [read_onnx(write_model(tmp_path / f"{op}.onnx", 8, operator=op)) for op in ("Relu", "Tanh")]
    with pytest.raises(InterpolationError, match="operators"):
        Corners([8], [16], graphs)


def test_a_block_is_found_and_repeated(tmp_path):
    graphs = [encode(read_onnx(write_model(tmp_path / f"{d}.onnx", 8, depth=d))) for d in (3, 9)]
    block = find_block(graphs[0])
    assert block.length == 2
    assert same(repeat(graphs[0], block, 9), graphs[1])
    assert not same(repeat(graphs[0], block, 8), graphs[1])


@pytest.mark.parametrize("kind", ["bert"])
def test_a_transformer_of_the_catalog_is_derived_exactly(kind):
    pytest.importorskip("transformers")
    spec = Spec(
        builder="text_encoder",
        family="attention_encoder",
        arguments={
            "model_type": kind,
            "intermediate_size": "4 * hidden_size",
            "num_attention_heads": 2,
            "vocab_size": 100,
        },
        vary={"num_hidden_layers": Range(low=3, high=7), "hidden_size": [8, 12, 16, 32]},
        depth="num_hidden_layers",
        size=6,
        batch=2,
    )
    trace = trace_candidate(spec)
    candidates = Candidates(spec, trace)
    point = {"num_hidden_layers": 7, "hidden_size": 12}
    assert same(candidates.encoded(point), encode(trace(spec.complete(point)), batch=2))
    assert candidates.counts.traced == 3 and not candidates.counts.notes


def test_what_a_builder_refuses_is_an_error_of_that_point():
    spec = Spec(builder="no_such_builder", family="convolutional", vary={"width": [1, 2]})
    with pytest.raises(InputError, match="no_such_builder"):
        Candidates(spec, trace_candidate(spec)).encoded({"width": 1})
