"""A graph as plain lists, parsed from the protobuf once: tensors are integers, types and attributes are interned.

Deep networks repeat their blocks, so element types with shapes and attribute lists are stored once and referred to by
number; equal numbers mean equal costs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.inliner import inline_local_functions

from nnirp.errors import InputError

ABSENT = -1
MAX_ELEMENTS = 1 << 50
_DEFAULT_DOMAINS = frozenset(("", "ai.onnx", "ai.onnx.ml", "com.microsoft"))
CONTROL_FLOW = frozenset(("If", "Loop", "Scan", "SequenceMap"))


class Node(NamedTuple):
    """One operator call; tensors by number, `ABSENT` for an optional operand that is not given."""

    op: str
    attributes: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass
class Body:
    """A sub-graph of a control-flow operator, its tensors numbered in the same space as the graph around it."""

    inputs: list[int]
    nodes: list[Node]
    outputs: list[int]


@dataclass
class Graph:
    """Nodes in file order and their tensors.

    `types[t]` is (ONNX element type, shape); a shape of None or a dimension of -1 is not known. `tensor_type[i]` indexes
    `types`. `is_constant[i]` is true for weights and constants. `storage[i]` is the tensor whose memory a constant uses.
    """

    nodes: list[Node] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    types: list[tuple[int, tuple[int, ...] | None]] = field(default_factory=list)
    attributes: list[dict[str, Any]] = field(default_factory=list)
    tensor_type: list[int] = field(default_factory=list)
    is_constant: list[bool] = field(default_factory=list)
    storage: dict[int, int] = field(default_factory=dict)
    values: dict[int, Callable[[], np.ndarray]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    type_index: dict[tuple[int, tuple[int, ...] | None], int] = field(default_factory=dict)
    in_order: bool = True

    def type_of(self, dtype: int, shape: tuple[int, ...] | None) -> int:
        key = (dtype, shape)
        number = self.type_index.get(key)
        if number is None:
            number = self.type_index[key] = len(self.types)
            self.types.append(key)
        return number

    def add_tensor(self, type_number: int, constant: bool = False, name: str = "") -> int:
        self.tensor_type.append(type_number)
        self.is_constant.append(constant)
        self.names.append(name)
        return len(self.tensor_type) - 1

    def shape(self, tensor: int) -> tuple[int, ...] | None:
        return self.types[self.tensor_type[tensor]][1]

    def dtype(self, tensor: int) -> int:
        return self.types[self.tensor_type[tensor]][0]

    def value(self, tensor: int) -> np.ndarray | None:
        """The value of a constant whose data is in the file, or None."""
        read = self.values.get(tensor)
        return None if read is None else read()

    def is_static(self, tensor: int) -> bool:
        shape = self.shape(tensor)
        return shape is not None and min(shape, default=0) >= 0

    def bodies(self) -> list[Body]:
        """All sub-graphs, those inside others too."""
        return [v for values in self.attributes for v in values.values() if isinstance(v, Body)]

    def body_reads(self) -> list[set[int]]:
        return [{t for node in body.nodes for t in node.inputs}.union(body.outputs) for body in self.bodies()]

    def used_tensors(self) -> set[int]:
        """Tensors that nodes read or write, inside sub-graphs too."""
        groups = [self.nodes, *(body.nodes for body in self.bodies())]
        used = {t for nodes in groups for node in nodes for t in (*node.inputs, *node.outputs)}
        used.discard(ABSENT)
        return used

    def root(self, tensor: int) -> int:
        while (parent := self.storage.get(tensor, tensor)) != tensor:
            tensor = parent
        return tensor


def parse(model: onnx.ModelProto) -> Graph:
    """Read the nodes, types and attributes of a model; local functions are inlined, sub-graphs become `Body`s.

    Raises:
        InputError: local functions call each other in a circle or with operands that they do not have, a node has no output, or
            a tensor has more than `MAX_ELEMENTS` elements.
    """
    if model.functions:
        try:
            model = inline_local_functions(model)
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"its local functions cannot be inlined ({reason}); check the exporter") from None
    graph = Graph()
    graph.type_of(0, None)
    graph.attributes.append({})
    parser = _Parser(graph)
    body = parser.body(model.graph, {})
    graph.inputs, graph.nodes, graph.outputs = body.inputs, body.nodes, body.outputs
    graph.in_order = parser.in_order
    for dtype, shape in graph.types:
        if shape and prod(abs(size) for size in shape) > MAX_ELEMENTS:
            raise InputError(
                f"a tensor of type {dtype} has the shape {list(shape)}; more than {MAX_ELEMENTS} elements fit no machine, check the file"
            )
    return graph


class _Parser:
    """Holds the caches of one parse: serialised type → type number, serialised attributes → attribute number."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.type_cache: dict[bytes, int] = {}
        self.attribute_cache: dict[bytes, int] = {}
        self.in_order = True

    def _value_types(self, proto: onnx.GraphProto) -> dict[str, int]:
        cache, types = self.type_cache, {}
        for values in (proto.value_info, proto.input, proto.output):
            for value in values:
                kind = value.type
                key = kind.SerializeToString()
                number = cache.get(key)
                if number is None:
                    number = cache[key] = self._read_type(kind)
                types[value.name] = number
        return types

    def _read_type(self, kind: onnx.TypeProto) -> int:
        tensor = kind.tensor_type
        if not tensor.HasField("shape"):
            return self.graph.type_of(tensor.elem_type, None)
        dims = tuple(d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim)
        return self.graph.type_of(tensor.elem_type, dims)

    def body(self, proto: onnx.GraphProto, outer: dict[str, int]) -> Body:
        graph = self.graph
        types = self._value_types(proto)
        known, local = dict(outer), {}

        def define(name: str, type_number: int, constant: bool = False) -> int:
            tensor = local.get(name)
            if tensor is None:
                tensor = graph.add_tensor(type_number, constant, name)
            else:
                graph.tensor_type[tensor], graph.is_constant[tensor] = type_number, constant
            known[name] = local[name] = tensor
            return tensor

        for weight in proto.initializer:
            tensor = define(weight.name, graph.type_of(weight.data_type, tuple(weight.dims)), True)
            if weight.data_location != onnx.TensorProto.EXTERNAL:
                graph.values[tensor] = _reader(weight)
        for sparse in proto.sparse_initializer:
            define(sparse.values.name, graph.type_of(sparse.values.data_type, tuple(sparse.dims)), True)
        inputs = [define(v.name, types[v.name]) for v in proto.input if v.name not in local]

        produced = set(known)
        nodes: list[Node] = []
        tensor_type, is_constant, names = graph.tensor_type, graph.is_constant, graph.names
        for node in proto.node:
            op = node.op_type
            if op == "Constant":
                self._constant(node, define)
                produced.add(node.output[0])
                continue
            operands = []
            for name in node.input:
                if not name:
                    operands.append(ABSENT)
                    continue
                tensor = known.get(name)
                if tensor is None:  # used before it is produced: the file is not in topological order
                    tensor = define(name, types.get(name, 0))
                if name not in produced:
                    self.in_order = False
                operands.append(tensor)
            results = []
            for name in node.output:
                if not name:
                    results.append(ABSENT)
                    continue
                tensor = local.get(name)
                if tensor is None:
                    tensor = len(tensor_type)
                    tensor_type.append(types.get(name, 0))
                    is_constant.append(False)
                    names.append(name)
                    known[name] = local[name] = tensor
                produced.add(name)
                results.append(tensor)
            if node.domain not in _DEFAULT_DOMAINS:
                op = f"{node.domain}.{op}"
            number = 0
            if op in CONTROL_FLOW:
                number = self._control(node, known)
            elif node.attribute:
                number = self._attributes(node)
            nodes.append(Node(op, number, tuple(operands), tuple(results)))
        outputs = [known[v.name] if v.name in known else define(v.name, types[v.name]) for v in proto.output]
        return Body(inputs, nodes, outputs)

    def _constant(self, node: onnx.NodeProto, define: Callable[..., int]) -> None:
        if not node.attribute:
            define(node.output[0], 0, True)
            return
        attribute = node.attribute[0]
        if attribute.name == "value":
            weight = attribute.t
            number = self.graph.type_of(weight.data_type, tuple(weight.dims))
            tensor = define(node.output[0], number, True)
            if weight.data_location != onnx.TensorProto.EXTERNAL:
                self.graph.values[tensor] = _reader(weight)
            return
        value = np.asarray(onnx.helper.get_attribute_value(attribute))
        if value.dtype == np.float64:
            value = value.astype(np.float32)
        kind = (
            onnx.helper.np_dtype_to_tensor_dtype(value.dtype) if value.dtype.kind in "if" else onnx.TensorProto.STRING
        )
        tensor = define(node.output[0], self.graph.type_of(kind, value.shape), True)
        self.graph.values[tensor] = lambda: value

    def _attributes(self, node: onnx.NodeProto) -> int:
        key = b"".join(sorted(a.SerializeToString() for a in node.attribute))
        number = self.attribute_cache.get(key)
        if number is None:
            number = self.attribute_cache[key] = len(self.graph.attributes)
            values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            # a string that is no text, which only operators from elsewhere have, says nothing of a cost
            self.graph.attributes.append(
                {k: v.decode(errors="replace") if isinstance(v, bytes) else v for k, v in values.items()}
            )
        return number

    def _control(self, node: onnx.NodeProto, known: dict[str, int]) -> int:
        values: dict[str, Any] = {}
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                values[attribute.name] = self.body(attribute.g, known)
            else:
                values[attribute.name] = onnx.helper.get_attribute_value(attribute)
        self.graph.attributes.append(values)
        return len(self.graph.attributes) - 1


def _reader(tensor: onnx.TensorProto) -> Callable[[], np.ndarray | None]:
    def read() -> np.ndarray | None:
        try:
            return numpy_helper.to_array(tensor)
        except (ValueError, TypeError):  # a tensor without its data
            return None

    return read
