"""One request to the served model: an ONNX file as base64, or the path of one on the server, and how it is asked about."""

import base64
import binascii
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nnirp.errors import InputError
from nnirp.graphs.frontends.reading import Asked, ReadModel, read_model
from nnirp.graphs.reading import read_onnx
from nnirp.prediction.answer import Answer
from nnirp.prediction.encoding import encode_model
from nnirp.prediction.kept import Kept
from nnirp.prediction.predict import predict_encoded

MAX_BYTES = 200 * 10**6
"""Largest file that is accepted; weights are not needed, so that most files are far smaller without them."""
FIELDS = ("onnx", "path", "batch", "dimensions", "top_operators")


def answer_request(request: Mapping[str, Any], kept: Kept, root: Path) -> Answer:
    """Answer one request.

    Args:
        request: `onnx` (base64) or `path` (relative to `root`), and optionally `batch`, `dimensions` {name: size}, `top_operators`.
        kept: the predictor.
        root: paths outside this folder are refused.

    Raises:
        InputError: a field is unknown, missing or not what it should be, the file is too large or no model.
    """
    given = {key: value for key, value in request.items() if not _absent(value)}
    unknown = sorted(set(given) - set(FIELDS))
    if unknown:
        raise InputError(f"the request has the field {unknown[0]!r}; expected among: {', '.join(FIELDS)}")
    batch = _whole(given.get("batch"), "batch", 1)
    dimensions = given.get("dimensions") or {}
    if not isinstance(dimensions, Mapping):
        raise InputError(f"dimensions is {dimensions!r}, expected {{name: size}}")
    sizes = {str(name): _whole(size, f"dimensions[{name}]", 1) for name, size in dimensions.items()}
    top = _whole(given.get("top_operators", 10), "top_operators", 0)
    read = _model(given, Asked(batch=batch, dimensions=sizes), root)
    encoded = encode_model(read, batch=batch, dimensions=sizes, form=kept.form)
    return predict_encoded(read.name, encoded, kept, top_operators=top)


def _model(given: Mapping[str, Any], asked: Asked, root: Path) -> ReadModel:
    if ("onnx" in given) == ("path" in given):
        raise InputError("the request needs one of `onnx` (a file as base64) and `path`")
    if "onnx" in given:
        return ReadModel("upload", read_onnx(_decoded(given["onnx"]), max_bytes=MAX_BYTES), "onnx")
    if not isinstance(given["path"], str):
        raise InputError(f"path is {given['path']!r}, expected text")
    path = (root / given["path"]).resolve()
    if not path.is_relative_to(root.resolve()):
        raise InputError(f"path {given['path']!r} is outside the folder that the server reads; send the file as `onnx`")
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise InputError(f"{given['path']} has {path.stat().st_size:,} bytes, at most {MAX_BYTES:,} are read")
    return read_model(path, asked)


def _decoded(text: Any) -> bytes:
    if not isinstance(text, str):
        raise InputError(f"onnx is a {type(text).__name__}, expected a file as base64 text")
    if len(text) * 3 // 4 > MAX_BYTES + 2:
        raise InputError(
            f"the file has about {len(text) * 3 // 4:,} bytes, at most {MAX_BYTES:,} are accepted; send it without weights"
        )
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"onnx is no base64 ({error})") from None


def _whole(value: Any, name: str, least: int) -> int | None:
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or int(value) != value:
        raise InputError(f"{name} is {value!r}, expected a whole number")
    if value < least:
        raise InputError(f"{name} is {value!r}, expected at least {least}")
    return int(value)


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)
