"""A Paddle inference model (`.json` or `.pdmodel` with `.pdiparams`), by paddle2onnx.

Its releases up to 2.1 pin onnx at 1.17 or below, which lacks security fixes that this project asks for: they do not install
together. An environment of its own, named by a variable, does the conversion.
"""

import importlib.util
import os
import sys
from pathlib import Path

from nnirp.errors import InputError, MissingDependencyError
from nnirp.graphs.frontends.converting import convert
from nnirp.graphs.frontends.reading import Asked, ReadModel

PYTHON_VARIABLE = "NNIRP_PADDLE_PYTHON"


def read_inference_model(path: Path, asked: Asked) -> ReadModel:
    """A folder with `inference.json` or `inference.pdmodel`, or the `.pdmodel` file itself.

    Raises:
        InputError: its parameters are not beside it.
    """
    python = os.environ.get(PYTHON_VARIABLE)
    if python is None and not all(importlib.util.find_spec(name) for name in ("paddle", "paddle2onnx")):
        raise MissingDependencyError(
            f"{path} needs paddle and paddle2onnx in an environment of their own: `python3 -m venv paddle-env && "
            f"paddle-env/bin/pip install paddlepaddle paddle2onnx && export {PYTHON_VARIABLE}=paddle-env/bin/python`"
        )
    program = path
    if path.is_dir():
        program = next(path / n for n in ("inference.json", "inference.pdmodel") if (path / n).is_file())
    parameters = program.with_suffix(".pdiparams")
    if not parameters.is_file():
        raise InputError(f"{parameters} is not there; a Paddle inference model has its parameters beside it")
    code = "from paddle2onnx.command import main; main()"
    files = ["--model_dir", str(program.parent), "--model_filename", program.name, "--params_filename", parameters.name]
    return ReadModel(
        path.resolve().name, convert(["-c", code, *files], "--save_file", str(path), python or sys.executable), "onnx"
    )
