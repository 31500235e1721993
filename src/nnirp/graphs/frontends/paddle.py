"""A Paddle inference model (`.json` or `.pdmodel` with `.pdiparams`), by paddle2onnx."""

from pathlib import Path

from nnirp.errors import InputError
from nnirp.graphs.frontends.converting import convert
from nnirp.graphs.frontends.reading import Asked, ReadModel, need


def read_inference_model(path: Path, asked: Asked) -> ReadModel:
    """A folder with `inference.json` or `inference.pdmodel`, or the `.pdmodel` file itself.

    Raises:
        InputError: its parameters are not beside it.
    """
    need("paddle paddle2onnx", "paddle", str(path))
    program = path
    if path.is_dir():
        program = next(path / n for n in ("inference.json", "inference.pdmodel") if (path / n).is_file())
    parameters = program.with_suffix(".pdiparams")
    if not parameters.is_file():
        raise InputError(f"{parameters} is not there; a Paddle inference model has its parameters beside it")
    code = "from paddle2onnx.command import main; main()"
    files = ["--model_dir", str(program.parent), "--model_filename", program.name, "--params_filename", parameters.name]
    return ReadModel(path.resolve().name, convert(["-c", code, *files], "--save_file", str(path)), "onnx")
