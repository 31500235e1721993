"""One export for every batch size: a graph traced at a telling batch is rewritten for another, or refused when it cannot be told."""

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper, shape_inference

from nnirp.graphs.export import simplified_again, unresolved

CANDIDATES = (13, 11, 17, 19, 23, 29, 31, 37)
"""Batches to trace at: primes, which rarely divide a width, a number of heads or a resolution."""
SHAPE_INPUTS = {"Reshape": 1, "Expand": 1, "ConstantOfShape": 0, "Slice": 2, "Split": 1}
"""Operators with an input that holds sizes, and its position."""
MAX_SIZES = 16


def specialise_batch(model: onnx.ModelProto, from_batch: int, to_batch: int) -> onnx.ModelProto | None:
    """Rewrite a graph that was exported at one batch into the graph of another.

    Every size that is a multiple of `from_batch` is taken for the batch's, which is right when no weight and no other
    dimension of an input is such a multiple; the shapes inferred afterwards have to agree with that reading.

    Args:
        model: of `export_graph`; it is not changed.
        from_batch: the batch of `model`, a prime that `telling_batch` found for it.
        to_batch: the batch that is wanted.

    Returns:
        The graph as a direct export writes it, or none when the batch is baked in so that it cannot be told apart.
    """
    if from_batch < 2 or not _is_told_apart(model, from_batch):
        return None
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    for value in graph.input:
        shape = value.type.tensor_type.shape.dim
        if shape and shape[0].dim_value == from_batch:
            shape[0].dim_value = to_batch
    if not _rewrite_constants(graph, from_batch, to_batch):
        return None
    expected = {value.name: _scaled(_dims(value), from_batch, to_batch) for value in _values(graph)}
    del graph.value_info[:]
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        made = shape_inference.infer_shapes(made, strict_mode=True, data_prop=True)
    except Exception:
        return None
    if unresolved(made) or any(_dims(v) != expected[v.name] for v in _values(made.graph) if v.name in expected):
        return None
    return simplified_again(made)


def telling_batch(shapes: list[tuple[int, ...]]) -> int | None:
    """A batch that no size of a module's weights and inputs (without their batch) is a multiple of."""
    sizes = {size for shape in shapes for size in shape}
    return next((batch for batch in CANDIDATES if all(size % batch or size == 0 for size in sizes)), None)


def _is_told_apart(model: onnx.ModelProto, batch: int) -> bool:
    sizes = {size for t in model.graph.initializer if t.data_location == TensorProto.EXTERNAL for size in t.dims}
    leading = 0
    for value in model.graph.input:
        shape = _dims(value)
        leading += shape[:1] == (batch,)
        sizes |= set(shape[1:])
    return leading > 0 and all(size % batch for size in sizes if size)


def _rewrite_constants(graph: onnx.GraphProto, old: int, new: int) -> bool:
    constants = {t.name: t for t in graph.initializer if t.data_location != TensorProto.EXTERNAL}
    users = {name: [] for name in constants}
    for node in graph.node:
        for position, name in enumerate(node.input):
            if name in users:
                users[name].append((node.op_type, position))
    for name, tensor in constants.items():
        values = numpy_helper.to_array(tensor)
        holds_sizes = [SHAPE_INPUTS.get(operator) == position for operator, position in users[name]]
        if values.dtype == np.int64 and values.size <= MAX_SIZES and any(holds_sizes):
            changed = np.array([_scale(int(v), old, new) for v in values.ravel()], np.int64).reshape(values.shape)
            if not all(holds_sizes) and not np.array_equal(changed, values):
                return False
        elif any(size and size % old == 0 for size in values.shape):
            changed = _resized(values, old, new)
            if changed is None:
                return False
        elif values.ndim == 0 and values == old:
            return False
        else:
            continue
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(changed), name))
    return True


def _resized(values: np.ndarray, old: int, new: int) -> np.ndarray | None:
    """A table with a row a sample, all rows equal or counting, for another number of samples."""
    axes = [axis for axis, size in enumerate(values.shape) if size and size % old == 0]
    if len(axes) != 1 or values.shape[axes[0]] != old:
        return None
    rows = np.moveaxis(values, axes[0], 0)
    if (rows == rows[:1]).all():
        return np.moveaxis(np.repeat(rows[:1], new, axis=0), 0, axes[0])
    if values.dtype.kind == "i" and (rows.reshape(old, -1) == np.arange(old)[:, None]).all():
        counted = np.broadcast_to(np.arange(new).reshape(-1, *[1] * (rows.ndim - 1)), (new, *rows.shape[1:]))
        return np.moveaxis(counted, 0, axes[0]).astype(values.dtype)
    return None


def _scale(size: int, old: int, new: int) -> int:
    return size // old * new if size > 0 and size % old == 0 else size


def _scaled(shape: tuple[int, ...], old: int, new: int) -> tuple[int, ...]:
    return tuple(_scale(size, old, new) for size in shape)


def _values(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto]:
    yield from graph.value_info
    yield from graph.output


def _dims(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
