"""Keras models and files, TensorFlow SavedModels and TFLite files: Keras exports itself as a SavedModel, tf2onnx converts."""

import tempfile
from pathlib import Path
from typing import Any

from nnirp.errors import InputError, NnirpError
from nnirp.graphs.frontends.converting import convert
from nnirp.graphs.frontends.reading import Asked, ReadModel, need

EXTRA = "tensorflow"
OPSET = 18  # the latest that tf2onnx is tested with


def read_keras_file(path: Path, asked: Asked) -> ReadModel:
    """A `.keras` or `.h5` file; code in it (lambda layers) is refused, not run.

    Raises:
        InputError: it is no such file, or has layers of its own.
    """
    keras, *_ = need("keras tensorflow tf2onnx", EXTRA, str(path))
    try:
        model = keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # every layer raises its own
        raise InputError(f"{path} is no Keras model that can be read ({' '.join(str(error).split())[:300]})") from None
    return ReadModel(path.name, read_keras_model(model, asked).graph, "onnx")


def read_keras_model(model: Any, asked: Asked) -> ReadModel:
    """A Keras model in memory, on the TensorFlow backend; its batch stays open.

    Raises:
        NnirpError: Keras or tf2onnx cannot export it.
    """
    need("tensorflow tf2onnx", EXTRA, f"Keras model {model.name}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            model.export(folder, format="tf_saved_model", verbose=False)
        except Exception as error:
            raise NnirpError(f"Keras cannot export {model.name}: {' '.join(str(error).split())[:300]}") from None
        return ReadModel(model.name, read_saved_model(Path(folder), asked).graph, "onnx")


def read_saved_model(folder: Path, asked: Asked) -> ReadModel:
    """A folder with `saved_model.pb`; its default signature is read."""
    need("tensorflow tf2onnx", EXTRA, str(folder))
    arguments = ["-m", "tf2onnx.convert", "--saved-model", str(folder), "--opset", str(OPSET)]
    return ReadModel(folder.resolve().name, convert(arguments, "--output", str(folder)), "onnx")


def read_tflite(path: Path, asked: Asked) -> ReadModel:
    """A `.tflite` file."""
    need("tensorflow tf2onnx", EXTRA, str(path))
    arguments = ["-m", "tf2onnx.convert", "--tflite", str(path), "--opset", str(OPSET)]
    return ReadModel(path.name, convert(arguments, "--output", str(path)), "onnx")
