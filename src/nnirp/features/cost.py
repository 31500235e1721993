"""The cost of one operator call: FLOPs by its group's formula, bytes by tensor type."""

from typing import NamedTuple

from nnirp.errors import InputError
from nnirp.features.costs import (  # noqa: F401  (each registers its formulas)
    attention,
    control,
    convolution,
    detection,
    elementwise,
    matmul,
    normalisation,
    quantised,
    recurrent,
    reduction,
)
from nnirp.features.costs.movement import PARAMETER_OPERANDS, READS_WHAT_IT_WRITES
from nnirp.features.costs.registry import FORMULAS, Call, Operand
from nnirp.features.dtypes import tensor_bytes

__all__ = ["Call", "Cost", "Operand", "bytes_read", "call_cost", "is_parameter", "knows"]


class Cost(NamedTuple):
    """FLOPs and bytes of one call; `weights` counts its weight operands, `known` is false without a formula."""

    flops: float
    input_bytes: float
    output_bytes: float
    weight_bytes: float
    inputs: int
    outputs: int
    weights: int
    known: bool


def knows(op: str) -> bool:
    """Whether there is a formula for the operator (that of a data movement is a stated 0)."""
    return op in FORMULAS


def is_parameter(op: str, position: int) -> bool:
    """Whether a constant at this position configures the operator instead of being data (a shape, axes, limits)."""
    return position in PARAMETER_OPERANDS.get(op, ())


def bytes_read(call: Call, position: int) -> int:
    """Bytes of an operand that the call reads: all of it, but a look-up reads only what it writes."""
    operand = call.inputs[position]
    size = tensor_bytes(operand.dtype, operand.shape)
    if position == 0 and call.op in READS_WHAT_IT_WRITES:
        return min(size, tensor_bytes(operand.dtype, call.out.shape))
    return size


def call_cost(call: Call) -> Cost:
    """Cost of a call with static shapes.

    An operator without a formula has the cost of its bytes only: 0 FLOPs with `known=False`, never a silent zero.

    Raises:
        InputError: an operator's operands do not have the ranks or attributes that ONNX defines for it.
    """
    inputs = weights = input_bytes = weight_bytes = 0
    for position, operand in enumerate(call.inputs):
        if operand is None or (operand.weight and is_parameter(call.op, position)):
            continue
        if operand.weight:
            weights, weight_bytes = weights + 1, weight_bytes + bytes_read(call, position)
        else:
            inputs, input_bytes = inputs + 1, input_bytes + bytes_read(call, position)
    outputs = [o for o in call.outputs if o is not None]
    formula = FORMULAS.get(call.op)
    try:
        flops = formula(call) if formula and outputs else 0.0
    except (IndexError, KeyError, AttributeError, ValueError, TypeError, ZeroDivisionError) as error:
        shapes = [o.shape if o else None for o in call.inputs]
        raise InputError(
            f"{call.op} with input shapes {shapes} is not what ONNX defines ({type(error).__name__}: {error}); "
            "check the file: `python -m onnx.checker`"
        ) from error
    return Cost(
        flops, input_bytes, sum(tensor_bytes(o.dtype, o.shape) for o in outputs), weight_bytes,
        inputs, len(outputs), weights, formula is not None,
    )  # fmt: skip
