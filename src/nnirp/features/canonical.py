"""The canonical form: the same model exported with or without its weights, folded or not, becomes the same nodes.

Every step works on the parsed lists, never on the file. What a step removes is what a runtime would not execute either.
"""

import heapq
from collections import Counter
from collections.abc import Callable

import numpy as np

from nnirp.errors import InputError
from nnirp.features.costs.movement import VIEWS
from nnirp.features.graph import ABSENT, CONTROL_FLOW, Graph, Node
from nnirp.features.memory import is_matrix

# Their results differ between calls although their operands do not.
_RANDOM = frozenset(
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"]
)
# Nothing to do when the result has the operand's type and shape.
_SAME_SHAPE_IS_IDENTITY = frozenset(
    ["Reshape", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Tile", "Pad", "Cast", "CastLike", "Concat", "Split"]
)
# A constant result is its operand: a quantised weight is read as it is stored.
_READS_ITS_OPERAND = frozenset(["Identity", "Dropout", "DequantizeLinear"])
_RESHAPES = frozenset(["Reshape", "Squeeze", "Unsqueeze", "Flatten"])
_FOLDS_BATCH_NORM = frozenset(["Conv", "ConvTranspose", "Gemm"])


def canonicalise(graph: Graph) -> None:
    """Bring a graph whose nodes are in topological order to the canonical form, in place."""
    share_equal_constants(graph)
    drop_constants_and_identities(graph, _changes_nothing)
    fold_batch_normalisation(graph)
    unify_reshapes(graph)
    unify_synonyms(graph)
    graph.nodes = reachable(graph)


def keep_executed(graph: Graph) -> None:
    """Bring a graph to the form that is executed as written, in place.

    Constants are no operators here either: what is fed by weights alone is computed once, or is a view of a weight. Batch
    normalisations, identities, casts and every reshape stay.
    """
    drop_constants_and_identities(graph, _is_inference_dropout)
    graph.nodes = reachable(graph)


def sort_nodes(graph: Graph) -> None:
    """Put nodes into topological order where the file does not (Kahn's algorithm, ties by place in the file)."""
    producer = {t: i for i, node in enumerate(graph.nodes) for t in node.outputs if t != ABSENT}
    waiting = [0] * len(graph.nodes)
    consumers: dict[int, list[int]] = {}
    for i, node in enumerate(graph.nodes):
        for source in {producer[t] for t in node.inputs if t in producer}:
            waiting[i] += 1
            consumers.setdefault(source, []).append(i)
    ready = [i for i, count in enumerate(waiting) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for j in consumers.get(i, ()):
            waiting[j] -= 1
            if waiting[j] == 0:
                heapq.heappush(ready, j)
    graph.nodes = [graph.nodes[i] for i in order]
    graph.in_order = True


def drop_constants_and_identities(graph: Graph, is_identity: Callable[[Graph, Node, tuple[int, ...]], bool]) -> None:
    """Nodes fed only by weights or constants become constants; nodes that `is_identity` names are rewired around.

    The result of such a constant counts as a weight of its shape; a view of a weight (a transpose) keeps the weight's storage,
    so that a tied matrix is still one. The shape of a static tensor is a constant.
    """
    alias: dict[int, int] = {}
    is_constant, kept = graph.is_constant, []
    for node in graph.nodes:
        op, inputs = node.op, node.inputs
        if alias:
            inputs = tuple([alias.get(t, t) for t in inputs])
        constant = True
        for tensor in inputs:
            if tensor != ABSENT and not is_constant[tensor]:
                constant = False
                break
        if op in ("Shape", "Size") and not constant:
            constant = graph.is_static(inputs[0])
        if constant and op not in _RANDOM and op not in CONTROL_FLOW:
            for tensor in node.outputs:
                if tensor != ABSENT:
                    is_constant[tensor] = True
            if inputs and op in _READS_ITS_OPERAND:
                alias[node.outputs[0]] = inputs[0]
            elif inputs and op in VIEWS and op not in ("Expand", "Slice", "Split"):
                graph.storage[node.outputs[0]] = inputs[0]
            continue
        if is_identity(graph, node, inputs):
            alias[node.outputs[0]] = inputs[0]
            continue
        kept.append(node if inputs is node.inputs else Node(op, node.attributes, inputs, node.outputs))
    graph.nodes = kept
    graph.outputs = [alias.get(t, t) for t in graph.outputs]


def _is_inference_dropout(graph: Graph, node: Node, inputs: tuple[int, ...]) -> bool:
    if node.op != "Dropout":
        return False
    training = graph.value(inputs[2]) if len(inputs) > 2 and inputs[2] != ABSENT else None
    return not (training is not None and training.any())


def _changes_nothing(graph: Graph, node: Node, inputs: tuple[int, ...]) -> bool:
    op = node.op
    if op == "Identity":
        return True
    if op == "Dropout":
        return _is_inference_dropout(graph, node, inputs)
    if not inputs or inputs[0] == ABSENT:
        return False
    same = graph.tensor_type[inputs[0]] == graph.tensor_type[node.outputs[0]] and graph.is_static(inputs[0])
    if not same:
        return False
    if op in _SAME_SHAPE_IS_IDENTITY:
        return True
    if op == "Transpose":
        permutation = graph.attributes[node.attributes].get("perm")
        shape = graph.shape(inputs[0])
        # Axes of size 1 may move freely: what counts is the order of the others.
        return permutation is not None and [p for p in permutation if shape[p] != 1] == [
            i for i, size in enumerate(shape) if size != 1
        ]
    if op == "Slice":
        steps = graph.value(inputs[4]) if len(inputs) > 4 and inputs[4] != ABSENT else None
        return len(inputs) <= 4 or inputs[4] == ABSENT or (steps is not None and bool((steps > 0).all()))
    return False


def _uses(graph: Graph) -> Counter:
    uses: Counter = Counter()
    for node in graph.nodes:
        uses.update(node.inputs)
    uses.update(graph.outputs)
    return uses


def share_equal_constants(graph: Graph) -> None:
    """Matrices with the same content are one in memory, as they are where an exporter kept them shared."""
    alike: dict[int, list[int]] = {}
    for tensor in graph.values:
        kind = graph.tensor_type[tensor]
        if is_matrix(graph.types[kind][1]) and graph.is_constant[tensor]:
            alike.setdefault(kind, []).append(tensor)
    for tensors in alike.values():
        seen: dict[bytes, tuple[int, bytes]] = {}
        for tensor in tensors if len(tensors) > 1 else ():
            value = graph.value(tensor)
            content = b"" if value is None else value.tobytes()
            if not content:
                continue
            first, other = seen.setdefault(content[:64] + content[-64:], (tensor, content))
            if first != tensor and other == content:
                graph.storage[tensor] = first


def fold_batch_normalisation(graph: Graph) -> None:
    """A batch normalisation directly after a convolution or Gemm folds into it, which then has a bias.

    Only where the product's result has no other use and its weight is constant. y = a·(Wx + b) + c = (aW)x + (ab + c):
    Jacob et al., Quantization and Training of Neural Networks, 2018, section 3.2.
    """
    if not any(node.op == "BatchNormalization" for node in graph.nodes):
        return
    uses = _uses(graph)
    place: dict[int, int] = {}
    folded: list[Node] = []
    for node in graph.nodes:
        source = place.get(node.inputs[0]) if node.op == "BatchNormalization" else None
        if (
            source is not None
            and uses[node.inputs[0]] == 1
            and not graph.attributes[node.attributes].get("training_mode")
        ):
            product = folded[source]
            if graph.is_constant[product.inputs[1]]:
                inputs = product.inputs
                if len(inputs) < 3 or inputs[2] == ABSENT:
                    channels = graph.shape(node.inputs[1])
                    bias = graph.add_tensor(graph.type_of(graph.dtype(inputs[1]), channels), True)
                    inputs = (*inputs[:2], bias)
                folded[source] = Node(product.op, product.attributes, inputs, node.outputs[:1])
                place[node.outputs[0]] = source
                continue
        if node.op in _FOLDS_BATCH_NORM:
            place[node.outputs[0]] = len(folded)
        folded.append(node)
    graph.nodes = folded


def unify_reshapes(graph: Graph) -> None:
    """Reshape, Squeeze, Unsqueeze and Flatten are one operator, and a chain of them is its last link.

    A look-up of a flat tensor in its own order (how an `as_strided` is exported) is a reshape as well.
    """

    source: dict[int, int] = {}
    alias: dict[int, int] = {}
    unified: list[Node] = []
    for node in graph.nodes:
        inputs = node.inputs
        if alias:
            inputs = tuple([alias.get(t, t) for t in inputs])
        if node.op in _RESHAPES or (node.op == "Gather" and _reads_in_order(graph, inputs)):
            data = source.get(inputs[0], inputs[0])
            if graph.tensor_type[data] == graph.tensor_type[node.outputs[0]] and graph.is_static(data):
                alias[node.outputs[0]] = data
                continue
            source[node.outputs[0]] = data
            unified.append(Node("Reshape", 0, (data, *_shape_operand(graph, node, inputs)), node.outputs))
        else:
            unified.append(node if inputs is node.inputs else node._replace(inputs=inputs))
    graph.nodes = unified
    graph.outputs = [alias.get(t, t) for t in graph.outputs]


def _shape_operand(graph: Graph, node: Node, inputs: tuple[int, ...]) -> tuple[int, ...]:
    """The operand of a shape that is computed from data; a constant one is a parameter and left away."""
    return tuple(t for t in inputs[1:2] if node.op == "Reshape" and t != ABSENT and not graph.is_constant[t])


def _reads_in_order(graph: Graph, inputs: tuple[int, ...]) -> bool:
    shape = graph.shape(inputs[0])
    if shape is None or len(shape) != 1 or not graph.is_constant[inputs[1]]:
        return False
    index = graph.value(inputs[1])
    return index is not None and index.size == shape[0] and bool((index.reshape(-1) == np.arange(shape[0])).all())


def unify_synonyms(graph: Graph) -> None:
    """One name for one computation, where exporters or operator-set versions differ.

    A mean over all spatial axes of a [N, C, H, W, …] tensor that keeps them is a global average pool, a sum of two an addition.
    """
    for i, node in enumerate(graph.nodes):
        if node.op == "ReduceMean":
            shape, out = graph.shape(node.inputs[0]), graph.shape(node.outputs[0])
            if shape and out and len(shape) >= 4 and out == shape[:2] + (1,) * (len(shape) - 2) and max(shape[2:]) > 1:
                graph.nodes[i] = Node("GlobalAveragePool", 0, node.inputs[:1], node.outputs)
        elif node.op == "Sum" and len(node.inputs) == 2:
            graph.nodes[i] = node._replace(op="Add")


def reachable(graph: Graph) -> list[Node]:
    """The nodes that the outputs need, in the file's order."""
    needed = set(graph.outputs)
    kept = []
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
            needed.discard(ABSENT)
            kept.append(node)
    kept.reverse()
    return kept


def canonical_order(graph: Graph) -> list[int]:
    """Places of the nodes in an order that depends on neither names nor the file: depth first from the outputs.

    Each output in turn, each operand in the order of its port, a node after everything it needs.
    """
    nodes = graph.nodes
    producer = {t: i for i, node in enumerate(nodes) for t in node.outputs if t != ABSENT}
    done = bytearray(len(nodes))
    longest = len(nodes) + sum(len(node.inputs) for node in nodes)
    order: list[int] = []
    for output in graph.outputs:
        root = producer.get(output)
        if root is None or done[root]:
            continue
        stack = [root]
        while stack:
            i = stack[-1]
            if done[i]:
                stack.pop()
                continue
            pending = [j for t in nodes[i].inputs if (j := producer.get(t)) is not None and not done[j]]
            if pending:
                pending.reverse()
                stack += pending
                if len(stack) > longest:  # each edge waits once at most
                    raise InputError("the graph has a cycle; an ONNX graph is acyclic, check the exporter")
            else:
                done[i] = 1
                order.append(i)
                stack.pop()
    return order
