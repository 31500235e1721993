"""Shapes of graphs that come without them: symbolic dimensions pinned, then inferred, at last computed."""

import logging
from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, inliner, shape_inference

from nnirp.errors import InputError
from nnirp.graphs.branches import fix_trip_counts, take_known_branches, take_larger_branches
from nnirp.graphs.loops import complete_loops
from nnirp.graphs.probing import probe
from nnirp.graphs.static import is_static, unresolved

log = logging.getLogger(__name__)
MAX_RANK = 4096
"""Longest shape operand that inference is asked about; ONNX's own makes an output of as many dimensions, and fills memory."""
SHAPE_OPERAND = {"ConstantOfShape": 0, "Expand": 1, "Reshape": 1, "Tile": 1}


def complete_shapes(
    model: onnx.ModelProto,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    notes: list[str] | None = None,
) -> onnx.ModelProto:
    """A copy of a model with pinned inputs, functions inlined, and as many static shapes as the tools find.

    What stays open is what `nnirp.graphs.static.unresolved` lists. A branch whose condition follows from shapes, constants and
    pinned values takes the place of its `If`; where a condition does not follow and shapes inside stay open, the branch with
    more operators does.

    Args:
        model: as `read_onnx` returns it; it is not changed.
        batch: size of an input's first dimension where that is not a number, and of every dimension of the same name.
        dims: sizes of other dimensions, by their name, or as `input[1]` where they have none; for an input that is one
            whole number (a sampling rate that chooses a branch), by the input's name, its value.
        notes: gets a line for every branch that was assumed to be taken.

    Raises:
        InputError: an input has a symbolic dimension that neither argument pins, or shapes contradict each other.
    """
    pinned = onnx.ModelProto()
    pinned.CopyFrom(model)
    if pinned.functions:
        pinned = _inline(pinned)
    _pin_values(pinned.graph, dims or {})
    _pin_inputs(pinned.graph, batch, dict(dims or {}))
    _forget_open_shapes(pinned.graph)
    _refuse_endless_ranks(pinned.graph)
    inferred = _inferred(pinned)
    while unresolved(inferred) and (assumed := take_larger_branches(inferred, unresolved(inferred))):
        inferred = _inferred(inferred)
        if notes is not None:
            notes += assumed
    fix_trip_counts(inferred)
    if left := len(unresolved(inferred)):
        _refuse_contradictions(inferred)
        log.debug("%d tensors keep an unknown shape, first %s", left, unresolved(inferred)[0])
    return inferred


def _inferred(model: onnx.ModelProto) -> onnx.ModelProto:
    """Every means of inference in turn, as long as tensors are open; each may make a condition known that opens a branch."""
    inferred = _branches_taken(_infer(model))
    for better in (_with_loops, probe):
        while left := len(unresolved(inferred)):
            found = better(inferred)
            if found is None or len(unresolved(found)) >= left:
                break
            inferred = _branches_taken(found)
    return inferred


def _with_loops(model: onnx.ModelProto) -> onnx.ModelProto | None:
    return _infer(model) if complete_loops(model) else None


def _branches_taken(model: onnx.ModelProto) -> onnx.ModelProto:
    while take_known_branches(model):
        model = _infer(model)
    return model


def symbolic_inputs(model: onnx.ModelProto) -> list[str]:
    """Names of the inputs that are not static."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in weights and not is_static(value.type)]


def _pin_values(graph: onnx.GraphProto, values: Mapping[str, int]) -> None:
    """Whole-number inputs of one element whose value is given become constants."""
    weights = {tensor.name for tensor in graph.initializer}
    for value in [v for v in graph.input if v.name in values and v.name not in weights]:
        kind = value.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        if kind.elem_type in (TensorProto.INT64, TensorProto.INT32) and all(size == 1 for size in shape):
            number = np.full(shape, values[value.name], helper.tensor_dtype_to_np_dtype(kind.elem_type))
            graph.initializer.append(onnx.numpy_helper.from_array(number, value.name))
            graph.input.remove(value)


def _pin_inputs(graph: onnx.GraphProto, batch: int | None, sizes: dict[str, int]) -> None:
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [v for v in graph.input if v.name not in weights and v.type.HasField("tensor_type")]
    for value in inputs:
        if not value.type.tensor_type.HasField("shape"):
            raise InputError(f"input {value.name!r} has no shape at all; export it again with its shape")
    if batch is not None:
        for value in inputs:
            shape = value.type.tensor_type.shape.dim
            if shape and shape[0].dim_param.strip("?"):
                sizes.setdefault(shape[0].dim_param, batch)
    missing_batch, missing = [], []
    for value in inputs:
        for position, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.WhichOneof("value") == "dim_value" and dim.dim_value > 0:
                continue
            place = f"{value.name}[{position}]"
            size = sizes.get(dim.dim_param) if dim.dim_param else None
            size = sizes.get(place, size)
            if size is None and position == 0:
                size = batch
            if size is not None:
                dim.dim_value = size
            elif position == 0:
                missing_batch.append(f"{value.name!r} ({dim.dim_param.strip('?') or 'unnamed'})")
            else:
                missing.append(dim.dim_param.strip("?") or place)
    if missing_batch:
        raise InputError(f"input {missing_batch[0]} has a symbolic batch dimension: give its size with `--batch 1`")
    if missing:
        named = ", ".join(dict.fromkeys(missing))
        raise InputError(f"symbolic dimensions without a size: {named}; give each with `--dim {missing[0]}=SIZE`")


def _forget_open_shapes(graph: onnx.GraphProto) -> None:
    """Drop intermediate shapes with an open dimension, which inference would merge with; those in numbers stay."""
    kept = [value for value in graph.value_info if is_static(value.type) and not _has_unknown(value)]
    del graph.value_info[:]
    graph.value_info.extend(kept)
    for value in graph.output:
        if value.type.HasField("tensor_type") and (not is_static(value.type) or _has_unknown(value)):
            value.type.tensor_type.ClearField("shape")


def _has_unknown(value: onnx.ValueInfoProto) -> bool:
    return any(dim.dim_value < 0 for dim in value.type.tensor_type.shape.dim)


def _inline(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:
        raise InputError(f"its local functions cannot be inlined ({_line(error)}); check the exporter") from None


def _infer(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    except Exception as error:
        raise InputError(f"the shapes contradict each other ({_line(error)}); check the batch and dimensions") from None


def _refuse_endless_ranks(graph: onnx.GraphProto) -> None:
    """Refuse an operand that gives a shape, and is declared with more elements than a shape can have."""
    lengths = {t.name: t.dims[0] for t in graph.initializer if len(t.dims) == 1}
    for value in (*graph.input, *graph.value_info):
        if len(value.type.tensor_type.shape.dim) == 1:
            lengths[value.name] = value.type.tensor_type.shape.dim[0].dim_value
    for node in graph.node:
        place = SHAPE_OPERAND.get(node.op_type)
        if place is not None and place < len(node.input) and lengths.get(node.input[place], 0) > MAX_RANK:
            raise InputError(
                f"{node.op_type} {node.name!r} takes a shape of {lengths[node.input[place]]} dimensions, at most {MAX_RANK} are "
                "read; check the file"
            )


def _refuse_contradictions(model: onnx.ModelProto) -> None:
    """Say which operator's operands do not fit, where that is why shapes stay open; other causes are no fault of the file."""
    try:
        shape_inference.infer_shapes(model, strict_mode=True)
    except Exception as error:
        if "ncompatible dim" in str(error):
            raise InputError(
                f"the shapes contradict each other ({_line(error)}); check the batch and dimensions"
            ) from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
