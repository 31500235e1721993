"""Small ONNX graphs for the tests of this folder, written in ONNX's own text form."""

import onnx
from onnx import parser, shape_inference

HEADER = '<ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1]>'


def onnx_graph(text: str, infer: bool = True) -> onnx.ModelProto:
    """Parse a graph; tensors that are declared without a value become weights without data."""
    model = parser.parse_model(HEADER + text)
    declared = model.graph
    produced = {name for node in declared.node for name in node.output}
    for value in [v for v in declared.value_info if v.name not in produced]:
        kind = value.type.tensor_type
        weight = declared.initializer.add(name=value.name, data_type=kind.elem_type)
        weight.dims.extend(d.dim_value for d in kind.shape.dim)
        weight.data_location = onnx.TensorProto.EXTERNAL
        declared.value_info.remove(value)
    return shape_inference.infer_shapes(model, data_prop=True) if infer else model
