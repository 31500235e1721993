import numpy as np
import onnx
import onnxruntime
import pytest
from nn_meter_tables import Network, image, padded, plain, residual
from onnx import numpy_helper, shape_inference

from nnirp.importers.nn_meter_graph import UnmappedError, to_onnx
from nnirp.importers.nn_meter_operators import padding
from nnirp.importers.nn_meter_source import OperatorGraph


def convert(network):
    rows = network.rows
    parts = ([row[:5] for row in rows], [row[11:] for row in rows], [row[5:11] for row in rows])
    model = to_onnx(OperatorGraph(network.ops, *parts, [list(edge) for edge in network.edges])).model
    shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    return model


def operators(model):
    return [node.op_type for node in model.graph.node]


def attributes(model, op):
    node = next(node for node in model.graph.node if node.op_type == op)
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def shapes(model):
    values = [*model.graph.input, *model.graph.value_info, *model.graph.output]
    found = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}
    return found | {t.name: list(t.dims) for t in model.graph.initializer}


def run(model, image):
    """The result on an image [N, C, H, W] with random weights, and the weights."""
    filled = onnx.ModelProto()
    filled.CopyFrom(model)
    random, weights = np.random.default_rng(0), {}
    for tensor in filled.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            weights[tensor.name] = random.uniform(0.1, 1, tuple(tensor.dims)).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name], tensor.name))
    session = onnxruntime.InferenceSession(filled.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"input": image})[0], weights


def test_a_network_becomes_its_channels_first_export():
    model = convert(plain(width=6))
    assert operators(model) == ["Conv", "BatchNormalization", "Relu", "GlobalAveragePool", "Flatten", "Gemm"]
    assert shapes(model) == {
        "input": [1, 3, 8, 8],
        "t1": [1, 6, 8, 8],
        "t2": [1, 6, 8, 8],
        "t3": [1, 6, 8, 8],
        "t4": [1, 6, 1, 1],
        "t5": [1, 6],
        "t6": [1, 10],
        "n1.weight": [6, 3, 3, 3],
        **{f"n2.{role}": [6] for role in ("scale", "bias", "mean", "variance")},
        "n6.weight": [10, 6],
    }
    assert run(model, np.ones((1, 3, 8, 8), np.float32))[0].shape == (1, 10)


@pytest.mark.parametrize(
    ("before", "after", "kernel", "stride", "pads"),
    [
        (8, 4, 3, 2, (0, 1)),
        (8, 8, 3, 1, (1, 1)),
        (8, 8, 4, 1, (1, 2)),
        (13, 6, 3, 2, (0, 0)),
        (28, 1, 28, 1, (0, 0)),
        (8, 2, 1, 4, (0, 0)),
        (8, 5, 3, 2, None),
    ],
)
def test_padding_is_tensorflows_same_or_valid(before, after, kernel, stride, pads):
    assert padding(before, after, kernel, stride) == pads


