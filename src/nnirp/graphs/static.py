"""Which tensors of a graph have a static shape."""

import onnx


def unresolved(model: onnx.ModelProto) -> list[str]:
    """Names of the tensors, those of control-flow bodies included, that have no static shape or no element type."""
    return _unresolved(model.graph)


def _unresolved(graph: onnx.GraphProto) -> list[str]:
    known = {value.name for value in [*graph.value_info, *graph.input, *graph.output] if is_static(value.type)}
    known |= {tensor.name for tensor in graph.initializer}
    left = []
    for node in graph.node:
        left += [name for name in node.output if name and name not in known]
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                left += _unresolved(body)
    return left


def is_static(kind: onnx.TypeProto) -> bool:
    """Whether a type is a tensor of known element type whose dimensions are all numbers."""
    tensor = kind.tensor_type
    return (
        bool(tensor.elem_type)
        and tensor.HasField("shape")
        and all(d.WhichOneof("value") == "dim_value" and d.dim_value >= 0 for d in tensor.shape.dim)
    )
