"""Encodes an ONNX graph: operator numbers, node features, data-flow edges, global features, memory arithmetic."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import onnx

from nnirp.errors import InputError
from nnirp.features.canonical import canonical_order, canonicalise, keep_executed, sort_nodes
from nnirp.features.control_flow import ControlNotes, make_call, resolve_control_flow
from nnirp.features.cost import bytes_read, call_cost, is_parameter, knows
from nnirp.features.dtypes import EDGE_DTYPES
from nnirp.features.graph import ABSENT, Graph, Node, parse
from nnirp.features.memory import memory_bytes, type_bytes, weight_storage
from nnirp.features.vocabulary import load_vocabulary

ENCODER_VERSION = 1  # raised when the meaning of a feature changes
FORMS = ("canonical", "executed")
NODE_FEATURES, EDGE_FEATURES, GRAPH_FEATURES, DIMS = 14, 18, 5, 6


@dataclass(frozen=True)
class EncodedGraph:
    """What a predictor reads of one graph of N nodes and E edges.

    x: float32 [N, 14], log2(1 + v) of FLOPs, input/output/weight bytes, output rank, output dims 0–5, number of inputs, of
        outputs, of weights. A rank above 6 keeps its first five dims and the product of the others.
    op: int64 [N], index into the vocabulary. edge_index: int64 [2, E], producer and consumer.
    edge_attr: float32 [E, 18], source port, destination port (as they are), log2(1 + v) of dims 0–5, rank and bytes, one-hot
        of float32, float16, bfloat16, float64, int64, int32, bool, other.
    u: float32 [5], log2 of nodes, edges, total FLOPs, total bytes, batch size; 0 where the value is below 1, so that
        a single operator (no edges) or a graph that only moves data stays finite.
    memory: float64 [4], bytes of weights (tied ones once), peak live activations, inputs and outputs, largest tensor.
    flops, bytes: float64 [N], raw, bytes being inputs, outputs and weights together. unknown: operators outside the
        vocabulary or without a formula, counted.
    """

    x: np.ndarray
    op: np.ndarray
    edge_index: np.ndarray
    edge_attr: np.ndarray
    u: np.ndarray
    memory: np.ndarray
    flops: np.ndarray
    bytes: np.ndarray
    op_names: tuple[str, ...]
    batch: int
    form: str
    unknown: Counter
    warnings: tuple[str, ...]
    vocabulary_digest: str

    @property
    def total_flops(self) -> float:
        return float(self.flops.sum())


def encode(
    model: onnx.ModelProto,
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    form: Literal["canonical", "executed"] = "canonical",
) -> EncodedGraph:
    """Encode a model; the file is left as it is and weights are not needed.

    Args:
        model: as `read_onnx` returns it. Shapes are completed only where the file does not have them all.
        batch: size for a symbolic batch dimension, and the batch size in `u`; by default the first input's first dimension.
        dims: sizes of other symbolic dimensions and values of scalar inputs, see `nnirp.graphs.shapes.complete_shapes`.
        form: "canonical" folds constants, identities and batch normalisations, so that a model's exports agree;
            "executed" keeps every operator of the file but those that only compute constants.

    Raises:
        InputError: a symbolic input without `batch`, an operator that violates its definition, no operator at all.
    """
    if form not in FORMS:
        raise InputError(f"form {form!r}: expected one of {', '.join(FORMS)}")
    graph, notes = _read(model, batch, dims)
    try:
        if form == "canonical":
            canonicalise(graph)
            graph_nodes = [graph.nodes[i] for i in canonical_order(graph)]
        else:
            keep_executed(graph)
            graph_nodes = graph.nodes
        if not graph_nodes:
            raise InputError("the graph computes nothing: expected at least one operator; check the export")
        return _assemble(graph, graph_nodes, notes.warnings, notes.unknown, _batch_size(graph, batch), form)
    except (IndexError, KeyError, AttributeError, TypeError, ValueError, OverflowError) as error:  # a hostile file's
        raise InputError(
            f"an operator is not what ONNX defines ({type(error).__name__}: {' '.join(str(error).split())[:200]}); "
            "check the file: `python -m onnx.checker`"
        ) from error


def _read(model: onnx.ModelProto, batch: int | None, dims: Mapping[str, int] | None) -> tuple[Graph, ControlNotes]:
    graph = parse(model)
    open_inputs = [t for t in graph.inputs if not graph.is_static(t) and graph.dtype(t)]
    if open_inputs and batch is None and not dims:
        name, shape = graph.names[open_inputs[0]], graph.shape(open_inputs[0])
        shown = "unknown" if shape is None else "[" + ", ".join("?" if d < 0 else str(d) for d in shape) + "]"
        raise InputError(f"input {name!r} has the symbolic shape {shown}: give the batch size with `--batch 1`")
    if not _all_static(graph):
        _forget_unused_outputs(graph)
    assumed: list[str] = []
    if dims or not _all_static(graph) or any(node.op in ("If", "Loop") for node in graph.nodes):
        from nnirp.graphs.shapes import complete_shapes

        graph = parse(complete_shapes(model, batch, dims, assumed))
        _forget_unused_outputs(graph)
    if not graph.in_order:
        sort_nodes(graph)
    notes = resolve_control_flow(graph)
    notes.warnings[:0] = assumed
    return graph, notes


def _all_static(graph: Graph) -> bool:
    open_types = {i for i, (_, shape) in enumerate(graph.types) if shape is None or min(shape, default=0) < 0}
    kinds = graph.tensor_type
    return open_types.isdisjoint(kinds) or open_types.isdisjoint(kinds[t] for t in graph.used_tensors())


def _forget_unused_outputs(graph: Graph) -> None:
    """An optional output that has no type and that nothing reads is not computed."""
    read = {t for node in graph.nodes for t in node.inputs}.union(graph.outputs, *graph.body_reads())
    for i, node in enumerate(graph.nodes):
        if any(t != ABSENT and t not in read and graph.tensor_type[t] == 0 for t in node.outputs[1:]):
            kept = [t if t in read or graph.tensor_type[t] else ABSENT for t in node.outputs[1:]]
            graph.nodes[i] = node._replace(outputs=(node.outputs[0], *kept))


def _batch_size(graph: Graph, batch: int | None) -> int:
    if batch is not None:
        return batch
    return next((shape[0] for t in graph.inputs if (shape := graph.shape(t))), 1)


def _assemble(
    graph: Graph, nodes: list[Node], warnings: list[str], unknown: Counter, batch: int, form: str
) -> EncodedGraph:
    kinds = graph.tensor_type
    codes = [2 * kind + constant for kind, constant in zip(kinds, graph.is_constant, strict=True)]
    codes.append(-1)  # what ABSENT (-1) points at
    constant = [*graph.is_constant, False]
    producer, port = [-1] * len(codes), [0] * len(codes)
    for place, node in enumerate(nodes):
        for position, tensor in enumerate(node.outputs):
            producer[tensor], port[tensor] = place, position
    producer[ABSENT] = -1

    row_of_call: dict[tuple, int] = {}
    first_node: list[Node] = []
    row = []
    sources, targets, source_ports, target_ports, edge_kinds = [], [], [], [], []
    weights, weight_places, weight_ports = [], [], []
    for place, (op, attributes, inputs, outputs) in enumerate(nodes):
        call = (op, attributes, tuple([codes[t] for t in inputs]), tuple([codes[t] for t in outputs]))
        number = row_of_call.get(call)
        if number is None:
            number = row_of_call[call] = len(first_node)
            first_node.append(nodes[place])
        row.append(number)
        for position, tensor in enumerate(inputs):
            source = producer[tensor]
            if source >= 0:
                sources.append(source)
                targets.append(place)
                source_ports.append(port[tensor])
                target_ports.append(position)
                edge_kinds.append(kinds[tensor])
            elif constant[tensor]:
                weights.append(tensor)
                weight_places.append(place)
                weight_ports.append(position)

    calls = [make_call(graph, node) for node in first_node]
    costs = [call_cost(call) for call in calls]
    row = np.array(row)
    raw = np.array([_node_row(call, cost) for call, cost in zip(calls, costs, strict=True)])[row]
    vocabulary = load_vocabulary()
    numbers = np.array(
        [vocabulary.index.get(call.op, 0) if cost.known else 0 for call, cost in zip(calls, costs, strict=True)]
    )

    used = [i for i, (place, at) in enumerate(zip(weight_places, weight_ports, strict=True))
            if not is_parameter(nodes[place].op, at)]  # fmt: skip
    weights = [weights[i] for i in used]
    size_of = type_bytes(graph)
    groups = weight_storage(graph, weights, size_of)
    tied_again = 0.0
    for positions in groups.values():
        if len(positions) > 1:
            reads = [bytes_read(calls[row[weight_places[used[p]]]], weight_ports[used[p]]) for p in positions]
            tied_again += sum(reads) - max(reads)

    node_bytes = raw[:, 1] + raw[:, 2] + raw[:, 3]
    totals = [len(nodes), len(sources), raw[:, 0].sum(), node_bytes.sum() - tied_again, batch]
    names = [call.op for call in calls]
    op_names = tuple([names[i] for i in row])
    strange = {i for i, cost in enumerate(costs) if not cost.known or not numbers[i]}
    outside = unknown + Counter(name for i, name in zip(row.tolist(), op_names, strict=True) if i in strange)
    return EncodedGraph(
        x=np.log2(1.0 + raw).astype(np.float32),
        op=numbers[row].astype(np.int64),
        edge_index=np.array([sources, targets], dtype=np.int64).reshape(2, -1),
        edge_attr=_edge_features(graph, source_ports, target_ports, edge_kinds, size_of),
        u=np.log2(np.maximum(np.array(totals, dtype=np.float64), 1.0)).astype(np.float32),
        memory=memory_bytes(graph, weights, groups, size_of),
        flops=raw[:, 0],
        bytes=node_bytes,
        op_names=op_names,
        batch=batch,
        form=form,
        unknown=outside,
        warnings=tuple(warnings) + _warnings(graph, nodes, outside),
        vocabulary_digest=vocabulary.digest,
    )


def _dims(shape: tuple[int, ...]) -> list[float]:
    """The first six dims; what is beyond folds into the sixth."""
    dims = [float(d) for d in shape[: DIMS - 1]]
    if len(shape) >= DIMS:
        dims.append(float(np.prod(shape[DIMS - 1 :], dtype=np.float64)))
    return dims + [0.0] * (DIMS - len(dims))


def _node_row(call, cost) -> list[float]:
    shape = next((o.shape for o in call.outputs if o is not None), ())
    return [cost.flops, cost.input_bytes, cost.output_bytes, cost.weight_bytes, len(shape), *_dims(shape),
            cost.inputs, cost.outputs, cost.weights]  # fmt: skip


def _edge_features(graph: Graph, source_ports, target_ports, edge_kinds, size_of: list[int]) -> np.ndarray:
    features = np.zeros((len(edge_kinds), EDGE_FEATURES), dtype=np.float32)
    if not edge_kinds:
        return features
    kinds = np.array(edge_kinds)
    table = np.zeros((len(graph.types), EDGE_FEATURES - 2))
    for kind in set(edge_kinds):
        dtype, shape = graph.types[kind]
        shape = tuple(abs(d) for d in shape or ())
        column = EDGE_DTYPES.index(dtype) if dtype in EDGE_DTYPES else len(EDGE_DTYPES)
        table[kind, : DIMS + 2] = np.log2(1.0 + np.array([*_dims(shape), len(shape), size_of[kind]]))
        table[kind, DIMS + 2 + column] = 1.0
    features[:, 0], features[:, 1], features[:, 2:] = source_ports, target_ports, table[kinds]
    return features


def _warnings(graph: Graph, nodes: list[Node], outside: Counter) -> tuple[str, ...]:
    found = []
    for known, consequence in ((True, "their cost counts"), (False, "without a formula, only their bytes count")):
        listed = ", ".join(f"{name} × {count}" for name, count in sorted(outside.items()) if knows(name) == known)
        if listed:
            found.append(f"operators encoded as <UNK>, {consequence}: {listed}")
    open_kinds = {i for i, (_, shape) in enumerate(graph.types) if shape is None or min(shape, default=0) < 0}
    if open_kinds:
        open_tensors = {t for n in nodes for t in n.outputs if t != ABSENT and graph.tensor_type[t] in open_kinds}
        if open_tensors:
            found.append(f"{len(open_tensors)} tensors have sizes that depend on the data; each such size counts as 1")
    return tuple(found)
