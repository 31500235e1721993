"""Data movement: operators that compute nothing, named one by one, and those that interpolate or accumulate.

A zero is a statement here, never a missing formula: `DATA_MOVEMENT` lists every operator whose FLOPs are 0.
"""

from nnirp.features.costs.registry import Call, flops

DATA_MOVEMENT = frozenset(
    [
        "Reshape",
        "Transpose",
        "Squeeze",
        "Unsqueeze",
        "Flatten",
        "Identity",
        "Dropout",
        "Cast",
        "CastLike",
        "BitCast",
        "Concat",
        "Split",
        "Slice",
        "Gather",
        "GatherElements",
        "GatherND",
        "Expand",
        "Tile",
        "Pad",
        "DepthToSpace",
        "SpaceToDepth",
        "Shape",
        "Size",
        "Constant",
        "ConstantOfShape",
        "Range",
        "EyeLike",
        "Trilu",
        "NonZero",
        "Compress",
        "OneHot",
        "ReverseSequence",
        "CenterCropPad",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "SplitToSequence",
        "ConcatFromSequence",
        "MaxUnpool",
        "TensorScatter",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "Multinomial",
        "HannWindow",
        "HammingWindow",
        "BlackmanWindow",
        "MelWeightMatrix",
        "StringNormalizer",
        "TfIdfVectorizer",
        "LabelEncoder",
        "ArrayFeatureExtractor",
        "FeatureVectorizer",
        "ZipMap",
        "CastMap",
        "QLinearConcat",
        "Col2Im",
        "ExpandDims",
        "UnfoldTensor",
        "TorchEmbedding",
        "OneHotEncoder",
        "StringConcat",
        "StringSplit",
    ]
)

# Operators whose result shares its first operand's memory when PyTorch executes them.
VIEWS = frozenset(
    ["Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Dropout", "Slice", "Split", "Expand"]
)

# Operators that read only as many elements of the first operand as they write: a table look-up does not read the table.
READS_WHAT_IT_WRITES = frozenset(
    ["Gather", "GatherElements", "GatherND", "Slice", "TorchEmbedding", "GatherBlockQuantized"]
)

# Operands that configure the operator (shapes, axes, limits). A constant there is like an attribute, which is what it is
# in other operator-set versions: neither a weight nor an input.
PARAMETER_OPERANDS: dict[str, frozenset[int]] = {
    **{op: frozenset((1,)) for op in ["Reshape", "Expand", "Squeeze", "Unsqueeze", "Tile", "Upsample", "Split", "TopK", "CumSum", "CumProd", "Trilu", "CenterCropPad", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "SplitToSequence", "SequenceAt", "DFT"]},
    **{op: frozenset((1, 2)) for op in ("Clip", "Dropout", "OneHot", "Col2Im")},
    **{op: frozenset((1, 2, 3)) for op in ("Pad", "Resize", "STFT")},
    "Slice": frozenset((1, 2, 3, 4)),
    "Range": frozenset((0, 1, 2)),
    "ConstantOfShape": frozenset((0,)),
    "NonMaxSuppression": frozenset((2, 3, 4)),
    "Loop": frozenset((0, 1)),
}  # fmt: skip


@flops(*DATA_MOVEMENT)
def movement(call: Call) -> float:
    """0: nothing is computed, the cost is the bytes."""
    return 0.0


# FLOPs an output element by the number of taps of the kernel: multiply-accumulate each.
_RESIZE_TAPS = {"nearest": 0, "linear": 2, "cubic": 4}


@flops("Resize", "Upsample")
def resize(call: Call) -> float:
    """2 · taps^axes an output element, the axes being those whose size changes; 0 for nearest neighbours (a copy).

    Source: ONNX Resize; Keys, Cubic convolution interpolation, 1981.
    """
    taps = _RESIZE_TAPS[call.attributes.get("mode", "nearest")]
    axes = sum(a != b for a, b in zip(call.inputs[0].shape, call.out.shape, strict=True))
    return 2.0 * taps**axes * call.out.size if taps and axes else 0.0


@flops("ScatterND", "ScatterElements", "Scatter")
def scatter(call: Call) -> float:
    """One FLOP an update where a reduction combines it, 0 where it overwrites. Source: ONNX ScatterND `reduction`."""
    return 0.0 if call.attributes.get("reduction", "none") == "none" else float(call.inputs[2].size)


@flops("GridSample")
def grid_sample(call: Call) -> float:
    """Interpolation of 2 (linear) or 4 (cubic) taps an axis: 2 · taps^axes an output, and 4 FLOPs a coordinate to scale it.

    Source: ONNX GridSample; Jaderberg et al., Spatial Transformer Networks, 2015, equations 4–5.
    """
    mode = call.attributes.get("mode", "linear")
    taps = {"nearest": 0, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}[mode]
    axes = len(call.out.shape) - 2
    return (2.0 * taps**axes if taps else 0.0) * call.out.size + 4.0 * call.inputs[1].size


@flops("AffineGrid")
def affine_grid(call: Call) -> float:
    """A product of each homogeneous coordinate with the matrix: 2 · (axes + 1) an output. Source: ONNX AffineGrid."""
    return 2.0 * (call.out.shape[-1] + 1) * call.out.size
