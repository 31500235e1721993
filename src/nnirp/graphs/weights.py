"""Real weights put into a weight-free graph by name, to run it and compare it with the module it came from."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper
from torch import Tensor, nn

from nnirp.errors import InputError
from nnirp.graphs.export import TABLES_FILE


def with_weights(model: onnx.ModelProto, module: nn.Module, tables: onnx.ModelProto | None = None) -> onnx.ModelProto:
    """A copy of a weight-free graph whose external tensors hold a module's parameters and buffers of the same name.

    Args:
        model: as it is stored in a layer.
        module: what it was exported from, with weights.
        tables: the same graph as it left the exporter, where the stored one has constants without content (`without_tables`).

    Raises:
        InputError: the module lacks a tensor, or has it in another shape.
    """
    known = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    contents = {} if tables is None else {t.name: t for t in tables.graph.initializer if t.HasField("raw_data")}
    filled = onnx.ModelProto()
    filled.CopyFrom(model)
    for tensor in filled.graph.initializer:
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        if location(tensor) == TABLES_FILE and tensor.name in contents:
            tensor.CopyFrom(contents[tensor.name])
            continue
        value = known.get(tensor.name)
        if value is None:
            raise InputError(
                f"the module has no parameter or buffer {tensor.name!r}; expected the module that the graph was exported from"
            )
        if tuple(value.shape) != tuple(tensor.dims):
            raise InputError(
                f"{tensor.name!r} has shape {tuple(value.shape)} in the module, {tuple(tensor.dims)} in the graph"
            )
        fill(tensor, value)
    return filled


def location(tensor: TensorProto) -> str:
    """The file that an external tensor names, or an empty string."""
    return next((entry.value for entry in tensor.external_data if entry.key == "location"), "")


def fill(tensor: TensorProto, value: Tensor) -> None:
    """Store a value in an initialiser that had none, in the initialiser's own element type."""
    kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    content = value.detach().cpu()
    content = content.float().numpy() if content.dtype == torch.bfloat16 else content.numpy()
    made = numpy_helper.from_array(np.ascontiguousarray(content.astype(kind)), tensor.name)
    tensor.CopyFrom(made)


def run_graph(model: onnx.ModelProto, inputs: Mapping[str, Tensor], *, threads: int = 1) -> Sequence[np.ndarray]:
    """Run a graph with weights in ONNX Runtime on the processor; inputs by name, those the graph does not use are left out."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = {value.name for value in session.get_inputs()}
    return session.run(None, {name: value.cpu().numpy() for name, value in inputs.items() if name in wanted})
