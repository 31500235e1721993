"""Any ONNX file as the graph a predictor reads."""

from collections.abc import Mapping
from pathlib import Path

from nnirp.errors import InputError
from nnirp.features.encoder import EncodedGraph, encode
from nnirp.graphs.reading import read_onnx
from nnirp.graphs.shapes import complete_shapes, symbolic_inputs


def encode_file(
    path: Path, *, batch: int | None = None, dimensions: Mapping[str, int] | None = None, form: str = "canonical"
) -> EncodedGraph:
    """Read, pin and encode one file.

    Raises:
        InputError: a dimension is left open, or `batch` contradicts a file of fixed size.
    """
    model = read_onnx(path)
    if symbolic_inputs(model):
        model = complete_shapes(model, batch, dimensions)
    encoded = encode(model, form=form)
    if batch is not None and encoded.batch != batch:
        raise InputError(
            f"{path.name} fixes its batch at {encoded.batch}, not {batch}; leave --batch out, or export it with a symbolic batch"
        )
    return encoded
