"""OpenVINO on its CPU plug-in, from an ONNX model."""

import os
from collections.abc import Mapping
from pathlib import Path

import torch

from nnirp.runtimes.interface import Prepared, Runtime, stopwatch
from nnirp.runtimes.onnx_model import onnx_with_weights, preload_exporter
from nnirp.runtimes.options import options


def prepare(
    module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], device: str, model: Path | None = None
) -> Prepared:
    """Export, convert and compile, in latency mode unless told otherwise, with float32 arithmetic for float32 models."""
    import openvino

    core = openvino.Core()
    settings = {
        "PERFORMANCE_HINT": options("openvino", performance_hint="LATENCY")["performance_hint"],
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
        "INFERENCE_PRECISION_HINT": "f32",
        "NUM_STREAMS": 1,
    }
    with stopwatch() as elapsed_ms:
        network = core.read_model(os.fspath(model or onnx_with_weights(module, inputs)))
        compiled = core.compile_model(network, "CPU", settings)
        compile_ms = elapsed_ms()
    request = compiled.create_infer_request()
    wanted = {name for port in compiled.inputs for name in port.get_names()}
    feeds = {name: tensor.contiguous().numpy() for name, tensor in inputs.items() if name in wanted}

    def call() -> object:
        return request.infer(feeds, share_inputs=True, share_outputs=True)

    def outputs(result: Mapping) -> list[torch.Tensor]:
        return [torch.from_numpy(result[port].copy()) for port in compiled.outputs]

    return Prepared(call, compile_ms, "returned", outputs, settings, allocator="runtime")


RUNTIME = Runtime(
    "openvino",
    ("cpu",),
    prepare,
    ("onnx", "onnxscript", "openvino"),
    "pip install 'nnirp[graphs,openvino]'",
    precisions=("fp32",),
    preload=preload_exporter,
    convert=onnx_with_weights,
)
