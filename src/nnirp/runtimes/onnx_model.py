"""A module as an ONNX file with its weights, for the runtimes that read ONNX."""

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

import torch

LARGEST_INSIDE_BYTES = 1_800 << 20  # one protobuf message holds 2 GiB at most


def onnx_with_weights(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor]) -> Path:
    """Export with the dynamo exporter.

    Args:
        module: in eval mode.
        inputs: keyword inputs; the graph's inputs take their names.

    Returns:
        The path of `model.onnx` in a temporary folder of its own; above 1.8 GB of weights they lie in a file beside it.
    """
    with warnings.catch_warnings(), torch.inference_mode(False), torch.no_grad():
        warnings.simplefilter("ignore")
        kwargs = {name: tensor.clone().cpu() for name, tensor in inputs.items()}
        program = torch.onnx.export(module.cpu(), kwargs=kwargs, dynamo=True, optimize=True, verbose=False)
    size = sum(tensor.numel() * tensor.element_size() for tensor in (*module.parameters(), *module.buffers()))
    path = Path(tempfile.mkdtemp(prefix="onnx-")) / "model.onnx"
    program.save(str(path), external_data=size > LARGEST_INSIDE_BYTES)
    return path


def preload_exporter() -> None:
    """Export a tiny module, which imports the exporter and reads its operator library: seconds that are spent once."""
    import shutil

    import tqdm

    interval, tqdm.tqdm.monitor_interval = tqdm.tqdm.monitor_interval, 0  # its monitor is a thread
    try:
        path = onnx_with_weights(torch.nn.Linear(1, 1).eval(), {"input": torch.ones(1, 1)})
        shutil.rmtree(path.parent)
    finally:
        tqdm.tqdm.monitor_interval = interval
