"""A small model of each real framework, read and encoded; skipped where the framework is not installed."""

import importlib.util
import sys

import pytest

from nnirp.errors import InputError, MissingDependencyError, NnirpError
from nnirp.features import encode
from nnirp.graphs.frontends import Asked, read_model

CONVOLUTION = 2 * 8 * 8 * 4 * (3 * 3 * 3)  # FLOPs of the only convolution at batch 1
DENSE = 2 * 4 * 10


def keras_model():
    keras = pytest.importorskip("keras", reason="Keras is not installed")
    pytest.importorskip("tf2onnx", reason="tf2onnx is not installed")
    image = keras.Input((8, 8, 3))
    hidden = keras.layers.Conv2D(4, 3, padding="same", activation="relu")(image)
    return keras.Model(image, keras.layers.Dense(10)(keras.layers.GlobalAveragePooling2D()(hidden)))


def products(read, batch):
    encoded = encode(read.graph, batch=batch)
    return sum(f for f, op in zip(encoded.flops, encoded.op_names, strict=True) if op in ("Conv", "Gemm", "MatMul"))


@pytest.mark.parametrize("way", ["model", "file", "saved_model", "tflite"])
def test_keras_and_tensorflow(tmp_path, way):
    model = keras_model()
    if way == "file":
        model.save(tmp_path / "m.keras")
        source = tmp_path / "m.keras"
    elif way == "saved_model":
        model.export(str(tmp_path / "saved"), format="tf_saved_model", verbose=False)
        source = tmp_path / "saved"
    elif way == "tflite":
        tensorflow = pytest.importorskip("tensorflow")
        source = tmp_path / "m.tflite"
        source.write_bytes(tensorflow.lite.TFLiteConverter.from_keras_model(model).convert())
    else:
        source = model
    read = read_model(source)
    batch = 1 if way == "tflite" else 4
    assert products(read, batch) == pytest.approx(batch * (CONVOLUTION + DENSE), rel=0.02)


def test_a_keras_file_that_is_none_is_refused(tmp_path):
    keras_model()
    (tmp_path / "m.keras").write_bytes(b"no model")
    with pytest.raises(InputError, match="no Keras model"):
        read_model(tmp_path / "m.keras")
    (tmp_path / "m.tflite").write_bytes(b"no model")
    with pytest.raises(NnirpError, match="cannot be converted"):
        read_model(tmp_path / "m.tflite")


def test_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    pytest.importorskip("jax2onnx", reason="jax2onnx is not installed")
    weight = jax.numpy.ones((16, 10))

    def network(x):
        return jax.nn.relu(x @ weight)

    read = read_model(network, Asked(jax.ShapeDtypeStruct((1, 16), "float32"), batch=8))
    assert products(read, 8) == 8 * 2 * 16 * 10
    with pytest.raises(InputError, match="needs inputs"):
        read_model(network)


def test_paddle_in_an_environment_of_its_own(tmp_path, monkeypatch):
    for name in ("inference.json", "inference.pdiparams"):
        (tmp_path / name).write_bytes(b"{}")
    monkeypatch.setenv("NNIRP_PADDLE_PYTHON", sys.executable)
    if importlib.util.find_spec("paddle2onnx") is None:
        with pytest.raises(NnirpError, match=r"cannot be converted.*paddle2onnx"):
            read_model(tmp_path)
        monkeypatch.delenv("NNIRP_PADDLE_PYTHON")
        with pytest.raises(MissingDependencyError, match="pip install paddlepaddle paddle2onnx"):
            read_model(tmp_path)


def test_paddle(tmp_path):
    paddle = pytest.importorskip("paddle", reason="Paddle is not installed")
    pytest.importorskip("paddle2onnx", reason="paddle2onnx is not installed")
    layers = paddle.nn.Sequential(paddle.nn.Conv2D(3, 4, 3, padding=1), paddle.nn.ReLU())
    spec = [paddle.static.InputSpec([None, 3, 8, 8], "float32")]
    paddle.jit.save(layers.eval(), str(tmp_path / "inference"), input_spec=spec)
    assert products(read_model(tmp_path), 2) == pytest.approx(2 * CONVOLUTION, rel=0.02)
    (tmp_path / "inference.pdiparams").unlink()
    with pytest.raises(InputError, match="pdiparams"):
        read_model(tmp_path)
