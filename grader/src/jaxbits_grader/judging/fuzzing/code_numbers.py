"""Find the numbers in a student's code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

_MAX = 1e300
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


def numbers_in(source: str) -> list[float]:
    """Return the numbers in a cell, including those that it computes from others, like ``10**6``.

    Args:
        source: The source of the cell. If it is not valid Python, there are no numbers.

    Example:
        >>> numbers_in("x = y % 1_000_003 if n < 2**5 - 1 else 0.5")
        [0.5, 1, 2, 5, 31, 32, 1000003]
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = {_value(node) for node in nodes if isinstance(node, ast.Constant | ast.BinOp)}
    return sorted(number for number in found if number is not None)


def _value(node: ast.expr) -> float | None:
    """Return the value of an expression of constants, or None for any other one."""
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value if abs(value) < _MAX else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand)
        return None if value is None else -value
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _value(node.left), _value(node.right)
    if left is None or right is None:
        return None
    try:
        if isinstance(node.op, ast.Pow | ast.LShift):
            if abs(right) > 300 or abs(left) > 1e6:
                return None
            result = left**right if isinstance(node.op, ast.Pow) else int(left) << int(right)
        elif type(node.op) in _OPERATORS:
            result = _OPERATORS[type(node.op)](left, right)
        else:
            return None
        return result if isinstance(result, int | float) and abs(result) < _MAX else None
    except (ArithmeticError, ValueError):
        return None
