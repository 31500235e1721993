"""Is a weight-free graph whole: every tensor of static shape, and nothing that the ONNX checker refuses."""

import onnx
import onnx.checker


def unresolved(model: onnx.ModelProto) -> list[str]:
    """Names of the tensors, those of control-flow bodies included, that have no static shape or no element type."""
    return _unresolved(model.graph)


def defect(model: onnx.ModelProto) -> str | None:
    """What is wrong with a weight-free graph, or None: a tensor without a static shape, or the first complaint of the ONNX checker.

    Tensors whose content lies outside the file count as inputs of their type and shape, so that only their bytes are missing.
    """
    if left := unresolved(model):
        return f"{len(left)} tensors have no static shape, such as {left[0]!r}"
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    outside = [t for t in whole.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
    inside = [t for t in whole.graph.initializer if t.data_location != onnx.TensorProto.EXTERNAL]
    named = {value.name for value in whole.graph.input}
    whole.graph.input.extend(
        onnx.helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in outside if t.name not in named
    )
    del whole.graph.initializer[:]
    whole.graph.initializer.extend(inside)
    try:
        onnx.checker.check_model(whole, full_check=True)
    except Exception as error:  # the checker raises several kinds, some of them its own
        return f"onnx.checker: {' '.join(str(error).split())[:300]}"
    return None


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
