"""Graphs at the corners of a box of whole-number arguments → the graph anywhere in or around it, without tracing it.

Graphs of one model family with equal operators differ in whole numbers alone: dimensions, attributes, small constants. Each is taken
as multilinear in the arguments: width × tokens is, a square of one of them is not. What is not shows when a graph in
between is traced and compared; nothing here is trusted before that.
"""

import hashlib
import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

from nnirp.errors import NnirpError
from nnirp.graphs.batches import unshared

SMALL = 64
"""Elements up to which a whole-number constant's content is derived: shapes, axes, limits. Larger ones are tables and lose theirs."""
_WHOLE = (TensorProto.INT64, TensorProto.INT32)
Visit = Callable[[int], int]


class InterpolationError(NnirpError):
    """The graphs differ in more than whole numbers, or a number is not multilinear in the arguments."""


class Corners:
    """The 2^k graphs at the corners of a box.

    Args:
        low, high: k numbers each, the arguments at the two ends of every axis, different ones.
        graphs: one a corner, the last axis changing fastest, `low` before `high`.

    Raises:
        InterpolationError: the graphs differ in more than whole numbers.
    """

    def __init__(self, low: Sequence[int], high: Sequence[int], graphs: Sequence[onnx.ModelProto]) -> None:
        self.low, self.high = tuple(low), tuple(high)
        graphs = _comparable([unshared(graph) for graph in graphs])
        skeletons = {_skeleton(graph) for graph in graphs}
        if len(skeletons) > 1:
            raise InterpolationError("the graphs at the corners have other operators")
        self.template = graphs[0]
        self.numbers = np.array([_numbers(graph) for graph in graphs], dtype=np.int64)
        self.moving = np.flatnonzero((self.numbers != self.numbers[0]).any(axis=0))

    def at(self, point: Sequence[int]) -> onnx.ModelProto:
        """The graph at a point, outside the box as well.

        Raises:
            InterpolationError: a number would be no whole one or below its least value.
        """
        weights = [
            (Fraction(high - at, high - low), Fraction(at - low, high - low))
            for low, high, at in zip(self.low, self.high, point, strict=True)
        ]
        moving = self.numbers[:, self.moving].astype(object)
        total = np.zeros(len(self.moving), dtype=object)
        for corner, factors in zip(moving, itertools.product(*weights), strict=True):
            factor = Fraction(1)
            for part in factors:
                factor *= part
            if factor:
                total = total + corner * factor
        values = self.numbers[0].copy()
        for place, value in zip(self.moving, total, strict=True):
            if Fraction(value).denominator != 1:
                raise InterpolationError(f"a number of the graph is {value} at {tuple(point)}")
            values[place] = int(value)
        graph = onnx.ModelProto()
        graph.CopyFrom(self.template)
        given = iter(values.tolist())
        _visit(graph.graph, lambda _: next(given))
        return graph


def _numbers(model: onnx.ModelProto) -> list[int]:
    found: list[int] = []

    def note(value: int) -> int:
        found.append(value)
        return value

    _visit(model.graph, note)
    return found


def _visit(graph: onnx.GraphProto, visit: Visit) -> None:
    """Call `visit` with every whole number that may follow an argument and store what it returns, always in the same order."""
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            dim.dim_value = visit(dim.dim_value)
    for tensor in graph.initializer:
        _visit_tensor(tensor, visit)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.INT:
                attribute.i = visit(attribute.i)
            elif attribute.type == AttributeProto.INTS:
                attribute.ints[:] = [visit(i) for i in attribute.ints]
            elif attribute.type == AttributeProto.TENSOR:
                _visit_tensor(attribute.t, visit)
            elif attribute.type == AttributeProto.GRAPH:
                _visit(attribute.g, visit)


def _visit_tensor(tensor: TensorProto, visit: Visit) -> None:
    if _is_small(tensor):
        content = numpy_helper.to_array(tensor)
        changed = np.array([visit(int(v)) for v in content.reshape(-1)], dtype=content.dtype)
        if not np.array_equal(changed, content.reshape(-1)):
            tensor.CopyFrom(numpy_helper.from_array(changed.reshape(content.shape), tensor.name))
        return
    dims = [visit(d) for d in tensor.dims]
    if dims != list(tensor.dims):
        tensor.dims[:] = dims


def _is_small(tensor: TensorProto) -> bool:
    inline = tensor.data_location != TensorProto.EXTERNAL and tensor.data_type in _WHOLE
    return inline and len(tensor.dims) <= 1 and np.prod(tensor.dims) <= SMALL


def _comparable(graphs: list[onnx.ModelProto]) -> list[onnx.ModelProto]:
    """Constants that are no small whole numbers lose their content where it changes; those equal at every corner become one tensor."""
    places = [{t.name: t for t in graph.graph.initializer} for graph in graphs]
    if any(place.keys() != places[0].keys() for place in places):
        raise InterpolationError("the graphs at the corners have other constants")
    groups: dict[tuple[str, ...], str] = {}
    renamed: dict[str, str] = {}
    for name, first in places[0].items():
        tensors = [place[name] for place in places]
        whole = [_is_small(t) and list(t.dims) == list(first.dims) for t in tensors]
        if first.data_location == TensorProto.EXTERNAL or all(whole):
            continue
        keys = tuple(_digest(t) for t in tensors)
        shared = groups.setdefault(keys, name)
        renamed[name] = shared
        if len(set(keys)) > 1:
            for tensor in tensors:
                dims, kind = list(tensor.dims), tensor.data_type
                tensor.Clear()
                tensor.name, tensor.data_type, tensor.data_location = name, kind, TensorProto.EXTERNAL
                tensor.dims.extend(dims)
                tensor.external_data.add(key="location", value="weights")
    for graph in graphs:
        _share(graph.graph, renamed)
    return graphs


def _digest(tensor: TensorProto) -> str:
    content = numpy_helper.to_array(tensor)
    return hashlib.sha256(content.tobytes() + repr((content.shape, tensor.data_type)).encode()).hexdigest()


def _share(graph: onnx.GraphProto, renamed: dict[str, str]) -> None:
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
    kept = [t for t in graph.initializer if renamed.get(t.name, t.name) == t.name]
    contents = [t.SerializeToString() for t in kept]
    del graph.initializer[:]
    graph.initializer.extend(TensorProto.FromString(c) for c in contents)


def _skeleton(model: onnx.ModelProto) -> str:
    """Everything of a graph but its numbers, as a digest."""
    parts: list[object] = []

    def describe(graph: onnx.GraphProto) -> None:
        for value in (*graph.input, *graph.output, *graph.value_info):
            kind = value.type.tensor_type
            parts.append((value.name, kind.elem_type, len(kind.shape.dim)))
        for tensor in graph.initializer:
            length = list(tensor.dims) if _is_small(tensor) else len(tensor.dims)
            parts.append((tensor.name, tensor.data_type, tensor.data_location, length))
        for node in graph.node:
            attributes = [(a.name, a.type, len(a.ints), a.s) for a in node.attribute]
            parts.append((node.op_type, node.domain, list(node.input), list(node.output), attributes))
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    describe(attribute.g)

    describe(model.graph)
    return hashlib.sha256(repr(parts).encode()).hexdigest()
