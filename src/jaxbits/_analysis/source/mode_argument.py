"""Check whether a statement passes a `mode=` argument to an indexing function."""

from __future__ import annotations

import ast
import functools
import linecache
import re

from jaxbits._analysis.code_location import CodeLocation


def has_mode_argument(location: CodeLocation) -> bool:
    """Return whether the statement at a location passes `mode=`, or passes options to `.at`."""
    text, unpacks = _statement(location)
    return unpacks or re.search(r"\bmode\s*=", text) is not None


def promises_in_bounds(location: CodeLocation) -> bool:
    """Return whether the statement at a location mentions the mode `promise_in_bounds`."""
    return re.search(r"\bpromise_in_bounds\b", _statement(location)[0], re.IGNORECASE) is not None


def _statement(location: CodeLocation) -> tuple[str, bool]:
    """Return the statement at a location, and whether it passes options to `.at`."""
    lines = linecache.getlines(location.file)
    for first, last, unpacks in _statements("".join(lines)):
        if first <= location.line <= last:
            return "".join(lines[first - 1 : last]), unpacks
    return location.text, False


@functools.lru_cache(maxsize=64)
def _statements(source: str) -> list[tuple[int, int, bool]]:
    """Return (first line, last line, unpacks options) for each statement, shortest first."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # A cell with an IPython magic is not valid Python.
        return []
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    spans = {
        (node.lineno, node.end_lineno or node.lineno, _unpacks_options(node)) for node in statements
    }
    return sorted(spans, key=lambda span: span[1] - span[0])


def _unpacks_options(statement: ast.stmt) -> bool:
    """Return whether a statement contains a call such as `x.at[i].set(1, **options)`."""
    for node in ast.walk(statement):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(attr="at"))),
                keywords=keywords,
            ) if any(keyword.arg is None for keyword in keywords):
                return True
    return False
