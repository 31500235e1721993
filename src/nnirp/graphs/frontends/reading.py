"""What a model may be, and which file of this folder turns it into an ONNX graph."""

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx

from nnirp.errors import InputError, MissingDependencyError, NotPulledError
from nnirp.graphs.reading import read_onnx


@dataclass(frozen=True)
class Asked:
    """How a model is to be read.

    `inputs` are example inputs of a module or function; `batch` and `size` (pixels a side, tokens, samples, steps) choose those of a
    model that is built from its name; `dimensions` are sizes of named dimensions of a file; `mode` is forward, prefill or decode.
    """

    inputs: Any = None
    batch: int | None = None
    size: int | None = None
    mode: str | None = None
    dimensions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadModel:
    """A model's name for the answer, its graph, and what it was read as."""

    name: str
    graph: onnx.ModelProto
    kind: str


FOLDERS = {
    "saved_model.pb": "saved_model",
    "config.json": "transformers_folder",
    "inference.json": "paddle",
    "inference.pdmodel": "paddle",
}
SUFFIXES = {".keras": "keras_file", ".h5": "keras_file", ".tflite": "tflite", ".pdmodel": "paddle"}
REGISTRIES = {"timm": "timm_name", "hf": "transformers_name"}


def read_model(model: Any, asked: Asked | None = None) -> ReadModel:
    """Read a model of any kind that is known.

    Args:
        model: a path to an ONNX, Keras (`.keras`, `.h5`) or TFLite file, to a TensorFlow SavedModel, a Paddle inference model or a
            folder with a transformers `config.json`; `timm:NAME`; `hf:TYPE`; the bytes of an ONNX file; an `onnx.ModelProto`, a
            `torch.nn.Module`, a Keras model, or a function that JAX can trace.
        asked: batch, size and inputs.

    Raises:
        NotPulledError: there is no such file.
        InputError: it is nothing of these, or names a module without inputs.
        MissingDependencyError: its framework or converter is not installed; the message has the line that installs it.
    """
    asked = asked or Asked()
    if isinstance(model, onnx.ModelProto):
        return ReadModel(model.graph.name or "model", read_onnx(model.SerializeToString()), "onnx")
    if isinstance(model, bytes):
        return ReadModel("model", read_onnx(model), "onnx")
    if isinstance(model, str | Path):
        prefix, _, name = str(model).partition(":")
        if prefix in REGISTRIES and name and not Path(model).exists():
            return _frontend(REGISTRIES[prefix])(name, asked)
        return _read_path(Path(model), asked)
    if _is_a(model, "torch.nn", "Module"):
        return _frontend("torch_module")(model, asked)
    if _is_a(model, "keras", "Model"):
        return _frontend("keras_model")(model, asked)
    if callable(model):
        return _frontend("jax_function")(model, asked)
    raise InputError(
        f"a {type(model).__name__} is no model that is known; expected a path, timm:NAME, hf:TYPE, an ONNX model, a torch or Keras "
        "module or a JAX function"
    )


def _read_path(path: Path, asked: Asked) -> ReadModel:
    if path.is_dir():
        kind = next((kind for name, kind in FOLDERS.items() if (path / name).is_file()), None)
        if kind is None:
            raise InputError(
                f"{path} is a folder without any of {', '.join(FOLDERS)}; expected an ONNX file, a SavedModel, a Paddle "
                "inference model or a folder with a transformers configuration"
            )
        return _frontend(kind)(path, asked)
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        return ReadModel(path.name, read_onnx(path), "onnx")
    if not path.is_file():
        raise NotPulledError(f"{path} does not exist; name a file, or `dvc pull {path}`")
    return _frontend(kind)(path, asked)


MODULES = {
    "timm_name": ("timm_models", "read_name"),
    "transformers_name": ("transformers_models", "read_name"),
    "transformers_folder": ("transformers_models", "read_folder"),
    "torch_module": ("torch_module", "read_module"),
    "keras_file": ("tensorflow", "read_keras_file"),
    "keras_model": ("tensorflow", "read_keras_model"),
    "saved_model": ("tensorflow", "read_saved_model"),
    "tflite": ("tensorflow", "read_tflite"),
    "jax_function": ("jax_function", "read_function"),
    "paddle": ("paddle", "read_inference_model"),
}


def _frontend(kind: str):
    module, function = MODULES[kind]
    return getattr(importlib.import_module(f"nnirp.graphs.frontends.{module}"), function)


def need(packages: str, extra: str, what: str) -> list[Any]:
    """Import packages (names with spaces between), or say how they are installed.

    Raises:
        MissingDependencyError: one is absent.
    """
    try:
        return [importlib.import_module(name) for name in packages.split()]
    except ImportError as error:
        raise MissingDependencyError(
            f"{what} needs {' and '.join(packages.split())} ({' '.join(str(error).split())[:200]}); `pip install 'nnirp[{extra}]'`"
        ) from None


def _is_a(model: Any, package: str, name: str) -> bool:
    """Whether an object's class comes from a class of this name, without importing the package: who made the object did."""
    if package.partition(".")[0] not in sys.modules:
        return False
    return any(base.__name__ == name and base.__module__.startswith(package) for base in type(model).__mro__)
