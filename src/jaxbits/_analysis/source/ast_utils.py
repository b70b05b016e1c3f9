"""Functions that parse source files and find the code that encloses a line or a call."""

from __future__ import annotations

import ast
import functools
import linecache
import types
from collections.abc import Iterator
from typing import Any

from jaxbits._analysis.code_location import CodeLocation

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@functools.lru_cache(maxsize=64)
def _parse(file: str, text: str) -> ast.Module | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node  # type: ignore[attr-defined]
    return tree


def parse_file(file: str) -> ast.Module | None:
    """Return the syntax tree of a file, or None if its source is unavailable or invalid.

    Each node has an attribute `parent`.
    """
    text = "".join(linecache.getlines(file))
    return _parse(file, text) if text else None


def ancestors(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that enclose a node, innermost first."""
    current = getattr(node, "parent", None)
    while current is not None:
        yield current
        current = getattr(current, "parent", None)


def enclosing_loop(location: CodeLocation) -> CodeLocation | None:
    """Return the first line of the innermost Python loop around a line, or None if there is none.

    The loop must be in the same function as the line.
    """
    return next(iter(enclosing_loops(location)), None)


def enclosing_loops(location: CodeLocation) -> list[CodeLocation]:
    """Return the first lines of the Python loops around a line in its function, innermost first."""
    tree = parse_file(location.file)
    found: list[Any] = []
    for node in ast.walk(tree) if tree else ():
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if first is None or last is None or not first <= location.line <= last:
            continue
        is_loop = isinstance(node, (ast.For, ast.While, ast.AsyncFor))
        is_loop = is_loop and _first_repeated_line(node) <= location.line
        is_loop = is_loop or isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp))
        is_loop = is_loop or isinstance(node, ast.GeneratorExp)
        if is_loop and not _is_in_inner_function(node, location):
            found.append(node)
    found = sorted(found, key=lambda node: int(node.lineno))  # Of one line, the innermost is last.
    return [CodeLocation(location.file, node.lineno, location.function) for node in found[::-1]]


def _first_repeated_line(node: Any) -> int:
    """Return the first line that a loop repeats. For a `while`, this is the condition."""
    return int(node.lineno if isinstance(node, ast.While) else node.body[0].lineno)


def _is_in_inner_function(loop: ast.AST, location: CodeLocation) -> bool:
    """Return whether a line is in a function that is defined inside a loop."""
    function_types: tuple[type[Any], ...] = (ast.FunctionDef, ast.AsyncFunctionDef)
    if location.function.endswith("<lambda>"):
        function_types += (ast.Lambda,)
    return any(
        isinstance(node, function_types)
        and node.lineno <= location.line <= (node.end_lineno or node.lineno)
        for node in ast.walk(loop)
    )


def current_call(frame: types.FrameType) -> ast.Call | None:
    """Return the call that a frame is making, or None if its source is unavailable."""
    positions = list(frame.f_code.co_positions())
    index = frame.f_lasti // 2
    tree = parse_file(frame.f_code.co_filename)
    if tree is None or not 0 <= index < len(positions):
        return None
    _, line, _, column = positions[index]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (node.end_lineno, node.end_col_offset) == (line, column):
            return node
    return None


def enclosing_scope(node: ast.AST) -> ast.AST:
    """Return the innermost function or class that contains a node, or else the module."""
    last = node
    for last in ancestors(node):
        if isinstance(last, _SCOPES):
            break
    return last
