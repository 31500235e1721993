"""One of nn-Meter's TensorFlow graphs as the channels-first, weight-free ONNX graph of the same network."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import onnx
from onnx import TensorProto, helper

from nnirp.errors import InputError
from nnirp.graphs.export import OPSET, WEIGHTS_FILE
from nnirp.importers.nn_meter_source import OperatorGraph

Shape = tuple[int, ...]
INPUT = "input"
IR_VERSION = 10  # that of ONNX 1.16, which every runtime of the project reads


class UnmappedError(InputError):
    """A node that has no counterpart here; `operator` names its kind."""

    def __init__(self, number: int, operator: str, reason: str) -> None:
        super().__init__(f"node {number}, {operator}: {reason}")
        self.operator = operator


@dataclass(frozen=True)
class Tensor:
    """A tensor of the ONNX graph, channels in the second place; a constant of the source is written where it is read as data."""

    name: str
    shape: Shape
    constant: bool = False


STATIC_SHAPE = Tensor("", ())
"""What `StridedSlice` and `Pack` compute of sizes that are all known: it becomes the constant operand of a `Reshape`."""


class Mapped(NamedTuple):
    """A graph in ONNX, and its edges counted by (producer's operator, consumer's operator)."""

    model: onnx.ModelProto
    bigrams: Counter[tuple[str, str]]


@dataclass
class Builder:
    """An ONNX graph that grows node by node. `tensors[i]` are the results of the source's node i."""

    source: OperatorGraph
    model: onnx.ModelProto = field(default_factory=onnx.ModelProto)
    tensors: list[list[Tensor]] = field(default_factory=list)
    operands: list[list[int]] = field(default_factory=list)
    consumers: list[list[int]] = field(default_factory=list)
    shapes: dict[Shape, str] = field(default_factory=dict)
    numbers: dict[float, str] = field(default_factory=dict)
    made_by: dict[str, str] = field(default_factory=dict)
    bigrams: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.graph = self.model.graph
        self.operands = [[] for _ in self.source.op]
        self.consumers = [[] for _ in self.source.op]
        for producer, consumer in self.source.edges:
            self.operands[consumer].append(producer)
            self.consumers[producer].append(consumer)

    def inputs(self, number: int) -> list[Tensor]:
        """The operands of a node in the order of its edges; of a node with several results each consumer has one."""
        found = []
        for producer in self.operands[number]:
            results = self.tensors[producer]
            port = self.consumers[producer].index(number) if len(results) > 1 else 0
            found.append(results[port])
        return found

    def data(self, number: int, count: int) -> list[Tensor]:
        """The operands of a node that takes this many tensors.

        Raises:
            UnmappedError: it has another number of operands, or one of them is a static shape.
        """
        found = self.inputs(number)
        if len(found) != count or STATIC_SHAPE in found:
            raise self.unmapped(number, f"has {len(found)} operands, expected {count} tensors")
        return found

    def emit(
        self, number: int, op: str, inputs: Sequence[str], shapes: Sequence[Shape], attributes: tuple = ()
    ) -> list[Tensor]:
        """Add an ONNX node for a node of the source; its results, float32 of these shapes."""
        names = [f"t{number}"] if len(shapes) == 1 else [f"t{number}_{port}" for port in range(len(shapes))]
        self.graph.node.add(
            name=f"n{number}", op_type=op, input=inputs, output=names, attribute=_attributes(attributes)
        )
        for name in inputs:
            if name in self.made_by:
                self.bigrams[self.made_by[name], op] += 1
        self.made_by |= dict.fromkeys(names, op)
        return [Tensor(name, shape) for name, shape in zip(names, shapes, strict=True)]

    def weight(self, number: int, role: str, shape: Shape) -> str:
        """Add an initialiser without a value; its name."""
        tensor = self.graph.initializer.add()
        tensor.CopyFrom(_weight(shape))
        tensor.name = f"n{number}.{role}"
        return tensor.name

    def shape_operand(self, shape: Shape) -> str:
        """The name of a constant that holds this shape."""
        if shape not in self.shapes:
            self.shapes[shape] = "x".join(["shape", *map(str, shape)])
            self.graph.initializer.append(
                helper.make_tensor(self.shapes[shape], TensorProto.INT64, [len(shape)], shape)
            )
        return self.shapes[shape]

    def scalar(self, value: float) -> str:
        """The name of a constant number."""
        if value not in self.numbers:
            self.numbers[value] = f"number_{value:g}"
            self.graph.initializer.append(helper.make_tensor(self.numbers[value], TensorProto.FLOAT, [], [value]))
        return self.numbers[value]

    def unmapped(self, number: int, reason: str) -> UnmappedError:
        return UnmappedError(number, self.source.op[number], reason)

    def finish(self) -> Mapped:
        """The model: what nobody reads is its output; every tensor has a static shape."""
        outputs = {
            tensor.name
            for number, results in enumerate(self.tensors)
            if not self.consumers[number]
            for tensor in results
            if tensor.name and not tensor.constant
        }
        seen: set[str] = set()
        for results in self.tensors:
            for tensor in results:
                if not tensor.name or tensor.constant or tensor.name in seen:
                    continue
                seen.add(tensor.name)
                place = self.graph.output if tensor.name in outputs else self.graph.value_info
                kind = self.graph.input if tensor.name == INPUT else place
                kind.add(name=tensor.name, type=tensor_type(tensor.shape))
        self.graph.name = "nn-meter"
        self.model.ir_version, self.model.producer_name = IR_VERSION, "nnirp"
        self.model.opset_import.append(helper.make_opsetid("", OPSET))
        return Mapped(self.model, self.bigrams)


