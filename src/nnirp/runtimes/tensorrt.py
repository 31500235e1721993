"""TensorRT from an ONNX model: an engine for these shapes, float32 without TF32 unless chosen. Not run on a GPU yet."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch

from nnirp.errors import NnirpError
from nnirp.runtimes.interface import Prepared, Runtime, stopwatch
from nnirp.runtimes.onnx_model import onnx_with_weights, preload_exporter
from nnirp.runtimes.options import options


def prepare(
    module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], device: str, model: Path | None = None
) -> Prepared:
    """Export, parse and build an engine; it runs on torch's current stream, with torch tensors as its buffers.

    Builds of one model differ, because the timings of their kernels do: the option `timing_cache` names a file that keeps
    the timings, and `build` in the settings is a digest of the engine.

    Raises:
        NnirpError: the parser or the builder refuses the model.
    """
    import tensorrt as trt

    chosen = options("tensorrt", optimisation_level=3, tf32=False, timing_cache="")
    cache = Path(kept) if (kept := chosen.pop("timing_cache")) else None
    logger = trt.Logger(trt.Logger.ERROR)
    with stopwatch() as elapsed_ms:
        builder = trt.Builder(logger)
        network = builder.create_network(0)
        parser = trt.OnnxParser(network, logger)
        if not parser.parse_from_file(str(model or onnx_with_weights(module, inputs))):
            raise NnirpError(
                f"TensorRT does not parse this model: {parser.get_error(0)}; measure it with another runtime"
            )
        config = builder.create_builder_config()
        (config.set_flag if chosen["tf32"] else config.clear_flag)(trt.BuilderFlag.TF32)
        config.builder_optimization_level = chosen["optimisation_level"]
        known = cache.read_bytes() if cache and cache.is_file() else b""
        timings = config.create_timing_cache(known)
        config.set_timing_cache(timings, ignore_mismatch=False)
        plan = builder.build_serialized_network(network, config)
        if plan is None:
            raise NnirpError("TensorRT built no engine for this model; measure it with another runtime")
        if cache:
            cache.write_bytes(bytes(memoryview(timings.serialize())))
        build = hashlib.sha256(bytes(memoryview(plan))).hexdigest()[:16]
        engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
        context = engine.create_execution_context()
        compile_ms = elapsed_ms()
    buffers, results = {}, []
    for index in range(engine.num_io_tensors):
        name = engine.get_tensor_name(index)
        if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
            buffers[name] = inputs[name].to(device).contiguous()
        else:
            kind = torch.from_numpy(_numpy_zeros(trt.nptype(engine.get_tensor_dtype(name)))).dtype
            buffers[name] = torch.empty(tuple(context.get_tensor_shape(name)), dtype=kind, device=device)
            results.append(buffers[name])
        context.set_tensor_address(name, buffers[name].data_ptr())

    def call() -> object:
        context.execute_async_v3(torch.cuda.current_stream(device).cuda_stream)
        return results

    return Prepared(
        call,
        compile_ms,
        "cuda_events",
        settings={**chosen, "version": trt.__version__, "build": build},
        allocator="runtime",
    )


def _numpy_zeros(kind: type):
    import numpy as np

    return np.zeros(0, dtype=kind)


RUNTIME = Runtime(
    "tensorrt",
    ("cuda",),
    prepare,
    ("onnx", "onnxscript", "tensorrt"),
    "pip install 'nnirp[graphs]' and NVIDIA's TensorRT for your CUDA version",
    precisions=("fp32",),
    preload=preload_exporter,
    convert=onnx_with_weights,
)
