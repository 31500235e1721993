"""Two exports of one model at two batches → its graph at any other batch, without tracing it again.

Between two batches of one model only whole numbers change: dimensions, attributes such as the shape of a `Reshape`, and the contents
of constants such as position indices or masks. Each is taken as a straight line in the batch, which two exports determine.
What is no straight line, or a graph with other nodes, is refused; the caller then exports directly.
"""

from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import numpy_helper

from nnirp.errors import NnirpError
from nnirp.graphs.export import FOLD_OUTPUT_LIMIT

USE = "/use/"
"""What the names of constants begin with while each is stored once a use."""


class BatchError(NnirpError):
    """The two graphs differ in more than whole numbers that follow the batch, or the batch is out of reach."""


def at_batch(first: onnx.ModelProto, second: onnx.ModelProto, batches: tuple[int, int], batch: int) -> onnx.ModelProto:
    """Return the graph at another batch.

    Args:
        first, second: exports of one model, which differ in the batch alone.
        batches: their batches, different and at least 2, so that no dimension was dropped or broadcast for being 1.
        batch: of the graph that is returned.

    Raises:
        BatchError: the graphs differ in a node, a name or a constant that does not follow the batch in a straight line, or a
            constant at `batch` is larger than what the exporter computes itself.
    """
    return shared(_Line(*batches, batch).model(unshared(first), unshared(second)))


def same_graph(first: onnx.ModelProto, second: onnx.ModelProto) -> bool:
    """Whether two graphs are equal but for the names of their constants and which of these are stored once."""
    return shared(unshared(first)) == shared(unshared(second))


