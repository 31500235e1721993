"""What each TensorFlow operator of nn-Meter's graphs is in ONNX, channels first."""

from collections.abc import Callable

from nnirp.importers.nn_meter_graph import INPUT, STATIC_SHAPE, Builder, Shape, Tensor, channels_first

Rule = Callable[[Builder, int], list[Tensor]]
RULES: dict[str, Rule] = {}
KERNEL, WEIGHT_IN, WEIGHT_OUT, STRIDE = slice(0, 2), 2, 3, slice(4, 6)
SHAPE_ARITHMETIC = ("StridedSlice", "Pack")
PARAMETERS = ("Placeholder", "Const")


def rule(*operators: str) -> Callable[[Rule], Rule]:
    """Register what becomes of an operator."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(operators, function))
        return function

    return register


@rule("Placeholder")
def placeholder(builder: Builder, number: int) -> list[Tensor]:
    """The graph's input."""
    if builder.graph.input or any(tensor.name == INPUT for results in builder.tensors for tensor in results):
        raise builder.unmapped(number, "is a second input")
    return [Tensor(INPUT, channels_first(builder.source.outputs[number]))]


@rule("Const")
def const(builder: Builder, number: int) -> list[Tensor]:
    """An operand; it is written where a node reads it as data, a shape or a permutation otherwise is no tensor."""
    return [Tensor(f"n{number}", channels_first(builder.source.outputs[number]), constant=True)]


