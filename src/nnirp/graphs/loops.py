"""Shapes inside the bodies of `Loop` and `Scan`: those of one iteration, where what is carried keeps its shape."""

import logging

import onnx
from onnx import TypeProto, helper, shape_inference

from nnirp.graphs.branches import known_value
from nnirp.graphs.static import is_static, unresolved

log = logging.getLogger(__name__)


def complete_loops(model: onnx.ModelProto) -> bool:
    """Infer the bodies of the main graph's loops from what goes in, in place; whether a shape was found.

    A carried tensor has the shape of its first value. Where an iteration changes that shape (a growing cache), the body
    stays as it is: then its cost differs from one iteration to the next.
    """
    found = False
    for node in model.graph.node:
        if node.op_type in ("Loop", "Scan") and not node.domain:
            body = next((a.g for a in node.attribute if a.name == "body" and a.HasField("g")), None)
            if body is not None and (_open(body) or _open_outputs(model, node)):
                try:
                    found |= _complete(model, node, body)
                except (IndexError, KeyError, ValueError, TypeError) as error:  # not as ONNX defines a loop
                    log.debug("a %s stays as it is: %s", node.op_type, error)
    return found


def _open(body: onnx.GraphProto) -> list[str]:
    return unresolved(onnx.ModelProto(graph=body))


def _open_outputs(model: onnx.ModelProto, node: onnx.NodeProto) -> bool:
    kinds = _kinds(model.graph)
    return any(name and not (name in kinds and is_static(kinds[name])) for name in node.output)


def _complete(model: onnx.ModelProto, node: onnx.NodeProto, body: onnx.GraphProto) -> bool:
    kinds = _kinds(model.graph)
    given = _body_inputs(node, body, kinds)
    if given is None:
        return False
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    probe.graph.CopyFrom(body)
    for value, kind in zip(probe.graph.input, given, strict=True):
        value.type.CopyFrom(kind)
    for value in probe.graph.output:
        value.type.tensor_type.ClearField("shape")
    inside = {value.name for value in probe.graph.input}
    probe.graph.input.extend(onnx.ValueInfoProto(name=n, type=k) for n, k in kinds.items() if n not in inside)
    try:
        inferred = shape_inference.infer_shapes(probe, data_prop=True).graph
    except Exception as error:
        log.debug("the body of a loop could not be inferred: %s", error)
        return False
    carried = len(body.output) - (1 if node.op_type == "Loop" else 0) - _scanned(node, body)
    first = 2 if node.op_type == "Loop" else 0
    skip = 1 if node.op_type == "Loop" else 0
    for position in range(carried):
        result = inferred.output[skip + position].type
        if not is_static(result) or result != given[first + position]:
            return False
    for value, kind in zip(body.input, given, strict=True):
        value.type.CopyFrom(kind)
    for value, result in zip(body.output, inferred.output, strict=True):
        value.type.CopyFrom(result.type)
    del body.value_info[:]
    body.value_info.extend(inferred.value_info)
    return _set_outputs(model, node, body, skip, carried)


def _kinds(graph: onnx.GraphProto) -> dict[str, TypeProto]:
    found = {
        value.name: value.type for value in [*graph.value_info, *graph.output, *graph.input] if is_static(value.type)
    }
    found |= {t.name: helper.make_tensor_type_proto(t.data_type, list(t.dims)) for t in graph.initializer}
    return found


def _body_inputs(node: onnx.NodeProto, body: onnx.GraphProto, kinds: dict[str, TypeProto]) -> list[TypeProto] | None:
    """The types of a body's inputs in its first iteration; None where an operand's is not known."""
    if node.op_type == "Loop":
        if len(node.input) != len(body.input):
            return None
        counters = [helper.make_tensor_type_proto(kind, []) for kind in (onnx.TensorProto.INT64, onnx.TensorProto.BOOL)]
        states = [kinds.get(name) for name in node.input[2:]]
        return None if None in states else [*counters, *states]
    scanned = _attribute(node, "num_scan_inputs", 0)
    if len(node.input) != len(body.input) or not 0 < scanned <= len(node.input):
        return None
    axes = _attribute(node, "scan_input_axes", [0] * scanned)
    operands = [kinds.get(name) for name in node.input]
    if None in operands or len(axes) != scanned:
        return None
    slices = []
    for kind, axis in zip(operands[-scanned:], axes, strict=True):
        dims = [d.dim_value for d in kind.tensor_type.shape.dim]
        if not -len(dims) <= axis < len(dims):
            return None
        del dims[axis]
        slices.append(helper.make_tensor_type_proto(kind.tensor_type.elem_type, dims))
    return [*operands[:-scanned], *slices]


def _scanned(node: onnx.NodeProto, body: onnx.GraphProto) -> int:
    """Outputs of the body that are stacked over the iterations."""
    if node.op_type == "Loop":
        return len(body.output) - 1 - (len(body.input) - 2)
    return len(body.output) - (len(body.input) - _attribute(node, "num_scan_inputs", 0))


def _set_outputs(model: onnx.ModelProto, node: onnx.NodeProto, body: onnx.GraphProto, skip: int, carried: int) -> bool:
    trips = _trips(model, node)
    axes = _attribute(node, "scan_output_axes", [0] * len(node.output))
    values = {value.name: value for value in model.graph.output}
    for position, name in enumerate(node.output):
        kind = body.output[skip + position].type.tensor_type
        dims = [d.dim_value for d in kind.shape.dim]
        if position >= carried:
            axis = axes[position - carried]
            if trips is None or not -len(dims) - 1 <= axis <= len(dims):
                continue
            dims.insert(axis if axis >= 0 else len(dims) + 1 + axis, trips)
        made = helper.make_tensor_type_proto(kind.elem_type, dims)
        if name in values:
            values[name].type.CopyFrom(made)
        elif name:
            for value in [v for v in model.graph.value_info if v.name == name]:
                model.graph.value_info.remove(value)
            model.graph.value_info.append(onnx.ValueInfoProto(name=name, type=made))
    return True


def _trips(model: onnx.ModelProto, node: onnx.NodeProto) -> int | None:
    if node.op_type == "Loop":
        value = known_value(model, node.input[0]) if node.input[0] else None
        return max(int(value.reshape(-1)[0]), 0) if value is not None and value.size == 1 else None
    axes = _attribute(node, "scan_input_axes", [0])
    kind = _kinds(model.graph)[node.input[len(node.input) - _attribute(node, "num_scan_inputs", 0)]]
    return kind.tensor_type.shape.dim[axes[0]].dim_value


def _attribute(node: onnx.NodeProto, name: str, default):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)
