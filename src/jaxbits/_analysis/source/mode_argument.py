"""Check whether a statement passes a `mode=` argument to an indexing function."""

from __future__ import annotations

import ast
import functools
import linecache
import re

from jaxbits._analysis.code_location import CodeLocation


def has_mode_argument(location: CodeLocation, end: tuple[int, int] | None = None) -> bool:
    """Return whether a call at a location passes `mode=`, or passes options to `.at`.

    Options count only if the file sets a mode somewhere, as in ``{"mode": "drop"}``. ``mode=None``
    does not count, because it is the default.

    Args:
        location: The line of the call.
        end: The line and the column in bytes at which the call ends. Without it, any call of the
            statement counts.
    """
    source = "".join(linecache.getlines(location.file))
    node = _statement(source, location.line)
    if node is None:  # A cell with an IPython magic is not valid Python.
        return re.search(r"\bmode\s*=(?!\s*None\b)", _without_comment(location.text)) is not None
    own: list[ast.AST] = [node]
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and (call.end_lineno, call.end_col_offset) == end:
            # What the call is applied to, and its other arguments, may contain calls of their own.
            own = [keyword.value for keyword in call.keywords]
            own += [] if isinstance(call.func, ast.Attribute) else [call.func]
            if _sets_mode(call) or (_unpacks_options(call) and _file_sets_mode(source)):
                return True
    parts = [part for one in own for part in ast.walk(one)]
    if any(map(_sets_mode, parts)):
        return True
    return any(map(_unpacks_options, parts)) and _file_sets_mode(source)


def promises_in_bounds(location: CodeLocation) -> bool:
    """Return whether the statement at a location mentions the mode `promise_in_bounds`."""
    source = "".join(linecache.getlines(location.file))
    node = _statement(source, location.line)
    text = _without_comment(location.text) if node is None else ast.unparse(node)
    return re.search(r"\bpromise_in_bounds\b", text, re.IGNORECASE) is not None


def _without_comment(line: str) -> str:
    return line.partition("#")[0]


def _statement(source: str, line: int) -> ast.stmt | None:
    """Return the shortest statement that contains a line, or None if there is none."""
    for node in _statements(source):
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            return node
    return None


@functools.lru_cache(maxsize=64)
def _statements(source: str) -> list[ast.stmt]:
    """Return the statements of a source, shortest first."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return sorted(statements, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)


@functools.lru_cache(maxsize=64)
def _file_sets_mode(source: str) -> bool:
    nodes = [part for node in _statements(source) for part in ast.walk(node)]
    return any(map(_sets_mode, nodes))


def _sets_mode(node: ast.AST) -> bool:
    """Return whether a node is a call with `mode=`, or a dictionary with the key "mode"."""
    match node:
        case ast.Call(keywords=keywords):
            return any(
                keyword.arg == "mode" and not _is_constant(keyword.value, None)
                for keyword in keywords
            )
        case ast.Dict(keys=keys, values=values):
            return any(
                _is_constant(key, "mode") and not _is_constant(value, None)
                for key, value in zip(keys, values, strict=True)
            )
    return False


def _is_constant(node: ast.expr | None, value: str | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def _unpacks_options(node: ast.AST) -> bool:
    """Return whether a node is a call such as `x.at[i].set(1, **options)`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(attr="at"))),
            keywords=keywords,
        ):
            return any(keyword.arg is None for keyword in keywords)
    return False
