"""Find the integer literals in a line of source code."""

from __future__ import annotations

import ast
import functools
import re


@functools.lru_cache(maxsize=1024)
def integer_literals(text: str) -> set[int]:
    """Return the integers written in a line, including expressions such as `2**20` or `-1`."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):  # The line is only part of a statement.
        return {int(number) for number in re.findall(r"(?<![\w.])-?\b\d{1,30}\b(?![.\w])", text)}
    numbers = [_evaluate(node) for node in nodes if isinstance(node, ast.expr)]
    return {number for number in numbers if number is not None}


def _evaluate(node: ast.expr) -> int | None:
    """Return the value of an expression of integer literals, or None for any other expression."""
    match node:
        case ast.Constant(value=int(number)):
            return int(number)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            positive = _evaluate(inner)
            return None if positive is None else -positive
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _evaluate(left), _evaluate(right)
            if a is None or b is None or abs(a) > 2**64 or not 0 <= b <= 2**64:
                return None
            if isinstance(op, (ast.Pow, ast.LShift)):
                return a**b if isinstance(op, ast.Pow) and b < 65 else a << min(b, 64)
            return {ast.Add: a + b, ast.Sub: a - b, ast.Mult: a * b}.get(type(op))
    return None
