"""The text of a program, taken apart: what stands around a line or a call."""

from __future__ import annotations

import ast
import functools
import linecache
import types
from collections.abc import Iterator
from typing import Any

from jaxbits._analysis.code_location import Place

Loop = ast.For | ast.While | ast.AsyncFor | ast.comprehension
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@functools.lru_cache(maxsize=64)
def _parsed(file: str, text: str) -> ast.Module | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.above = node  # type: ignore[attr-defined]
    return tree


def parsed(file: str) -> ast.Module | None:
    """Return a file's tree, each node with its parent as `above`; None without the text."""
    text = "".join(linecache.getlines(file))
    return _parsed(file, text) if text else None


def above(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes around a node, the innermost first."""
    here = getattr(node, "above", None)
    while here is not None:
        yield here
        here = getattr(here, "above", None)


def loop_around(place: Place) -> Place | None:
    """Return the line of the innermost loop of Python's around a line, None where there is none.

    The loop must stand in the same function as the line.
    """
    tree = parsed(place.file)
    if tree is None:
        return None
    best: Any = None
    for node in ast.walk(tree):
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if first is None or last is None or not first <= place.line <= last:
            continue
        inside = isinstance(node, (ast.For, ast.While, ast.AsyncFor))
        inside = inside and _begins(node) <= place.line
        inside = inside or isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp))
        inside = inside or isinstance(node, ast.GeneratorExp)
        if inside and (best is None or first >= best.lineno):
            best = node
    if best is None or _other_function(best, place):
        return None
    return Place(place.file, best.lineno, place.function)


def _begins(node: Any) -> int:
    """Return the first line that a loop repeats: a `while` repeats its condition too."""
    return int(node.lineno if isinstance(node, ast.While) else node.body[0].lineno)


def _other_function(loop: ast.AST, place: Place) -> bool:
    """Whether a function that stands inside of the loop holds the line."""
    kinds: tuple[type[Any], ...] = (ast.FunctionDef, ast.AsyncFunctionDef)
    if place.function.endswith("<lambda>"):
        kinds += (ast.Lambda,)
    return any(
        isinstance(node, kinds) and node.lineno <= place.line <= (node.end_lineno or node.lineno)
        for node in ast.walk(loop)
    )


def call_at(frame: types.FrameType) -> ast.Call | None:
    """Return the call that a frame is making."""
    positions = list(frame.f_code.co_positions())
    index = frame.f_lasti // 2
    tree = parsed(frame.f_code.co_filename)
    if tree is None or not 0 <= index < len(positions):
        return None
    _, line, _, column = positions[index]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (node.end_lineno, node.end_col_offset) == (line, column):
            return node
    return None


def scope_of(node: ast.AST) -> ast.AST:
    """Return the function that a node stands in, or the file."""
    last = node
    for last in above(node):
        if isinstance(last, _SCOPES):
            break
    return last
