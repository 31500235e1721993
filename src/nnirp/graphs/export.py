"""A torch module on the meta device → an ONNX graph without weights, every tensor of static shape, in deterministic bytes."""

import contextlib
import io
import logging
import os
from collections.abc import Iterator, Mapping
from importlib import metadata

import onnx
import onnx_ir as ir
import torch
from torch import Tensor, nn

from nnirp.errors import NnirpError

OPSET = 20
WEIGHTS_FILE = "weights"
"""Location that valueless initialisers name; the file does not exist, readers must not look for it."""
MAX_REWRITTEN_NODES = 3000
"""The rewriter's time grows with the square of the nodes: 178 s at 80 layers."""
FOLD_INPUT_LIMIT, FOLD_OUTPUT_LIMIT = 1 << 20, 1 << 22
"""Elements up to which constants are computed at export: masks and position tables, not weights."""
LIBRARIES = ("torch", "torchvision", "onnx", "onnxscript", "onnx-ir", "transformers", "timm")


def export_graph(module: nn.Module, inputs: Mapping[str, Tensor], *, opset: int = OPSET) -> onnx.ModelProto:
    """Trace a module and write its graph without weights.

    Args:
        module: in evaluation mode, on the meta device; `module(**inputs)` is what is traced.
        inputs: keyword inputs on the meta device; their sizes become the graph's static sizes.
        opset: of the default operator domain.

    Returns:
        A model whose weights are external tensors without a file and whose constants are inline. Node and tensor names are short
        and derived from positions, weights keep the module's parameter names, so that two exports give equal bytes.

    Raises:
        NnirpError: the exporter fails, or a tensor has no static shape; the message is one line.
    """
    try:
        with _quiet():
            program = torch.onnx.export(module, (), kwargs=dict(inputs), dynamo=True, optimize=False, opset_version=opset, verbose=False)
            model = program.model
            weights = _detach_weights(model)
            _simplify(model)
    except Exception as error:
        raise NnirpError(f"the exporter failed: {type(error).__name__}: {' '.join(str(error).split())[:400]}") from error
    _attach_placeholders(model, weights)
    _rename(model)
    ir.passes.common.ClearMetadataAndDocStringPass()(model)
    proto = ir.to_proto(model)
    proto.producer_name, proto.producer_version = "pytorch", metadata.version("torch").split("+")[0]
    open_tensors = unresolved(proto)
    if open_tensors:
        raise NnirpError(f"{len(open_tensors)} tensors have no static shape, first {open_tensors[0]}; the model depends on its input's values")
    return proto


def environment(opset: int = OPSET) -> dict[str, str | int]:
    """Versions that decide what an exported graph looks like."""
    found: dict[str, str | int] = {"exporter": "torch.onnx dynamo", "opset": opset}
    for name in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name).split("+")[0]
    return found


def unresolved(model: onnx.ModelProto) -> list[str]:
    """Names of the tensors of the main graph that have no static shape or no element type."""
    graph = model.graph
    known = {value.name for value in [*graph.value_info, *graph.input, *graph.output] if is_static(value.type)}
    known |= {tensor.name for tensor in graph.initializer}
    return [name for node in graph.node for name in node.output if name and name not in known]


def is_static(kind: onnx.TypeProto) -> bool:
    """Whether a type is a tensor of known element type whose dimensions are all numbers."""
    tensor = kind.tensor_type
    return bool(tensor.elem_type) and tensor.HasField("shape") and all(d.WhichOneof("value") == "dim_value" for d in tensor.shape.dim)


def _detach_weights(model: ir.Model) -> dict[str, ir.Value]:
    """Take the value from every initialiser that lives on the meta device, so that no pass tries to compute with it."""
    weights = {}
    for name, value in model.graph.initializers.items():
        raw = getattr(value.const_value, "raw", None)
        if isinstance(raw, Tensor) and raw.device.type == "meta":
            value.shape, value.type = ir.Shape(value.const_value.shape), ir.TensorType(value.const_value.dtype)
            value.const_value = None
            weights[name] = value
    return weights


def _simplify(model: ir.Model) -> None:
    from onnxscript import optimizer, rewriter

    limits = {"input_size_limit": FOLD_INPUT_LIMIT, "output_size_limit": FOLD_OUTPUT_LIMIT}
    optimizer.optimize_ir(model, **limits)
    if sum(1 for _ in model.graph) <= MAX_REWRITTEN_NODES:
        rewriter.rewrite(model)
        optimizer.optimize_ir(model, **limits)


def _attach_placeholders(model: ir.Model, weights: Mapping[str, ir.Value]) -> None:
    """Give the weights that are still used a tensor of the right type, shape and size without content."""
    kept = set(map(id, weights.values()))
    for name, value in model.graph.initializers.items():
        if id(value) in kept or value.const_value is None:
            length = value.dtype.itemsize * int(torch.Size(value.shape.numpy()).numel())
            shape = ir.Shape(value.shape.numpy())
            value.const_value = ir.ExternalTensor(WEIGHTS_FILE, 0, int(length), value.dtype, shape=shape, name=name)


def _rename(model: ir.Model) -> None:
    """Short names by position for nodes, their outputs and constants; inputs, outputs and weights keep theirs."""
    graph = model.graph
    fixed = {value.name for value in [*graph.inputs, *graph.outputs]}
    for number, node in enumerate(graph):
        node.name = f"n{number}"
        for port, value in enumerate(node.outputs):
            if value.name not in fixed:
                value.name = f"t{number}" if port == 0 else f"t{number}_{port}"
    constants = [value for value in graph.initializers.values() if not isinstance(value.const_value, ir.ExternalTensor)]
    for number, value in enumerate(constants):
        value.name = f"c{number}"
        value.const_value.name = value.name


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The exporter prints progress and warns of every weight that has no value; neither is news here."""
    names = ("onnxscript", "onnx_ir", "torch.onnx", "torch.export", "torch._dynamo")
    before = {name: logging.getLogger(name).level for name in names}
    os.environ.setdefault("TORCH_ONNX_DISABLE_PROGRESS", "1")
    import warnings

    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.ERROR)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
