"""A module as an ONNX model with its weights, for the runtimes that read ONNX."""

import logging
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

import torch

LARGEST_IN_MEMORY_BYTES = 1_800 << 20  # one protobuf message holds 2 GiB at most
log = logging.getLogger(__name__)


def onnx_with_weights(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor]) -> bytes | Path:
    """Export with the dynamo exporter.

    Args:
        module: in eval mode.
        inputs: keyword inputs; the graph's inputs take their names.

    Returns:
        The serialised model, or above 1.8 GB of weights the path of a file in a temporary folder, weights beside it.
    """
    with warnings.catch_warnings(), torch.inference_mode(False), torch.no_grad():
        warnings.simplefilter("ignore")
        kwargs = {name: tensor.clone().cpu() for name, tensor in inputs.items()}
        program = torch.onnx.export(module.cpu(), kwargs=kwargs, dynamo=True, optimize=True, verbose=False)
    tensors = [*module.parameters(), *module.buffers()]
    if sum(tensor.numel() * tensor.element_size() for tensor in tensors) <= LARGEST_IN_MEMORY_BYTES:
        return program.model_proto.SerializeToString()
    path = Path(tempfile.mkdtemp(prefix="onnx-")) / "model.onnx"
    program.save(str(path), external_data=True)
    log.debug("weights of %s are beside the model in %s", type(module).__name__, path.parent)
    return path
