"""Find the names that pieces of code share, and split code that does not fit on a slide."""

from __future__ import annotations

import ast


def used_names(source: str) -> set[str]:
    """Return the names that a piece of code reads, or an empty set if it is not plain Python."""
    return _names(source, ast.Load)


def bound_names(source: str) -> set[str]:
    """Return the names that a piece of code assigns or defines at its top level."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return set()
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    found = {one.name for one in body if isinstance(one, definitions)}
    return found | _names(source, ast.Store)


def _names(source: str, context: type[ast.expr_context]) -> set[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in nodes if isinstance(node.ctx, context)}


def split_points(source: str) -> list[tuple[str, str]]:
    """Return the ways to split code between two top-level statements, the earliest split first.

    Both parts of a split consist of whole lines of the code. The list is empty if the code is not
    plain Python or has only one statement.
    """
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return []
    lines = source.splitlines()
    starts = []
    for statement in body[1:]:
        decorators = getattr(statement, "decorator_list", [])
        starts.append(min([statement.lineno, *(one.lineno for one in decorators)]) - 1)
    return [("\n".join(lines[:at]).rstrip(), "\n".join(lines[at:])) for at in starts]
