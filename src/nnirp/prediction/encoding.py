"""Any model as the graph a predictor reads."""

from collections.abc import Mapping
from pathlib import Path

from nnirp.errors import InputError
from nnirp.features.encoder import EncodedGraph, encode
from nnirp.graphs.frontends.reading import ReadModel
from nnirp.graphs.reading import read_onnx
from nnirp.graphs.shapes import complete_shapes, symbolic_inputs

MAX_NODES = 500_000
"""A graph with more operators is refused: encoding it would take minutes and gigabytes."""


def encode_file(
    path: Path, *, batch: int | None = None, dimensions: Mapping[str, int] | None = None, form: str = "canonical"
) -> EncodedGraph:
    """Read, pin and encode one ONNX file; see `encode_model`."""
    read = ReadModel(Path(path).name, read_onnx(path), "onnx")
    return encode_model(read, batch=batch, dimensions=dimensions, form=form)


def encode_model(
    read: ReadModel, *, batch: int | None = None, dimensions: Mapping[str, int] | None = None, form: str = "canonical"
) -> EncodedGraph:
    """Pin and encode what was read.

    Raises:
        InputError: a dimension is left open, `batch` contradicts a file of fixed size, or the graph is too large.
    """
    model = read.graph
    if len(model.graph.node) > MAX_NODES:
        raise InputError(f"{read.name} has {len(model.graph.node):,} operators; at most {MAX_NODES:,} are read")
    if symbolic_inputs(model):
        model = complete_shapes(model, batch, dimensions)
    encoded = encode(model, form=form, batch=batch if read.kind != "onnx" else None)
    if batch is not None and encoded.batch != batch:
        raise InputError(
            f"{read.name} fixes its batch at {encoded.batch}, not {batch}; leave --batch out, or export it with a symbolic batch"
        )
    return encoded