def test_windows_have_the_tables_kernel_stride_and_size():
    network = image(size=9)
    network.conv(4, kernel=3, stride=2)
    network.add("MaxPool", (1, 2, 2, 4), kernel=3, stride=2)
    network.add("AvgPool", (1, 2, 2, 4), kernel=3, stride=1)
    model = convert(network)
    assert attributes(model, "Conv") == {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    assert attributes(model, "MaxPool") == {"kernel_shape": [3, 3], "pads": [0, 0, 0, 0], "strides": [2, 2]}
    assert attributes(model, "AveragePool")["pads"] == [1, 1, 1, 1]


def test_a_depthwise_convolution_has_a_group_a_channel():
    network = image(channels=6)
    network.add("DepthwiseConv2dNative", kernel=3, stride=1, weight=(6, 1))
    model = convert(network)
    assert attributes(model, "Conv")["group"] == 6 and shapes(model)["n1.weight"] == [6, 1, 3, 3]


def test_a_bias_is_part_of_the_product_that_it_alone_follows():
    network = image()
    network.conv(4, kernel=1)
    network.add("BiasAdd")
    network.add("BiasAdd")
    model = convert(network)
    assert operators(model) == ["Conv", "Add"]
    assert [len(node.input) for node in model.graph.node] == [3, 2] and shapes(model)["n3.bias"] == [4, 1, 1]


def test_squeeze_and_excitation_with_hard_sigmoid():
    network = image(channels=4)
    start = network.conv(4)
    network.add("AvgPool", (1, 1, 1, 4), kernel=8, stride=1)
    network.conv(4, kernel=1)
    gate = network.add("BiasAdd")
    three = network.add("Const", (), [])
    network.add("Add", operands=[gate, three])
    clipped = network.add("Relu6")
    sixth = network.add("Const", (), [])
    scaled = network.add("Mul", operands=[clipped, sixth])
    network.rows[scaled][-5:] = padded((1, 8, 8, 4))  # the source gives the size of what it is multiplied with
    network.add("Mul", (1, 8, 8, 4), [scaled, start])
    model = convert(network)
    assert operators(model) == ["Conv", "GlobalAveragePool", "Conv", "Add", "Clip", "Mul", "Mul"]
    found, weights = run(model, np.ones((1, 4, 8, 8), np.float32))
    assert found.shape == (1, 4, 8, 8) and weights["n6.n5"].shape == ()


def test_a_channel_shuffle_moves_the_same_channels_as_in_the_source():
    network = image(size=2, channels=6)
    const = [network.add("Const", (length,), []) for length in (4, 1, 1, 1)]
    network.add("StridedSlice", operands=[0, *const[1:]])
    size = network.add("Pack", (), [len(network.ops) - 1, *const[1:]])
    apart = network.add("Reshape", (1, 2, 2, 2, 3), [0, size])
    axes = network.add("Const", (5,), [])
    network.add("Transpose", (1, 2, 2, 3, 2), [apart, axes])
    network.add("Reshape", (1, 2, 2, 6), [len(network.ops) - 1, size])
    network.add("Relu")
    model = convert(network)
    assert operators(model) == ["Reshape", "Transpose", "Reshape", "Relu"]
    given = np.arange(24, dtype=np.float32).reshape(1, 2, 2, 6)  # as the source sees it, channels last
    expected = given.reshape(1, 2, 2, 2, 3).swapaxes(3, 4).reshape(1, 2, 2, 6)
    found, _ = run(model, given.transpose(0, 3, 1, 2).copy())
    assert np.array_equal(found.transpose(0, 2, 3, 1), expected)


def test_parts_of_a_split_go_to_one_reader_each():
    network = image(channels=6)
    start = network.add("Split", (1, 8, 8, 3))
    left = network.add("Relu", operands=[start])
    right = network.conv(3, operands=[start])
    network.add("ConcatV2", (1, 8, 8, 6), [left, right])
    model = convert(network)
    assert [next(iter(node.input)) for node in model.graph.node[1:3]] == ["t1_0", "t1_1"]
    assert shapes(model)["t4"] == [1, 6, 8, 8]


@pytest.mark.parametrize(("size", "between", "before_mean"), [(29, 14, 6), (30, 15, 8), (14, 7, 4)])
def test_the_pooling_before_the_mean_is_padded_like_the_graphs_other_poolings(size, between, before_mean):
    # 29 → 14 is VALID, 30 → 15 is SAME, 14 → 7 with a kernel of 2 is both and tells nothing
    network = image(size=size)
    network.add("MaxPool", (1, between, between, 3), kernel=2 if size == 14 else 3, stride=2)
    network.add("MaxPool", kernel=3, stride=2)
    network.classifier()
    assert shapes(convert(network))["t2"] == [1, 3, before_mean, before_mean]


def test_edges_are_counted_by_the_operators_they_join():
    network = residual()
    rows = network.rows
    parts = ([row[:5] for row in rows], [row[11:] for row in rows], [row[5:11] for row in rows])
    bigrams = to_onnx(OperatorGraph(network.ops, *parts, [list(edge) for edge in network.edges])).bigrams
    assert bigrams[("Conv", "Add")] == 2 and bigrams[("Add", "Clip")] == 1 and ("Conv", "Conv") not in bigrams


@pytest.mark.parametrize(
    ("op", "shape", "says"),
    [("Softmax", None, "no rule"), ("Relu", (1, 4, 4, 3), "in the table"), ("Reshape", (1, 4, 16, 3), "moves data")],
)
def test_what_has_no_counterpart_is_named(op, shape, says):
    network = image()
    network.add(op, shape)
    with pytest.raises(UnmappedError, match=says) as error:
        convert(network)
    assert error.value.operator == op


def test_static_shapes_may_only_end_in_a_reshape():
    network = Network()
    network.add("Placeholder", (1, 4, 4, 3))
    network.add("StridedSlice")
    network.add("Relu")
    with pytest.raises(UnmappedError, match="StridedSlice"):
        convert(network)
