"""Makes control flow countable: a top-level `If` becomes its costlier branch, loops learn their trips and body's cost."""

from collections import Counter
from dataclasses import dataclass, field

from nnirp.errors import InputError
from nnirp.features.cost import Call, Operand, call_cost, knows
from nnirp.features.graph import ABSENT, CONTROL_FLOW, Body, Graph, Node


@dataclass
class ControlNotes:
    """What was assumed: warnings for the reader, operators inside bodies that have no formula; and what was worked out before."""

    warnings: list[str] = field(default_factory=list)
    unknown: Counter = field(default_factory=Counter)
    taken: dict[int, Body] = field(default_factory=dict)  # by the `If`'s attributes
    flops: dict[int, float] = field(default_factory=dict)  # by the body


def operand(graph: Graph, tensor: int) -> Operand | None:
    """A tensor as a formula sees it; a size that is not known counts as 1."""
    if tensor == ABSENT:
        return None
    dtype, shape = graph.types[graph.tensor_type[tensor]]
    return Operand(dtype, tuple(max(d, 1) if d < 0 else d for d in shape or ()), graph.is_constant[tensor])


def make_call(graph: Graph, node: Node) -> Call:
    """The call that a node makes."""
    return Call(
        node.op,
        graph.attributes[node.attributes],
        tuple(operand(graph, t) for t in node.inputs),
        tuple(operand(graph, t) for t in node.outputs),
    )


def resolve_control_flow(graph: Graph) -> ControlNotes:
    """Replace each `If` by the nodes of one branch and annotate loops, in place.

    A constant condition decides; otherwise the branch with more FLOPs (then more operators) counts, which is named in a
    warning, and the condition becomes an output. A `Loop` or `Scan` stays one node: FLOPs are its iterations times its body's, and tensors it captures are operands.
    """
    notes = ControlNotes()
    if any(node.op in CONTROL_FLOW for node in graph.nodes):
        renamed: dict[int, int] = {}
        graph.nodes = _flatten(graph, graph.nodes, renamed, notes)
        graph.nodes = [n._replace(inputs=tuple(_follow(renamed, t) for t in n.inputs)) for n in graph.nodes]
        graph.outputs = [_follow(renamed, t) for t in graph.outputs]
    return notes


def _follow(renamed: dict[int, int], tensor: int) -> int:
    """The tensor that stands for another; branches that hand out each other's results are refused."""
    for _ in range(len(renamed) + 1):
        if tensor not in renamed:
            return tensor
        tensor = renamed[tensor]
    raise InputError("branches of Ifs hand out each other's results; an ONNX graph is acyclic, check the exporter")


def _flatten(graph: Graph, nodes: list[Node], renamed: dict[int, int], notes: ControlNotes) -> list[Node]:
    flat = []
    for node in nodes:
        try:
            flat += _resolved(graph, node, renamed, notes)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError) as error:
            raise InputError(
                f"{node.op} is not what ONNX defines ({type(error).__name__}: {error}); check the file: `python -m onnx.checker`"
            ) from error
    return flat


def _resolved(graph: Graph, node: Node, renamed: dict[int, int], notes: ControlNotes) -> list[Node]:
    """What a node becomes: itself, the nodes of an `If`'s branch, or a loop that knows its cost."""
    if node.op != "If":
        return [_annotate(graph, node, notes)] if node.op in CONTROL_FLOW else [node]
    if graph.value(node.inputs[0]) is None:
        graph.outputs.append(node.inputs[0])  # or nothing would need what the condition is computed from
    branch = _choose(graph, node, notes)
    nodes = _flatten(graph, branch.nodes, renamed, notes)
    for outer, inner in zip(node.outputs, branch.outputs, strict=True):
        if outer != ABSENT:
            renamed[outer] = inner
            if not graph.is_static(inner) and graph.is_static(outer):
                graph.tensor_type[inner] = graph.tensor_type[outer]
    return nodes


def _choose(graph: Graph, node: Node, notes: ControlNotes) -> Body:
    if node.attributes not in notes.taken:
        attributes = graph.attributes[node.attributes]
        branches = [attributes["then_branch"], attributes["else_branch"]]
        condition = graph.value(node.inputs[0])
        if condition is not None:
            chosen = 0 if condition.any() else 1
        else:
            unseen = ControlNotes(flops=notes.flops)  # what the branch not taken assumes is no news
            costs = [(_body_flops(graph, b, unseen), len(b.nodes)) for b in branches]
            chosen = 0 if costs[0] >= costs[1] else 1
            notes.warnings.append(
                "an If whose condition depends on the input counts as its costlier branch, "
                f"{('then', 'else')[chosen]}_branch"
            )
        notes.taken[node.attributes] = branches[chosen]
    return notes.taken[node.attributes]


def _annotate(graph: Graph, node: Node, notes: ControlNotes) -> Node:
    attributes = dict(graph.attributes[node.attributes])
    body: Body = attributes["body"]
    attributes["iterations"] = _iterations(graph, node, body, attributes, notes)
    attributes["body_flops"] = _body_flops(graph, body, notes)
    graph.attributes.append(attributes)
    captured = _captured(graph, body, set())
    return Node(node.op, len(graph.attributes) - 1, node.inputs + tuple(captured), node.outputs)


def _iterations(graph: Graph, node: Node, body: Body, attributes: dict, notes: ControlNotes) -> int:
    if node.op == "Loop":
        trips = graph.value(node.inputs[0]) if node.inputs[0] != ABSENT else None
        if trips is not None:
            return max(int(trips.reshape(-1)[0]), 0)
        carried = len(body.inputs) - 2
        for tensor in node.outputs[carried:]:
            if tensor != ABSENT and graph.is_static(tensor) and graph.shape(tensor):
                return graph.shape(tensor)[0]
    elif node.op == "Scan":
        axes = attributes.get("scan_input_axes")
        count = attributes["num_scan_inputs"]
        shape = graph.shape(node.inputs[len(node.inputs) - count])
        if shape and (length := shape[axes[0] if axes else 0]) >= 0:
            return length
    notes.warnings.append(f"a {node.op} whose number of iterations depends on the input counts as one iteration")
    return 1


def _body_flops(graph: Graph, body: Body, notes: ControlNotes) -> float:
    if id(body) not in notes.flops:
        total = 0.0
        for node in body.nodes:
            if node.op == "If":
                total += _body_flops(graph, _choose(graph, node, notes), notes)
                continue
            if node.op in CONTROL_FLOW:
                node = _annotate(graph, node, notes)
            elif not knows(node.op):
                notes.unknown[node.op] += 1
            total += call_cost(make_call(graph, node)).flops
        notes.flops[id(body)] = total
    return notes.flops[id(body)]


def _captured(graph: Graph, body: Body, inside: set[int]) -> list[int]:
    """Tensors that a body uses from the graph around it, in the order of their first use."""
    inside = inside | set(body.inputs)
    found: dict[int, None] = {}
    for node in body.nodes:
        for tensor in node.inputs:
            if tensor != ABSENT and tensor not in inside and not _is_local_constant(graph, tensor):
                found[tensor] = None
        for value in graph.attributes[node.attributes].values():
            if isinstance(value, Body):
                found.update(dict.fromkeys(_captured(graph, value, inside)))
        inside.update(node.outputs)
    return list(found)


def _is_local_constant(graph: Graph, tensor: int) -> bool:
    return graph.is_constant[tensor] and graph.shape(tensor) == ()
