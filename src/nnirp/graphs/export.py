"""A torch module on the meta device → an ONNX graph without weights, every tensor of static shape, in deterministic bytes."""

import contextlib
import hashlib
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata

import onnx
import onnx.shape_inference
import onnx_ir as ir
import torch
from torch import Tensor, nn

from nnirp.errors import NnirpError, innermost
from nnirp.graphs.exporter import for_tracing, quiet, rules_by_operator
from nnirp.graphs.static import unresolved

OPSET = 20
WEIGHTS_FILE, TABLES_FILE = "weights", "tables"
"""Locations that valueless initialisers name: a module's own tensors, and large constants computed at export. Neither file exists, readers
must not look for them."""
FOLD_INPUT_LIMIT, FOLD_OUTPUT_LIMIT = 1 << 20, 1 << 22
"""Elements up to which constants are computed at export: masks and position tables, not weights."""
SHARED_BYTES = 4096
"""From this size on equal constants of a graph are one; the simplifier merges small ones itself."""
TABLE_BYTES = 1 << 14
"""Compressed bytes beyond which a constant loses its content: masks stay, tables of sines or of long indices go."""
TERMINAL_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LIBRARIES = ("torch", "torchvision", "onnx", "onnxscript", "onnx-ir", "transformers", "timm")


@dataclass(frozen=True)
class Timings:
    """Seconds of one export, by part."""

    building: float
    tracing: float
    optimising: float


def export_graph(module: nn.Module, inputs: Mapping[str, Tensor], *, opset: int = OPSET) -> onnx.ModelProto:
    """Return the graph of a module without its weights: `optimise` after `trace`, where arguments and errors are described."""
    return optimise(trace(module, inputs, opset=opset))


def trace(module: nn.Module, inputs: Mapping[str, Tensor], *, opset: int = OPSET) -> ir.Model:
    """Trace a module.

    Args:
        module: in evaluation mode, on the meta device; `module(**inputs)` is what is traced.
        inputs: keyword inputs on the meta device; their sizes become the graph's static sizes.
        opset: of the default operator domain.

    Raises:
        NnirpError: the exporter fails; the message is one line.
    """
    with _one_line_of_error(), for_tracing():
        program = torch.onnx.export(
            module, (), kwargs=dict(inputs), dynamo=True, optimize=False, opset_version=opset, verbose=False
        )
        return program.model


def optimise(model: ir.Model) -> onnx.ModelProto:
    """Simplify what was traced, and strip it of what is no topology.

    Returns:
        A model whose weights are external tensors without a file and whose constants are inline. Node and tensor names are short
        and derived from positions, weights keep the module's parameter names, so that two exports give equal bytes.

    Raises:
        NnirpError: the simplification fails, or a tensor has no static shape; the message is one line.
    """
    with _one_line_of_error(), quiet(), rules_by_operator():
        _detach_weights(model)
        _simplify(model)
        _share_constants(model)
    return _finished(model)


@contextlib.contextmanager
def _one_line_of_error() -> Iterator[None]:
    """The innermost error in one line: torch wraps the reason in advice on how to report it."""
    try:
        yield
    except Exception as error:
        cause = innermost(error)
        words = " ".join(TERMINAL_COLOUR.sub("", str(cause)).split())
        raise NnirpError(f"the exporter failed: {type(cause).__name__}: {words[:400]}") from error


def _finished(model: ir.Model) -> onnx.ModelProto:
    """Name the parts by position, strip what is no topology, and see that every shape is static."""
    _mark_external(model)
    _rename(model)
    ir.passes.common.ClearMetadataAndDocStringPass()(model)
    for value in [*model.graph.inputs, *model.graph.outputs, *model.graph.initializers.values()]:
        value.metadata_props.clear()  # the pass leaves those of weights
    proto = ir.to_proto(model)
    proto.producer_name, proto.producer_version = "pytorch", metadata.version("torch").split("+")[0]
    open_tensors = unresolved(proto)
    if open_tensors:
        proto = onnx.shape_inference.infer_shapes(proto, data_prop=True)
        open_tensors = unresolved(proto)
    if open_tensors:
        shown = ", ".join(open_tensors[:5])
        raise NnirpError(
            f"{len(open_tensors)} tensors have no static shape ({shown}); the model's sizes depend on its inputs' values"
        )
    return proto


