"""TensorRT against recorded behaviour: what its Python API is asked, in which order, and what comes of the answers."""

import sys
from enum import Enum
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from nnirp import runtimes
from nnirp.errors import InputError, MissingDependencyError, NnirpError
from nnirp.runtimes.options import choosing

SHAPES = {"x": (2, 3), "y": (2, 4)}


class Flag(Enum):
    TF32 = 0


class Mode(Enum):
    INPUT = 0
    OUTPUT = 1


@pytest.fixture
def told(monkeypatch):
    """Puts a `tensorrt` in place that records what it is told; returns the record."""
    told = SimpleNamespace(flags=[], level=None, cache=None, bound={}, streams=[], parses=True, builds=True)

    class Config:
        def set_flag(self, flag):
            told.flags.append(("set", flag))

        def clear_flag(self, flag):
            told.flags.append(("clear", flag))

        def create_timing_cache(self, content):
            told.cache = content
            return SimpleNamespace(serialize=lambda: b"timings")

        def set_timing_cache(self, cache, ignore_mismatch):
            assert ignore_mismatch is False
            return True

        def __setattr__(self, name, value):
            assert name == "builder_optimization_level"
            told.level = value

    class Builder:
        def __init__(self, logger):
            pass

        create_network = staticmethod(lambda flags: "network")
        create_builder_config = staticmethod(Config)
        build_serialized_network = staticmethod(lambda network, config: b"plan" if told.builds else None)

    class Parser:
        def __init__(self, network, logger):
            pass

        parse_from_file = staticmethod(lambda path: told.parses)
        get_error = staticmethod(lambda i: "no such operator")

    context = SimpleNamespace(
        get_tensor_shape=lambda name: SHAPES[name],
        set_tensor_address=lambda name, address: told.bound.update({name: address}),
        execute_async_v3=told.streams.append,
    )
    names = list(SHAPES)
    engine = SimpleNamespace(
        num_io_tensors=2,
        get_tensor_name=names.__getitem__,
        get_tensor_mode=lambda name: Mode.INPUT if name == "x" else Mode.OUTPUT,
        get_tensor_dtype=lambda name: "FLOAT",
        create_execution_context=lambda: context,
    )
    fake = ModuleType("tensorrt")
    fake.__version__ = "10.4.0"
    fake.Logger = type("Logger", (), {"ERROR": 1, "__init__": lambda self, level: None})
    fake.Builder, fake.OnnxParser, fake.BuilderFlag, fake.TensorIOMode = Builder, Parser, Flag, Mode
    fake.Runtime = lambda logger: SimpleNamespace(deserialize_cuda_engine=lambda plan: engine)
    fake.nptype = lambda kind: np.float32
    monkeypatch.setitem(sys.modules, "tensorrt", fake)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=77))
    return told


def prepare(tmp_path):
    inputs = {"x": torch.rand(2, 3)}
    return inputs, runtimes.load("tensorrt").prepare(torch.nn.Linear(3, 4), inputs, "cpu", tmp_path / "model.onnx")


def test_an_engine_is_built_in_float32_and_runs_on_torchs_stream_and_tensors(told, tmp_path):
    inputs, prepared = prepare(tmp_path)
    assert told.flags == [("clear", Flag.TF32)] and told.level == 3
    (result,) = prepared.outputs(prepared.call())
    assert told.streams == [77] and result.shape == (2, 4) and result.dtype == torch.float32
    assert told.bound == {"x": inputs["x"].data_ptr(), "y": result.data_ptr()}
    assert prepared.synchronise == "cuda_events"
    assert prepared.settings["version"] == "10.4.0" and len(prepared.settings["build"]) == 16


def test_timings_of_kernels_are_kept_from_build_to_build(told, tmp_path):
    cache = tmp_path / "timing.cache"
    with choosing({"timing_cache": str(cache), "tf32": True, "optimisation_level": 5}):
        prepare(tmp_path)
        assert told.cache == b"" and cache.read_bytes() == b"timings"
        prepare(tmp_path)
    assert told.cache == b"timings" and told.level == 5 and told.flags == [("set", Flag.TF32)] * 2


def test_a_model_that_is_not_parsed_or_built_says_so(told, tmp_path):
    told.parses = False
    with pytest.raises(NnirpError, match="no such operator"):
        prepare(tmp_path)
    told.parses, told.builds = True, False
    with pytest.raises(NnirpError, match="built no engine"):
        prepare(tmp_path)


def test_without_a_gpu_it_is_listed_as_not_installed():
    if runtimes.availability()["tensorrt"][0]:
        pytest.skip("TensorRT is installed here")
    with pytest.raises(MissingDependencyError, match="NVIDIA's TensorRT for your CUDA version"):
        runtimes.require("tensorrt", "cuda")
    with pytest.raises(InputError, match="not on cpu"):
        runtimes.require("tensorrt", "cpu")
