"""Find the lines on which a function modifies one of its arguments in place."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.source.at_updates import nodes_of

_MUTATING_METHODS = frozenset(
    (
        *("add", "append", "clear", "discard", "extend", "fill", "insert", "itemset", "partition"),
        *("pop", "popitem", "popleft", "put", "remove", "resize", "reverse", "setdefault", "sort"),
        "update",
    )
)


def find_argument_write(function: Callable[..., Any], name: str) -> CodeLocation | None:
    """Return the first line on which a function modifies an argument, or None if there is none.

    Writes to an item or attribute of the argument count, and so do methods that modify it.

    Args:
        function: The function.
        name: The name of the parameter.
    """
    lines = [location for node, location in nodes_of(function) if _written_name(node) == name]
    return min(lines, key=lambda location: location.line, default=None)


def _written_name(node: ast.AST) -> str:
    """Return the name of the variable whose value a node modifies, or an empty string."""
    match node:
        case ast.AugAssign(target=target):
            return _root_name(target)
        case (
            ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store() | ast.Del())
        ):
            return _root_name(node)
        case ast.Call(func=ast.Attribute(value=receiver, attr=method)):
            return _root_name(receiver) if method in _MUTATING_METHODS else ""
        case ast.Call(args=[*_], keywords=keywords):
            outputs = (k.value for k in keywords if k.arg == "out")
            return next(map(_root_name, outputs), "")
    return ""


def _root_name(node: ast.expr) -> str:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
