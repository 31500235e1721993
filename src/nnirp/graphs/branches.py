"""Control flow whose course is known before a run: conditions and trip counts computed, the branch taken put in place of its `If`."""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from nnirp.graphs.static import is_static

log = logging.getLogger(__name__)
MAX_ELEMENTS = 1024
"""Conditions and trip counts are computed from shapes and scalars; anything larger is data."""
MAX_SLICE = 500
COMPUTED = frozenset(
    [
        "Abs",
        "Add",
        "And",
        "Cast",
        "Ceil",
        "Concat",
        "Constant",
        "Div",
        "Equal",
        "Floor",
        "Gather",
        "Greater",
        "GreaterOrEqual",
        "Identity",
        "Less",
        "LessOrEqual",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "Reshape",
        "Shape",
        "Size",
        "Slice",
        "Squeeze",
        "Sub",
        "Unsqueeze",
        "Where",
        "Xor",
    ]
)
"""Operators that shape arithmetic and conditions are written in; none makes a tensor larger than the product of its operands."""


class _Index(NamedTuple):
    """Where the tensors of a main graph come from."""

    makers: dict[str, onnx.NodeProto]
    weights: dict[str, onnx.TensorProto]
    kinds: dict[str, onnx.TypeProto]


def _index(graph: onnx.GraphProto) -> _Index:
    return _Index(
        {output: node for node in graph.node for output in node.output if output},
        {tensor.name: tensor for tensor in graph.initializer},
        {value.name: value.type for value in [*graph.value_info, *graph.input, *graph.output]},
    )


def known_value(model: onnx.ModelProto, name: str, index: _Index | None = None) -> np.ndarray | None:
    """The value of a tensor of the main graph that depends on constants and static shapes alone; None where it does not.

    Args:
        model: with whatever shapes are known in its value_info.
        name: a tensor.
        index: of the model's graph, where many values are asked for.
    """
    try:
        constants, nodes = _slice(index or _index(model.graph), name)
    except LookupError:
        return None
    try:
        for node in nodes:
            constants |= _computed(model, node, constants)
    except (
        Exception
    ) as error:  # an operator that is used against its definition, or on more than a shape: it stays open
        log.debug("%s could not be computed: %s", name, error)
        return None
    return constants.get(name)