def without_tables(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose constants that do not compress to `TABLE_BYTES` have no content: it is no topology, and most of a layer's bytes.

    No shape depends on a constant of this size. `nnirp.graphs.weights.with_weights` puts the contents back from a graph that has them.
    """
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for tensor in result.graph.initializer:
        content = tensor.raw_data
        if len(content) > TABLE_BYTES and len(zlib.compress(content, 1)) > TABLE_BYTES:
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            for key, value in (("location", TABLES_FILE), ("offset", 0), ("length", len(content))):
                tensor.external_data.add(key=key, value=str(value))
    return result


def environment(opset: int = OPSET) -> dict[str, str | int]:
    """Versions that decide what an exported graph looks like."""
    found: dict[str, str | int] = {"exporter": "torch.onnx dynamo", "opset": opset}
    for name in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name).split("+")[0]
    return found


def _detach_weights(model: ir.Model) -> None:
    """Take the value from every initialiser that has no content, so that no pass tries to compute with it."""
    for value in model.graph.initializers.values():
        raw = getattr(value.const_value, "raw", None)
        on_meta = isinstance(raw, Tensor) and raw.device.type == "meta"
        if on_meta or isinstance(value.const_value, ir.ExternalTensor):
            value.shape, value.type = ir.Shape(value.const_value.shape), ir.TensorType(value.const_value.dtype)
            value.const_value = None


def _simplify(model: ir.Model) -> None:
    """Compute constants, rewrite what the exporter spells out, drop what nobody reads."""
    from onnxscript import optimizer

    optimizer.optimize_ir(model, input_size_limit=FOLD_INPUT_LIMIT, output_size_limit=FOLD_OUTPUT_LIMIT)


def _share_constants(model: ir.Model) -> None:
    """Keep one of several equal large constants: index tables and masks that every layer of a network computes for itself."""
    first: dict[tuple, ir.Value] = {}
    for name, value in list(model.graph.initializers.items()):
        content = value.const_value
        if content is None or content.nbytes < SHARED_BYTES or value.is_graph_output():
            continue
        key = (content.dtype, tuple(content.shape.numpy()), hashlib.sha256(content.tobytes()).digest())
        kept = first.setdefault(key, value)
        if kept is not value:
            value.replace_all_uses_with(kept)
            del model.graph.initializers[name]


def _mark_external(model: ir.Model) -> None:
    """Give the weights that are still used a tensor of the right type, shape and size without content."""
    for name, value in model.graph.initializers.items():
        if value.const_value is None:
            shape = ir.Shape(value.shape.numpy())
            length = value.dtype.itemsize * math.prod(shape.numpy())
            value.const_value = ir.ExternalTensor(WEIGHTS_FILE, 0, int(length), value.dtype, shape=shape, name=name)


def _rename(model: ir.Model) -> None:
    """Short names by position for nodes, their outputs and constants; inputs, outputs and weights keep theirs."""
    graph = model.graph
    constants = [value for value in graph.initializers.values() if not isinstance(value.const_value, ir.ExternalTensor)]
    renamed = {id(value) for value in constants}
    weights = [value.name for value in graph.initializers.values() if id(value) not in renamed]
    fixed = {value.name for value in [*graph.inputs, *graph.outputs]} | set(weights)
    taken = {name for name in fixed if re.fullmatch(r"[tc]\d+(_\d+)?_*", name or "")}
    for number, value in enumerate(constants):  # first out of the way: a constant may hold the name that a node gets
        value.name = f"/constant/{number}"
    for number, node in enumerate(graph):
        node.name = f"n{number}"
        for port, value in enumerate(node.outputs):
            if value.name not in fixed:
                value.name = _free(f"t{number}" if port == 0 else f"t{number}_{port}", taken)
    for number, value in enumerate(constants):
        value.name = _free(f"c{number}", taken)
        value.const_value.name = value.name


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
