"""Small ONNX files of matrix products and activations."""

import numpy as np
import onnx
from onnx import TensorProto, helper


def write_model(path, width, operator="Relu", batch=2, depth=3, shapes=False):
    """A chain of `depth` square products, each followed by `operator`, with `shapes` every tensor's is in the file; returns the path."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, width])
    y = helper.make_tensor_value_info(f"t{2 * depth - 1}", TensorProto.FLOAT, [batch, width])
    weights = [
        helper.make_tensor(f"w{i}", TensorProto.FLOAT, [width, width], np.full(width * width, i)) for i in range(depth)
    ]
    nodes, last = [], "x"
    for i in range(depth):
        nodes += [
            helper.make_node("MatMul", [last, f"w{i}"], [f"t{2 * i}"]),
            helper.make_node(operator, [f"t{2 * i}"], [f"t{2 * i + 1}"]),
        ]
        last = f"t{2 * i + 1}"
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(onnx.shape_inference.infer_shapes(model) if shapes else model, path)
    return path
