"""Element-wise operators: a table of FLOPs an output element, counted in primitives of the ONNX definition."""

from nnirp.features.costs.registry import Call, flops

ELEMENTWISE_FLOPS: dict[str, float] = {
    **dict.fromkeys(
        [
            "Add",
            "Sub",
            "Mul",
            "Div",
            "Pow",
            "Mod",
            "Sqrt",
            "Exp",
            "Log",
            "Neg",
            "Abs",
            "Reciprocal",
            "Erf",
            "Tanh",
            "Sin",
            "Cos",
            "Tan",
            "Asin",
            "Acos",
            "Atan",
            "Sinh",
            "Cosh",
            "Asinh",
            "Acosh",
            "Atanh",
            "Floor",
            "Ceil",
            "Round",
            "Sign",
            "Relu",
            "PRelu",
            "Equal",
            "Greater",
            "GreaterOrEqual",
            "Less",
            "LessOrEqual",
            "And",
            "Or",
            "Xor",
            "Not",
            "Where",
            "IsNaN",
            "IsInf",
            "BitShift",
            "BitwiseAnd",
            "BitwiseOr",
            "BitwiseXor",
            "BitwiseNot",
            "CumSum",
            "CumProd",
            "ThresholdedRelu",
            "Bernoulli",
            "Binarizer",
            "Imputer",
        ],
        1.0,
    ),
    "LeakyRelu": 2.0,  # compare, scale
    "Clip": 2.0,  # max, min
    "Sigmoid": 4.0,  # negate, exp, add, reciprocal
    "HardSigmoid": 4.0,  # scale, add, max, min
    "HardSwish": 5.0,  # x · HardSigmoid(x)
    "Swish": 5.0,  # x · Sigmoid(x)
    "QuickGelu": 6.0,  # x · Sigmoid(1.702 x)
    "SwiGLU": 6.0,  # Swish of one half times the other
    "Softplus": 3.0,  # exp, add, log
    "Softsign": 3.0,  # abs, add, divide
    "Mish": 5.0,  # x · tanh(softplus(x))
    "Elu": 4.0,  # compare, exp, subtract, scale
    "Selu": 5.0,
    "Celu": 6.0,
    "Shrink": 3.0,
    "BiasGelu": 6.0,  # add, Gelu
    "BiasSplitGelu": 7.0,  # add to both halves, Gelu of one, product
    "BiasAdd": 2.0,  # bias and skip
    "MulInteger": 3.0,  # subtract both zero points, multiply
    "ComplexMul": 3.0,  # four products and two additions for two numbers
    "Scaler": 2.0,  # subtract the offset, scale
    "RotaryEmbedding": 3.0,  # two products and an addition
}
# Gelu by its `approximate`: x/2 · (1 + erf(x/√2)) and the tanh form, Hendrycks & Gimpel, 2016.
_GELU = {"none": 5.0, "tanh": 9.0}


@flops(*ELEMENTWISE_FLOPS)
def elementwise(call: Call) -> float:
    """`ELEMENTWISE_FLOPS[op]` an element of the (broadcast) output. Source: ONNX operator definitions."""
    return ELEMENTWISE_FLOPS[call.op] * call.out.size


@flops("Gelu", "FastGelu")
def gelu(call: Call) -> float:
    """5 FLOPs an element, 9 for the tanh form, one more for FastGelu's bias. Source: Hendrycks & Gimpel, 2016."""
    form = "tanh" if call.op == "FastGelu" else call.attributes.get("approximate", "none")
    return (_GELU[form] + (1.0 if call.op == "FastGelu" and call.given(1) else 0.0)) * call.out.size


@flops("Min", "Max", "Sum", "Mean")
def variadic(call: Call) -> float:
    """One FLOP an element for every operand after the first, one more for the mean's division. Source: ONNX definitions."""
    operands = sum(o is not None for o in call.inputs)
    return max(operands - 1 + (1 if call.op == "Mean" else 0), 1) * float(call.out.size)
