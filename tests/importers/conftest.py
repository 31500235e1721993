import sys
from pathlib import Path

import onnx
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "benchmarks")]


def network(path, depth=2, width=4, batch=2, operator="Relu", symbolic=False, weights=False, identity=False):
    """An ONNX file of `depth` operators in a row, the first a matrix product, the last an identity if asked for."""
    h, kind = onnx.helper, onnx.TensorProto.FLOAT
    shape = ["N" if symbolic else batch, width]
    ends = [h.make_tensor_value_info(name, kind, shape) for name in ("x", f"t{depth}")]
    nodes = [h.make_node(operator, ["x" if i == 0 else f"t{i}"], [f"t{i + 1}"]) for i in range(depth)]
    tensors = []
    if weights:
        nodes[0] = h.make_node("MatMul", ["x", "w"], ["t1"])
        tensors = [h.make_tensor("w", kind, [width, width], [0.5] * width * width)]
    if identity:
        nodes[-1] = h.make_node("Identity", [f"t{depth - 1}"], [f"t{depth}"])
    graph = h.make_graph(nodes, "g", ends[:1], ends[1:], initializer=tensors)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)]), path)
    return path


@pytest.fixture(scope="session")
def make_network():
    return network
