"""The call that a formula sees, and the table of formulas by operator name."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple


class Operand(NamedTuple):
    """A tensor as one call sees it: ONNX element type, static shape, whether it is a weight or constant."""

    dtype: int
    shape: tuple[int, ...]
    weight: bool = False

    @property
    def size(self) -> int:
        return prod(self.shape)


class Call(NamedTuple):
    """One operator call; an optional operand that is not given is None."""

    op: str
    attributes: dict[str, Any]
    inputs: tuple[Operand | None, ...]
    outputs: tuple[Operand | None, ...]

    @property
    def out(self) -> Operand:
        """The first output that is given."""
        return next(o for o in self.outputs if o is not None)

    def given(self, position: int) -> bool:
        return position < len(self.inputs) and self.inputs[position] is not None


Formula = Callable[[Call], float]
FORMULAS: dict[str, Formula] = {}


def flops(*operators: str) -> Callable[[Formula], Formula]:
    """Register a formula for operators; a second formula for the same operator is a mistake."""

    def register(formula: Formula) -> Formula:
        for operator in operators:
            if operator in FORMULAS:
                raise ValueError(f"two formulas for {operator}")
            FORMULAS[operator] = formula
        return formula

    return register
