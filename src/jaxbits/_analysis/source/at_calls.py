"""Read how a line of code updates an array with `.at`, to advise another update."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.source.ast_utils import parse_file


@dataclass(frozen=True)
class AtCall:
    """An update such as ``x.at[i].set(x[i] + 1)``.

    Attributes:
        target: The source of the array with its indices, as in ``x.at[i]``.
        index: The source of the indices, as in ``i``.
        amounts: What the value adds to ``x[i]`` or multiplies it by, keyed by the method that does
            the same. It is empty if the value has another form.
    """

    target: str
    index: str
    amounts: dict[str, str]


def find_at_call(location: CodeLocation | None, method: str = "set") -> AtCall | None:
    """Return the only update with a method of `.at` that begins on a line, or None.

    Args:
        location: The line.
        method: The name of the method.
    """
    tree = parse_file(location.file) if location else None
    if tree is None or location is None:
        return None
    found = []
    for node in ast.walk(tree):
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
        if not first <= location.line <= last:
            continue
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Subscript(value=ast.Attribute(value=array, attr="at"), slice=index),
                    attr=name,
                ),
                args=[value, *_],
            ) if name == method:
                found.append(_describe(array, index, value))
    return found[0] if len(found) == 1 else None


def _describe(array: ast.expr, index: ast.expr, value: ast.expr) -> AtCall:
    where = ast.unparse(index).removeprefix("(").removesuffix(")")
    if not isinstance(index, ast.Tuple):
        where = ast.unparse(index)
    item = ast.unparse(ast.Subscript(value=array, slice=index, ctx=ast.Load()))
    amounts = {}
    match value:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if ast.unparse(left) == item:
            amounts["add"] = ast.unparse(right)
        case ast.BinOp(left=left, op=ast.Add(), right=right) if ast.unparse(right) == item:
            amounts["add"] = ast.unparse(left)
        case ast.BinOp(left=left, op=ast.Sub(), right=right) if ast.unparse(left) == item:
            amounts["add"] = ast.unparse(ast.UnaryOp(op=ast.USub(), operand=right))
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if ast.unparse(left) == item:
            amounts["multiply"] = ast.unparse(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if ast.unparse(right) == item:
            amounts["multiply"] = ast.unparse(left)
    return AtCall(f"{ast.unparse(array)}.at[{where}]", where, amounts)