def unshared(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose inline constants are stored once a use: equal contents at one batch may be different ones at another."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    outputs = {value.name for value in result.graph.output}
    constants: dict[str, onnx.TensorProto] = {}
    copies: list[onnx.TensorProto] = []

    def rename(name: str) -> str:
        if name not in constants:
            return name
        copy = onnx.TensorProto()
        copy.CopyFrom(constants[name])
        copy.name = f"{USE}{len(copies)}"
        copies.append(copy)
        return copy.name

    def visit(graph: onnx.GraphProto) -> None:
        kept = []
        for tensor in graph.initializer:
            if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.name in outputs:
                kept.append(tensor)
            else:
                constants[tensor.name] = tensor
        _rename_uses(graph, rename, visit)
        _set_initializers(graph, kept)
        described = [
            value for value in graph.value_info if value.name not in constants
        ]  # their type is their content's
        del graph.value_info[:]
        graph.value_info.extend(described)

    visit(result.graph)
    result.graph.initializer.extend(copies)
    return result


def shared(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of an unshared graph whose equal constants are stored once, named `c0`, `c1`, … in the order of their first use."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    constants = {t.name: t for t in result.graph.initializer if t.name.startswith(USE)}
    taken = {t.name for t in result.graph.initializer} | {v.name for v in (*result.graph.input, *result.graph.output)}
    taken |= {name for node in result.graph.node for name in node.output}
    found: dict[bytes, onnx.TensorProto] = {}

    def rename(name: str) -> str:
        if name not in constants:
            return name
        tensor = numpy_helper.from_array(numpy_helper.to_array(constants[name]))
        tensor.data_type = constants[name].data_type
        key = tensor.SerializeToString(deterministic=True)
        if key not in found:
            tensor.name = f"c{len(found)}"
            while tensor.name in taken:
                tensor.name += "_"
            found[key] = tensor
        return found[key].name

    def visit(graph: onnx.GraphProto) -> None:
        _rename_uses(graph, rename, visit)

    visit(result.graph)
    others = [t for t in result.graph.initializer if t.name not in constants]
    _set_initializers(result.graph, [*others, *found.values()])
    return result


def _rename_uses(
    graph: onnx.GraphProto, rename: Callable[[str], str], visit: Callable[[onnx.GraphProto], None]
) -> None:
    for node in graph.node:
        node.input[:] = [rename(name) for name in node.input]
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                visit(body)


def _set_initializers(graph: onnx.GraphProto, tensors: list[onnx.TensorProto]) -> None:
    kept = [tensor.SerializeToString() for tensor in tensors]  # the tensors may live in the list that is emptied
    del graph.initializer[:]
    graph.initializer.extend(onnx.TensorProto.FromString(content) for content in kept)


class _Line:
    """The straight line through two batches, and what it says of every part of a model."""

    def __init__(self, one: int, two: int, batch: int):
        if one == two or min(one, two) < 2:
            raise BatchError(f"batches {one} and {two}: expected two different ones, each at least 2")
        self.one, self.two, self.batch = one, two, batch

    def number(self, a: int, b: int, where: str) -> int:
        if a == b:
            return a
        slope, rest = divmod(b - a, self.two - self.one)
        if rest:
            raise BatchError(f"{where}: {a} and {b} are not on a straight line in whole numbers")
        return a + slope * (self.batch - self.one)

    def model(self, first: onnx.ModelProto, second: onnx.ModelProto) -> onnx.ModelProto:
        if first.functions or second.functions:
            raise BatchError("the model has local functions")
        result = onnx.ModelProto()
        result.CopyFrom(first)
        self.graph(result.graph, second.graph)
        return result

    def graph(self, graph: onnx.GraphProto, other: onnx.GraphProto) -> None:
        """Change a graph, equal to the first one, to what it is at the batch."""
        for a, b in _pairs(graph.node, other.node, "nodes"):
            if (a.op_type, a.domain, a.name) != (b.op_type, b.domain, b.name):
                raise BatchError(f"node {a.name}: {a.op_type} and {b.op_type}")
            if list(a.input) != list(b.input) or list(a.output) != list(b.output):
                raise BatchError(f"node {a.name} ({a.op_type}): other tensors")
            for left, right in _pairs(a.attribute, b.attribute, f"attributes of {a.name}"):
                self.attribute(left, right, f"{a.name} ({a.op_type}) {left.name}")
        for kind in ("input", "output", "value_info"):
            for a, b in _pairs(getattr(graph, kind), getattr(other, kind), kind):
                self.value(a, b)
        for a, b in _pairs(graph.initializer, other.initializer, "initialisers"):
            self.initializer(a, b)

    def attribute(self, a: onnx.AttributeProto, b: onnx.AttributeProto, where: str) -> None:
        if a.name != b.name or a.type != b.type:
            raise BatchError(f"{where}: another attribute")
        if a.type == onnx.AttributeProto.INT:
            a.i = self.number(a.i, b.i, where)
        elif a.type == onnx.AttributeProto.INTS:
            a.ints[:] = [self.number(x, y, where) for x, y in _pairs(a.ints, b.ints, where)]
        elif a.type == onnx.AttributeProto.GRAPH:
            self.graph(a.g, b.g)
        elif a.type == onnx.AttributeProto.TENSOR:
            a.t.CopyFrom(self.constant(a.t, b.t, where))
        elif a.SerializeToString(deterministic=True) != b.SerializeToString(deterministic=True):
            raise BatchError(f"{where}: values differ")

    def value(self, a: onnx.ValueInfoProto, b: onnx.ValueInfoProto) -> None:
        if a.name != b.name or a.type.tensor_type.elem_type != b.type.tensor_type.elem_type:
            raise BatchError(f"{a.name}: another name or type")
        for x, y in _pairs(a.type.tensor_type.shape.dim, b.type.tensor_type.shape.dim, a.name):
            x.dim_value = self.number(x.dim_value, y.dim_value, a.name)

    def initializer(self, a: onnx.TensorProto, b: onnx.TensorProto) -> None:
        if a.name != b.name or a.data_location != b.data_location:
            raise BatchError(f"{a.name}: another initialiser")
        if a.data_location != onnx.TensorProto.EXTERNAL:
            a.CopyFrom(self.constant(a, b, a.name))
        elif a.SerializeToString(deterministic=True) != b.SerializeToString(deterministic=True):
            raise BatchError(f"weight {a.name} has another shape")

    def constant(self, a: onnx.TensorProto, b: onnx.TensorProto, where: str) -> onnx.TensorProto:
        if a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True):
            return a
        if a.data_type != b.data_type or len(a.dims) != len(b.dims):
            raise BatchError(f"{where}: constants of another type or rank")
        dims = [self.number(x, y, where) for x, y in zip(a.dims, b.dims, strict=True)]
        if np.prod(dims) > FOLD_OUTPUT_LIMIT:
            raise BatchError(f"{where}: the constant has more than {FOLD_OUTPUT_LIMIT} elements at batch {self.batch}")
        content = self.content(numpy_helper.to_array(a), numpy_helper.to_array(b), tuple(dims), where)
        made = numpy_helper.from_array(content, a.name)
        made.data_type = a.data_type
        return made

    def content(self, a: np.ndarray, b: np.ndarray, dims: tuple[int, ...], where: str) -> np.ndarray:
        """The content of a constant: equal numbers stay, whole ones follow the line, an axis of the batch repeats or counts on."""
        axes = [axis for axis, (x, y) in enumerate(zip(a.shape, b.shape, strict=True)) if x != y]
        if not axes:
            if a.dtype.kind not in "iu":
                raise BatchError(f"{where}: a constant that is not of whole numbers changes with the batch")
            return self.line(a.astype(np.int64), b.astype(np.int64), where).astype(a.dtype)
        if len(axes) > 1:
            raise BatchError(f"{where}: a constant with two axes of the batch")
        (axis,) = axes
        if a.shape[axis] * self.two != b.shape[axis] * self.one:
            raise BatchError(f"{where}: an axis of {a.shape[axis]} and {b.shape[axis]} is not a multiple of the batch")
        width = a.shape[axis] // self.one
        split = (*a.shape[:axis], self.one, width, *a.shape[axis + 1 :])
        other = (*b.shape[:axis], self.two, width, *b.shape[axis + 1 :])
        a, b = np.moveaxis(a.reshape(split), axis, 0), np.moveaxis(b.reshape(other), axis, 0)
        start = a[:1]
        if np.array_equal(a, np.broadcast_to(start, a.shape)) and np.array_equal(b, np.broadcast_to(start, b.shape)):
            made = np.repeat(start, self.batch, axis=0)
        else:
            made = self.counted(a, b, where)
        return np.moveaxis(made, 0, axis).reshape(dims)

    def counted(self, a: np.ndarray, b: np.ndarray, where: str) -> np.ndarray:
        """Indices that count on from one entry of the batch to the next, [batch, …]."""
        if a.dtype.kind not in "iu":
            raise BatchError(f"{where}: a constant that is not of whole numbers differs between entries of the batch")
        a, b = a.astype(np.int64), b.astype(np.int64)
        steps_a, steps_b = np.diff(a, axis=0), np.diff(b, axis=0)
        same_steps = np.array_equal(steps_a, np.broadcast_to(steps_a[:1], steps_a.shape))
        if not same_steps or not np.array_equal(steps_b, np.broadcast_to(steps_b[:1], steps_b.shape)):
            raise BatchError(f"{where}: a constant with no regular step between entries of the batch")
        start, step = self.line(a[0], b[0], where), self.line(steps_a[0], steps_b[0], where)
        return start + step * np.arange(self.batch).reshape(-1, *[1] * start.ndim)

    def line(self, a: np.ndarray, b: np.ndarray, where: str) -> np.ndarray:
        slope, rest = np.divmod(b - a, self.two - self.one)
        if rest.any():
            raise BatchError(f"{where}: whole numbers that are not on a straight line")
        return a + slope * (self.batch - self.one)


def _pairs(a, b, where: str) -> Iterator[tuple]:
    if len(a) != len(b):
        raise BatchError(f"{where}: {len(a)} and {len(b)} of them")
    return zip(a, b, strict=True)