@rule("Conv2D", "DepthwiseConv2dNative")
def convolution(builder: Builder, number: int) -> list[Tensor]:
    """Conv; a depthwise one has as many groups as channels. A BiasAdd that alone reads the result is the third operand."""
    (data,) = builder.data(number, 1)
    window = builder.source.window[number]
    kernel = tuple(window[KERNEL])
    if len(data.shape) != 4 or min(kernel) < 1 or data.shape[1] % max(window[WEIGHT_IN], 1):
        raise builder.unmapped(number, f"reads {list(data.shape)} with a weight of {window[:4]}")
    depthwise = builder.source.op[number] == "DepthwiseConv2dNative"
    groups = data.shape[1] if depthwise else data.shape[1] // window[WEIGHT_IN]
    channels = data.shape[1] * window[WEIGHT_OUT] if depthwise else window[WEIGHT_OUT]
    shape, attributes = _window(builder, number, data.shape, channels)
    weight = (channels, data.shape[1] // groups, *kernel)
    operands = [data.name, builder.weight(number, "weight", weight), *_bias(builder, number, channels)]
    if groups > 1:
        attributes = (("group", groups), *attributes)
    return builder.emit(number, "Conv", operands, [shape], attributes)


@rule("MatMul")
def fully_connected(builder: Builder, number: int) -> list[Tensor]:
    """Gemm with a transposed weight, which is how a fully connected layer is exported."""
    (data,) = builder.data(number, 1)
    columns = channels_first(builder.source.outputs[number])[-1:]
    if len(data.shape) != 2 or not columns:
        raise builder.unmapped(number, f"multiplies {list(data.shape)}, expected [N, K]")
    weight = builder.weight(number, "weight", (*columns, data.shape[1]))
    operands = [data.name, weight, *_bias(builder, number, *columns)]
    return builder.emit(number, "Gemm", operands, [(data.shape[0], *columns)], (("transB", 1),))


@rule("BiasAdd")
def bias_add(builder: Builder, number: int) -> list[Tensor]:
    """Part of the product that it alone reads; an addition elsewhere."""
    (data,) = builder.data(number, 1)
    producer = builder.operands[number][0]
    if _is_biased(builder, producer):
        return [data]
    shape = (data.shape[1], *(1,) * (len(data.shape) - 2))
    return builder.emit(number, "Add", [data.name, builder.weight(number, "bias", shape)], [data.shape])


@rule("FusedBatchNorm")
def batch_normalisation(builder: Builder, number: int) -> list[Tensor]:
    """BatchNormalization with its four parameters."""
    (data,) = builder.data(number, 1)
    roles = ("scale", "bias", "mean", "variance")
    parameters = [builder.weight(number, role, (data.shape[1],)) for role in roles]
    return builder.emit(number, "BatchNormalization", [data.name, *parameters], [data.shape])


@rule("Relu")
def relu(builder: Builder, number: int) -> list[Tensor]:
    (data,) = builder.data(number, 1)
    return builder.emit(number, "Relu", [data.name], [data.shape])


@rule("Relu6")
def relu6(builder: Builder, number: int) -> list[Tensor]:
    """Clip between 0 and 6."""
    (data,) = builder.data(number, 1)
    return builder.emit(number, "Clip", [data.name, builder.scalar(0.0), builder.scalar(6.0)], [data.shape])


@rule("Add", "Mul")
def binary(builder: Builder, number: int) -> list[Tensor]:
    """Add or Mul with broadcasting; a constant vector is one value a channel."""
    operands = [_operand(builder, number, tensor) for tensor in builder.data(number, 2)]
    shape = _broadcast([tensor.shape for tensor in operands])
    if shape is None:
        raise builder.unmapped(number, f"combines {[list(t.shape) for t in operands]}")
    return builder.emit(number, builder.source.op[number], [t.name for t in operands], [shape])


@rule("ConcatV2")
def concat(builder: Builder, number: int) -> list[Tensor]:
    """Concat of channels."""
    parts = builder.data(number, len(builder.operands[number]))
    rest = {(p.shape[:1], p.shape[2:]) for p in parts}
    if len(rest) != 1 or any(p.constant for p in parts):
        raise builder.unmapped(
            number, f"joins {[list(p.shape) for p in parts]}, expected to differ in the channels alone"
        )
    shape = (parts[0].shape[0], sum(p.shape[1] for p in parts), *parts[0].shape[2:])
    return builder.emit(number, "Concat", [p.name for p in parts], [shape], (("axis", 1),))


@rule("Split")
def split(builder: Builder, number: int) -> list[Tensor]:
    """Split of channels into equal parts, one a consumer."""
    (data,) = builder.data(number, 1)
    part = channels_first(builder.source.outputs[number])
    count = len(builder.consumers[number])
    if len(part) != 4 or data.shape != (part[0], count * part[1], *part[2:]):
        raise builder.unmapped(number, f"makes {count} of {list(part)} from {list(data.shape)}")
    return builder.emit(number, "Split", [data.name], [part] * count, (("axis", 1), ("num_outputs", count)))


@rule("MaxPool", "AvgPool")
def pool(builder: Builder, number: int) -> list[Tensor]:
    """MaxPool or AveragePool, whose padding does not count; an average over the whole image is a GlobalAveragePool."""
    (data,) = builder.data(number, 1)
    window = builder.source.window[number]
    if len(data.shape) != 4 or min(window[KERNEL]) < 1:
        raise builder.unmapped(number, f"reads {list(data.shape)} with a window of {window[KERNEL]}")
    shape, attributes = _window(builder, number, data.shape, data.shape[1])
    average = builder.source.op[number] == "AvgPool"
    if average and tuple(window[KERNEL]) == data.shape[2:] and shape[2:] == (1, 1):
        return builder.emit(number, "GlobalAveragePool", [data.name], [shape])
    return builder.emit(number, "AveragePool" if average else "MaxPool", [data.name], [shape], attributes)


@rule("Mean")
def mean(builder: Builder, number: int) -> list[Tensor]:
    """The mean over the image before the classifier: GlobalAveragePool."""
    (data,) = builder.data(number, 1)
    if len(data.shape) != 4:
        raise builder.unmapped(number, f"reads {list(data.shape)}, expected an image")
    return builder.emit(number, "GlobalAveragePool", [data.name], [(*data.shape[:2], 1, 1)])


@rule("Reshape")
def reshape(builder: Builder, number: int) -> list[Tensor]:
    """Flatten before the classifier; elsewhere a Reshape that only takes channels apart or puts them together."""
    data = next(iter(builder.inputs(number)), STATIC_SHAPE)
    target = channels_first(builder.source.outputs[number])
    if target == data.shape[:2] and set(data.shape[2:]) <= {1}:
        return builder.emit(number, "Flatten", [data.name], [target], (("axis", 1),))
    same_images = data.shape[-2:] == target[-2:] and data.shape[:1] == target[:1]
    if min(len(data.shape), len(target)) < 4 or not same_images or _size(data.shape) != _size(target):
        raise builder.unmapped(number, f"makes {list(target)} of {list(data.shape)}: in channels first it moves data")
    return builder.emit(number, "Reshape", [data.name, builder.shape_operand(target)], [target])


@rule("Transpose")
def transpose(builder: Builder, number: int) -> list[Tensor]:
    """The exchange of the two channel axes in a channel shuffle."""
    data = next(iter(builder.inputs(number)), STATIC_SHAPE)
    target = channels_first(builder.source.outputs[number])
    if len(data.shape) != 5 or target != (data.shape[0], data.shape[2], data.shape[1], *data.shape[3:]):
        raise builder.unmapped(number, f"makes {list(target)} of {list(data.shape)}: not an exchange of channel axes")
    return builder.emit(number, "Transpose", [data.name], [target], (("perm", (0, 2, 1, 3, 4)),))


@rule(*SHAPE_ARITHMETIC)
def shape_arithmetic(builder: Builder, number: int) -> list[Tensor]:
    """A part of a shape, all of whose sizes are known: it ends in the constant operand of a Reshape."""
    if any(builder.source.op[c] not in (*SHAPE_ARITHMETIC, "Reshape") for c in builder.consumers[number]):
        raise builder.unmapped(number, "computes something else than the shape of a Reshape")
    return [STATIC_SHAPE]


def _window(builder: Builder, number: int, data: Shape, channels: int) -> tuple[Shape, tuple]:
    """The result's shape and the attributes of a window that slides over an image."""
    window = builder.source.window[number]
    kernel, strides = tuple(window[KERNEL]), tuple(max(s, 1) for s in window[STRIDE])
    stated = channels_first(builder.source.outputs[number])
    image = tuple(stated[2:]) if len(stated) == 4 else _image_before_mean(builder, number, data[2:])
    pads = [padding(*sizes) for sizes in zip(data[2:], image, kernel, strides, strict=True)]
    if None in pads:
        raise builder.unmapped(
            number, f"makes an image of {list(image)} from {list(data[2:])}: neither SAME nor VALID padding does"
        )
    attributes = (
        ("kernel_shape", kernel),
        ("pads", (*(p[0] for p in pads), *(p[1] for p in pads))),
        ("strides", strides),
    )
    return (data[0], channels, *image), attributes


def padding(before: int, after: int, kernel: int, stride: int) -> tuple[int, int] | None:
    """Pixels in front of and behind one axis; None where neither of TensorFlow's paddings makes that size.

    SAME: ⌈before / stride⌉ windows, the odd pixel behind; VALID: no padding, ⌊(before − kernel) / stride⌋ + 1 windows.
    Source: TensorFlow, tf.nn.convolution.
    """
    if after == same(before, stride):
        total = max((after - 1) * stride + kernel - before, 0)
        return total // 2, total - total // 2
    return (0, 0) if after == valid(before, kernel, stride) else None


def same(before: int, stride: int) -> int:
    return -(-before // stride)


def valid(before: int, kernel: int, stride: int) -> int:
    return (before - kernel) // stride + 1


def _image_before_mean(builder: Builder, number: int, image: Shape) -> Shape:
    """The size that the table does not have, because it gives the operator before the global mean the mean's result.

    The padding is that of the graph's other windows of this operator, else of other poolings, as far as their sizes tell; SAME
    where nothing does.
    """
    source = builder.source
    kernel, strides = source.window[number][KERNEL], source.window[number][STRIDE]
    votes: list[tuple[bool, bool]] = []
    for op, before, after, window in zip(source.op, source.inputs, source.outputs, source.window, strict=True):
        size, stride = window[0], max(window[4], 1)
        if op in ("MaxPool", "AvgPool") and after[3] and same(before[1], stride) != valid(before[1], size, stride):
            votes.append((op == source.op[number], after[1] == same(before[1], stride)))
    best = [is_same for own, is_same in votes if own] or [is_same for _, is_same in votes]
    if 2 * sum(best) >= len(best):
        return tuple(same(size, max(s, 1)) for size, s in zip(image, strides, strict=True))
    return tuple(valid(size, k, max(s, 1)) for size, k, s in zip(image, kernel, strides, strict=True))


def _is_biased(builder: Builder, number: int) -> bool:
    """Whether a product's result is read by one BiasAdd and nothing else."""
    consumers = builder.consumers[number]
    products = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
    return (
        builder.source.op[number] in products and len(consumers) == 1 and builder.source.op[consumers[0]] == "BiasAdd"
    )


def _bias(builder: Builder, number: int, channels: int) -> list[str]:
    return [builder.weight(number, "bias", (channels,))] if _is_biased(builder, number) else []


def _operand(builder: Builder, number: int, tensor: Tensor) -> Tensor:
    """A constant of an arithmetic operator as an initialiser; TensorFlow puts a vector along the channels."""
    if not tensor.constant:
        return tensor
    if len(tensor.shape) > 1:
        raise builder.unmapped(number, f"has a constant of shape {list(tensor.shape)}, expected a number or a vector")
    shape = (*tensor.shape, 1, 1) if _size(tensor.shape) > 1 else tensor.shape
    return Tensor(builder.weight(number, tensor.name, shape), shape)


def _broadcast(shapes: list[Shape]) -> Shape | None:
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    sizes = [{size for size in axis if size != 1} for axis in zip(*padded, strict=True)]
    return tuple(next(iter(axis), 1) for axis in sizes) if all(len(axis) <= 1 for axis in sizes) else None


def _size(shape: Shape) -> int:
    total = 1
    for size in shape:
        total *= size
    return total
