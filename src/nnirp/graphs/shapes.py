"""Shapes of graphs that come without them: symbolic dimensions pinned, then inferred, at last computed."""

import contextlib
import logging
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, inliner, shape_inference

from nnirp.errors import InputError
from nnirp.graphs.branches import fix_trip_counts, take_known_branches, take_larger_branches
from nnirp.graphs.export import is_static, unresolved
from nnirp.graphs.loops import complete_loops

log = logging.getLogger(__name__)
MAX_RUN_BYTES = 2**30
"""Largest inputs and weights for which ONNX Runtime is asked to load or run a graph."""
SIZE_FROM_VALUES = frozenset({"NonZero", "NonMaxSuppression", "Unique", "Compress", "StringSplit", "If", "Loop"})
"""Operators whose output sizes may depend on values: a size seen in one run says nothing of another."""


def complete_shapes(
    model: onnx.ModelProto,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    notes: list[str] | None = None,
) -> onnx.ModelProto:
    """A copy of a model with pinned inputs, functions inlined, and as many static shapes as the tools find.

    What stays open is what `nnirp.graphs.export.unresolved` lists. A branch whose condition follows from shapes, constants and
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
    while (left := len(unresolved(inferred))) and complete_loops(inferred):
        inferred = _branches_taken(_infer(inferred))
        if len(unresolved(inferred)) >= left:
            break
    for attempt in (_symbolic, _run, _optimised):
        left = len(unresolved(inferred))
        if not left:
            break
        better = attempt(inferred)
        if better is not None and len(unresolved(better)) < left:
            inferred = _branches_taken(better)
    return inferred


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


def _refuse_contradictions(model: onnx.ModelProto) -> None:
    """Say which operator's operands do not fit, where that is why shapes stay open; other causes are no fault of the file."""
    try:
        shape_inference.infer_shapes(model, strict_mode=True)
    except Exception as error:
        if "ncompatible dim" in str(error):
            raise InputError(
                f"the shapes contradict each other ({_line(error)}); check the batch and dimensions"
            ) from None


def _symbolic(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """ONNX Runtime's symbolic inference, which follows shape arithmetic that ONNX's own gives up on."""
    try:
        from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        # where it gives up it saves the graph into the current folder, which is the user's
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            found = SymbolicShapeInference.infer_shapes(copy, 2**31 - 1, True, False, 0)
    except Exception as error:
        log.debug("symbolic shape inference gave up: %s", error)
        return None
    return found and _merged(model, [*found.graph.value_info, *found.graph.output])


def _run(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """Shapes seen in one run on zeros, of the tensors whose size no operator derives from values."""
    graph = model.graph
    wanted = set(unresolved(model)) - _sized_by_values(graph)
    wanted &= {name for node in graph.node for name in node.output}
    if not wanted:
        return None
    probe = fill_absent(model)
    if probe is None:
        return None
    probe.graph.output.extend(
        onnx.ValueInfoProto(name=name) for name in sorted(wanted - {v.name for v in graph.output})
    )
    try:
        session = _session(probe)
        feeds = {value.name: _zeros(value) for value in session.get_inputs()}
        names = sorted(wanted)
        results = session.run(names, feeds)
    except Exception as error:
        log.debug("ONNX Runtime could not run the graph: %s", error)
        return None
    found = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, results, strict=True)
        if isinstance(array, np.ndarray) and array.dtype != object
    ]
    merged = _merged(model, found)
    try:
        return shape_inference.infer_shapes(merged, data_prop=True)
    except Exception as error:
        log.debug("shapes that were seen in a run contradict inference: %s", error)
        return None


def _optimised(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """A dump of ONNX Runtime's basic optimisation, in which shape arithmetic and constant conditions are computed."""
    probe = fill_absent(model)
    if probe is None:
        return None
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "optimised.onnx"
            _session(probe, path)
            dumped = onnx.load(path, load_external_data=False)
        return shape_inference.infer_shapes(dumped, data_prop=True)
    except Exception as error:
        log.debug("ONNX Runtime could not optimise the graph: %s", error)
        return None


def fill_absent(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """A copy with zeros for weights that are not there; none where weights or inputs are too large."""
    absent = [t for t in model.graph.initializer if t.data_location == TensorProto.EXTERNAL]
    sizes = [np.prod(t.dims, dtype=np.float64) * 8 for t in absent]
    sizes += [
        np.prod([d.dim_value for d in v.type.tensor_type.shape.dim], dtype=np.float64) * 8 for v in model.graph.input
    ]
    if sum(sizes) > MAX_RUN_BYTES:
        log.debug("too large to run for its shapes: %.1f GB", sum(sizes) / 1e9)
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            kind = helper.tensor_dtype_to_np_dtype(tensor.data_type)
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.zeros(tuple(tensor.dims), kind), tensor.name))
    return copy


def _session(model: onnx.ModelProto, dump: Path | None = None):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_BASIC if dump else level.ORT_DISABLE_ALL
    if dump:
        options.optimized_model_filepath = str(dump)
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _zeros(value) -> np.ndarray:
    name = value.type.removeprefix("tensor(").removesuffix(")")
    kinds = {"float": "float32", "double": "float64"}
    return np.zeros([int(size) for size in value.shape], kinds.get(name, name))


def _sized_by_values(graph: onnx.GraphProto) -> set[str]:
    """Tensors computed from one whose size depends on values."""
    found: set[str] = set()
    for node in graph.node:
        if node.op_type in SIZE_FROM_VALUES or any(name in found for name in node.input):
            found.update(node.output)
    return found


def _merged(model: onnx.ModelProto, values: Iterable[onnx.ValueInfoProto]) -> onnx.ModelProto:
    """A copy in which tensors without a static shape get the one that was found for them; the nodes stay as they are."""
    merged = onnx.ModelProto()
    merged.CopyFrom(model)
    graph = merged.graph
    found = {value.name: value for value in values if is_static(value.type)}
    for value in graph.output:
        if value.name in found and not is_static(value.type):
            value.CopyFrom(found[value.name])
    outputs = {value.name for value in graph.output}
    kept = [value for value in graph.value_info if value.name not in found or is_static(value.type)]
    have = {value.name for value in kept} | outputs
    del graph.value_info[:]
    graph.value_info.extend(kept)
    graph.value_info.extend(value for name, value in found.items() if name not in have)
    return merged


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