def to_onnx(source: OperatorGraph) -> Mapped:
    """Map every node of a graph.

    Weights are initialisers without a value, as in the project's own exports; constants become operands or attributes, and the
    arithmetic of static shapes disappears. Sizes are followed from the input on and compared with the table's.

    Raises:
        UnmappedError: a node has no counterpart, or its sizes are not what its operands give.
    """
    from nnirp.importers.nn_meter_operators import RULES

    builder = Builder(source)
    for number, op in enumerate(source.op):
        rule = RULES.get(op)
        if rule is None:
            raise builder.unmapped(number, "there is no rule for this operator")
        results = rule(builder, number)
        builder.tensors.append(results)
        _check_size(builder, number, results[0])
    return builder.finish()


def channels_first(shape: Sequence[int]) -> Shape:
    """A shape of the tables, [N, H, W, C] or [N, H, W, A, B] padded with zeros, with the channels in the second place.

    A batch of −1 is 1.
    """
    sizes = [abs(size) for size in shape]
    while sizes and sizes[-1] == 0:
        sizes.pop()
    return (sizes[0], *sizes[3:], *sizes[1:3]) if len(sizes) > 3 else tuple(sizes)


def _check_size(builder: Builder, number: int, result: Tensor) -> None:
    """The table's size against the one that was followed.

    The table gives what the first reader makes of a result, which differs in two places: before the global mean the size is
    that of the mean, and a gate of one value a channel has the size of what it is multiplied with.
    """
    stated = channels_first(builder.source.outputs[number])
    if result is STATIC_SHAPE or result.constant or stated == result.shape:
        return
    readers = {builder.source.op[consumer] for consumer in builder.consumers[number]}
    if len(result.shape) == 4 and stated[:2] == result.shape[:2]:
        if len(stated) == 2 and "Mean" in {builder.source.op[number], *readers}:
            return
        if result.shape[2:] == (1, 1) and readers & {"Add", "Mul"}:
            return
    raise builder.unmapped(number, f"its result is {list(stated)} in the table, {list(result.shape)} by its operands")


@lru_cache(maxsize=4096)
def _attributes(attributes: tuple[tuple[str, Any], ...]) -> list[onnx.AttributeProto]:
    return [helper.make_attribute(name, value) for name, value in attributes]


@lru_cache(maxsize=65536)
def tensor_type(shape: Shape) -> onnx.TypeProto:
    """The type of a float32 tensor."""
    return helper.make_tensor_type_proto(TensorProto.FLOAT, shape)


@lru_cache(maxsize=65536)
def _weight(shape: Shape) -> onnx.TensorProto:
    """A float32 initialiser whose data are in a file that does not exist, as in an export without weights."""
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    elements = 1
    for size in shape:
        elements *= size
    for key, value in (("location", WEIGHTS_FILE), ("offset", 0), ("length", 4 * elements)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor
