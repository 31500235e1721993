"""ONNX Runtime with its CPU or CUDA provider. The CUDA provider has not been run on a GPU yet."""

import os
from collections.abc import Mapping
from pathlib import Path

import torch

from nnirp.errors import InputError, MissingDependencyError
from nnirp.runtimes.interface import Prepared, Runtime, stopwatch
from nnirp.runtimes.onnx_model import onnx_with_weights, preload_exporter
from nnirp.runtimes.options import options as chosen_options

LEVELS = {
    "disabled": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
}
INSTALL = "pip install 'nnirp[graphs]' (on a GPU: pip install onnx onnxscript onnxruntime-gpu)"


def prepare(
    module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], device: str, model: Path | None = None
) -> Prepared:
    """Export and open a session; inputs and outputs are bound, so that nothing is copied between host and device.

    Raises:
        MissingDependencyError: the installed package has no provider for the device.
        InputError: `graph_optimisation` is none of `LEVELS`.
    """
    import onnxruntime

    provider = "CUDAExecutionProvider" if device.startswith("cuda") else "CPUExecutionProvider"
    if provider not in onnxruntime.get_available_providers():
        raise MissingDependencyError(f"runtime onnxruntime: no {provider} in this package; {INSTALL}")
    level = chosen_options("onnxruntime", graph_optimisation="all")["graph_optimisation"]
    if level not in LEVELS:
        raise InputError(
            f"graph_optimisation is {level!r}; expected one of {', '.join(LEVELS)}; correct the settings file"
        )
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[level])
    options.intra_op_num_threads = torch.get_num_threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with stopwatch() as elapsed_ms:
        # by path: of a model given as bytes the session keeps the bytes beside the weights
        path = os.fspath(model or onnx_with_weights(module, inputs))
        session = onnxruntime.InferenceSession(path, options, [provider])
        compile_ms = elapsed_ms()
    wanted = {entry.name for entry in session.get_inputs()}
    binding = session.io_binding()
    where, index = (device.split(":")[0], int(device.partition(":")[2] or 0)) if device != "cpu" else ("cpu", 0)
    held = {name: tensor.contiguous() for name, tensor in inputs.items() if name in wanted}
    for name, tensor in held.items():
        element = torch.empty(0, dtype=tensor.dtype).numpy().dtype
        binding.bind_input(name, where, index, element, tuple(tensor.shape), tensor.data_ptr())

    def call() -> object:
        for entry in session.get_outputs():
            binding.bind_output(entry.name, where, index)
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        return held, binding.get_outputs()

    def outputs(result: tuple) -> list[torch.Tensor]:
        return [torch.from_numpy(value.numpy()) for value in result[1]]

    settings = {"provider": provider, "graph_optimisation": level, "allow_spinning": False}
    return Prepared(call, compile_ms, "returned", outputs, settings, allocator="runtime")


RUNTIME = Runtime(
    "onnxruntime",
    ("cpu", "cuda"),
    prepare,
    ("onnx", "onnxscript", "onnxruntime"),
    INSTALL,
    precisions=("fp32",),
    preload=preload_exporter,
    convert=onnx_with_weights,
)
