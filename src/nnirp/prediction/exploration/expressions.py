"""Arithmetic on the arguments of a candidate, such as `4 * hidden_size`: numbers, names and operators, nothing else."""

import ast
import operator
from collections.abc import Mapping
from typing import Any

from nnirp.errors import InputError

_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate(text: str, values: Mapping[str, Any]) -> int | bool:
    """The value of an expression.

    Args:
        text: whole numbers, names of arguments, + − * // %, comparisons, `and`, `or`, parentheses.
        values: the arguments by name.

    Raises:
        InputError: anything else is in it, or it divides by zero.
    """
    try:
        return _value(ast.parse(text, mode="eval").body, values)
    except (SyntaxError, KeyError, TypeError, ZeroDivisionError, RecursionError) as error:
        known = ", ".join(sorted(k for k, v in values.items() if isinstance(v, int)))
        raise InputError(
            f"{text!r} is no arithmetic on the arguments ({type(error).__name__}: {error}); known are {known}"
        ) from None


def is_expression(value: Any, names: Mapping[str, Any]) -> bool:
    """Whether an argument is text that computes with another argument; a plain name or path is not."""
    if not isinstance(value, str):
        return False
    try:
        tree = ast.parse(value, mode="eval")
    except SyntaxError:
        return False
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return bool(used) and used <= set(names)


def _value(node: ast.AST, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, values), _value(node.right, values))
    if isinstance(node, ast.Compare) and all(type(op) in _COMPARE for op in node.ops):
        sides = [_value(side, values) for side in (node.left, *node.comparators)]
        return all(_COMPARE[type(op)](a, b) for op, a, b in zip(node.ops, sides, sides[1:], strict=False))
    if isinstance(node, ast.BoolOp):
        found = [bool(_value(part, values)) for part in node.values]
        return all(found) if isinstance(node.op, ast.And) else any(found)
    raise TypeError(f"{type(node).__name__} is not allowed")