def _computed(model: onnx.ModelProto, node: onnx.NodeProto, constants: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The results of one node. LookupError where an operand is larger than shape arithmetic needs, so that none grows without end."""
    from onnx.reference import ReferenceEvaluator

    operands = {name: constants[name] for name in node.input if name}
    if any(value.size > MAX_ELEMENTS or value.ndim > 2 for value in operands.values()):
        raise LookupError(node.op_type)
    outputs = [name for name in node.output if name]
    weights = [numpy_helper.from_array(value, name) for name, value in operands.items()]
    made = helper.make_graph([node], "node", [], [onnx.ValueInfoProto(name=name) for name in outputs], weights)
    results = ReferenceEvaluator(helper.make_model(made, opset_imports=model.opset_import)).run(None, {})
    return {name: np.asarray(value) for name, value in zip(outputs, results, strict=True)}


def take_known_branches(model: onnx.ModelProto) -> bool:
    """Put the branch in place of every `If` of the main graph whose condition is known, in place; whether there was one."""
    if not any(node.op_type == "If" for node in model.graph.node):
        return False
    index = _index(model.graph)
    return _replace(model, lambda node: _chosen(model, node, index))


def take_larger_branches(model: onnx.ModelProto, open_tensors: Iterable[str]) -> list[str]:
    """Put the branch with more operators in place of the main graph's `If`s that hold an open tensor, in place; a note for each.

    The condition becomes an output: it is still computed.
    """
    notes: list[str] = []
    wanted = set(open_tensors)

    def larger(node: onnx.NodeProto) -> onnx.GraphProto | None:
        branches = _branches(node)
        if wanted.isdisjoint(node.output) and not any(wanted & _made_inside(branch) for branch in branches.values()):
            return None
        if node.input[0] not in {
            value.name for value in model.graph.output
        }:  # or nothing would need what it is computed from
            condition = helper.make_tensor_value_info(node.input[0], onnx.TensorProto.BOOL, [])
            model.graph.output.append(condition)
        chosen = max(("then_branch", "else_branch"), key=lambda name: _operators(branches[name]))
        notes.append(
            f"an If whose condition {node.input[0]!r} depends on the input counts as its larger branch, {chosen}"
        )
        return branches[chosen]

    _replace(model, larger)
    return notes


def fix_trip_counts(model: onnx.ModelProto) -> None:
    """Make the trip count of every `Loop` of the main graph an initialiser where it can be computed, in place."""
    index = _index(model.graph)
    for number, node in enumerate(model.graph.node):
        if node.op_type == "Loop" and node.input and node.input[0] and node.input[0] not in index.weights:
            value = known_value(model, node.input[0], index)
            if value is not None and value.size == 1:
                name = f"/trips/{number}"
                model.graph.initializer.append(numpy_helper.from_array(value.astype(np.int64).reshape(()), name))
                node.input[0] = name


def _slice(index: _Index, name: str) -> tuple[dict[str, np.ndarray], list[onnx.NodeProto]]:
    """What a tensor is computed from: values by name, and the nodes in order. LookupError where it needs an input's value."""
    makers, weights, kinds = index
    constants: dict[str, np.ndarray] = {}
    nodes: list[onnx.NodeProto] = []
    seen: set[str] = set()
    pending: list[tuple[str, bool]] = [(name, False)]
    while pending:
        wanted, ready = pending.pop()
        if ready:
            nodes.append(makers[wanted])
            continue
        if not wanted or wanted in seen:
            continue
        seen.add(wanted)
        if wanted in weights:
            constants[wanted] = _small(weights[wanted])
            continue
        node = makers[wanted]  # KeyError: a graph input, or a tensor of the graph around
        if node.op_type not in COMPUTED or node.domain or len(seen) > MAX_SLICE:
            raise LookupError(wanted)
        if node.op_type in ("Shape", "Size"):
            constants[wanted] = _from_shape(node, kinds, weights)
            continue
        seen.update(node.output)
        pending.append((wanted, True))
        pending += [(operand, False) for operand in node.input]
    return constants, nodes


def _small(tensor: onnx.TensorProto) -> np.ndarray:
    if tensor.data_location == onnx.TensorProto.EXTERNAL or np.prod(tensor.dims, dtype=float) > MAX_ELEMENTS:
        raise LookupError(tensor.name)
    try:
        return numpy_helper.to_array(tensor)
    except Exception as error:
        raise LookupError(tensor.name) from error


def _from_shape(node: onnx.NodeProto, kinds: dict, weights: dict) -> np.ndarray:
    source = node.input[0]
    if source in weights:
        dims = list(weights[source].dims)
    elif source in kinds and is_static(kinds[source]):
        dims = [d.dim_value for d in kinds[source].tensor_type.shape.dim]
    else:
        raise LookupError(source)
    if node.op_type == "Size":
        return np.array(int(np.prod(dims, dtype=np.int64)))
    limits = {a.name: a.i for a in node.attribute}
    return np.array(dims[slice(limits.get("start", 0), limits.get("end"))], dtype=np.int64)


def _chosen(model: onnx.ModelProto, node: onnx.NodeProto, index: _Index) -> onnx.GraphProto | None:
    value = known_value(model, node.input[0], index)
    if value is None or value.size != 1:
        return None
    return _branches(node)["then_branch" if value.any() else "else_branch"]


def _branches(node: onnx.NodeProto) -> dict[str, onnx.GraphProto]:
    return {a.name: a.g for a in node.attribute if a.HasField("g")}


def _is_if(node: onnx.NodeProto) -> bool:
    """Whether a node is an `If` as ONNX defines it."""
    return (
        node.op_type == "If"
        and not node.domain
        and len(node.input) == 1
        and _branches(node).keys() == {"then_branch", "else_branch"}
        and all(len(branch.output) == len(node.output) for branch in _branches(node).values())
    )


def _made_inside(graph: onnx.GraphProto) -> set[str]:
    inner = [_made_inside(body) for node in graph.node for body in _bodies(node)]
    return {name for node in graph.node for name in node.output}.union(*inner)


def _operators(graph: onnx.GraphProto) -> int:
    return sum(1 + sum(_operators(body) for body in _bodies(node)) for node in graph.node)


def _bodies(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _replace(model: onnx.ModelProto, choose: Callable[[onnx.NodeProto], onnx.GraphProto | None]) -> bool:
    """Put what `choose` returns for an `If` in its place; its tensors get names of their own."""
    graph = model.graph
    taken = {output for node in graph.node for output in node.output} | {tensor.name for tensor in graph.initializer}
    nodes, replaced = [], 0
    for node in graph.node:
        branch = choose(node) if _is_if(node) else None
        if branch is None:
            nodes.append(node)
            continue
        replaced += 1
        nodes += _hoisted(graph, branch, list(node.output), taken)
    if replaced:
        kept = [_copy(node) for node in nodes]
        del graph.node[:]
        graph.node.extend(kept)
    return bool(replaced)


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy


def _hoisted(
    graph: onnx.GraphProto, branch: onnx.GraphProto, outputs: list[str], taken: set[str]
) -> list[onnx.NodeProto]:
    """The branch's nodes as nodes of the graph; its weights and known shapes move to the graph."""
    body = onnx.GraphProto()
    body.CopyFrom(branch)
    local = {tensor.name for tensor in body.initializer} | {n for node in body.node for n in node.output if n}
    names = {name: _free(f"{outputs[0]}/{name}", taken) for name in sorted(local)}
    results = [value.name for value in body.output]
    made = {n for node in body.node for n in node.output}
    identities = []
    for result, output in zip(results, outputs, strict=True):
        if not output:
            continue
        if result in made and results.count(result) == 1:
            names[result] = output
        else:
            identities.append(helper.make_node("Identity", [names.get(result, result)], [output]))
    for node in body.node:
        _rename(node, names)
    for tensor in body.initializer:
        tensor.name = names[tensor.name]
    graph.initializer.extend(body.initializer)
    known = {value.name for value in [*graph.value_info, *graph.output]}
    for value in [*body.value_info, *body.output]:
        value.name = names.get(value.name, value.name)
        if value.name not in known and value.type.WhichOneof("value"):
            known.add(value.name)
            graph.value_info.append(value)
    return [*body.node, *identities]


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _rename(node: onnx.NodeProto, names: dict[str, str]) -> None:
    """Rename a node's tensors, also where bodies inside it read them; a body's own tensor of the same name is another one."""
    node.input[:] = [names.get(name, name) for name in node.input]
    node.output[:] = [names.get(name, name) for name in node.output]
    for body in _bodies(node):
        own = {v.name for v in body.input} | {t.name for t in body.initializer}
        own |= {n for inner in body.node for n in inner.output}
        outer = {key: value for key, value in names.items() if key not in own}
        for inner in body.node:
            _rename(inner, outer)
        for value in body.output:
            value.name = outer.get(value.name, value.name)
