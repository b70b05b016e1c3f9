"""Find the functions that a module calls only while it is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def lines_run_on_import(module: ast.Module) -> frozenset[int]:
    r"""Return the first lines of the functions that a module calls only while it is imported.

    Such a function registers other functions in a dictionary, for example. The module uses it, or
    the class that has it as a method, only to decorate its own functions and classes.

    >>> source = "def register(f):\n    table[f.__name__] = f\n\n@register\ndef f(): pass"
    >>> sorted(lines_run_on_import(ast.parse(source)))
    [1]
    """
    uses: dict[str, set[bool]] = {}
    for name, is_on_import in _uses(module):
        uses.setdefault(name, set()).add(is_on_import)
    defined = [node for node in module.body if isinstance(node, _Definition)]
    found = [node for node in defined if uses.get(node.name) == {True}]
    functions = [f for node in found for f in ([node] if _is_function(node) else node.body)]
    return frozenset(_first_line(f) for f in functions if _is_function(f))


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def _first_line(function: ast.AST) -> int:
    lines = [function, *getattr(function, "decorator_list", ())]
    return min(int(node.lineno) for node in lines)


def _uses(node: ast.AST, is_on_import: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield each name that code loads, and whether a decorator at the top level does so.

    Calls at the top level do not count as decorators, because a script may make them between two
    calls of a jitted function.
    """
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id, is_on_import
    decorators = getattr(node, "decorator_list", ())
    for child in ast.iter_child_nodes(node):
        if child in decorators:
            yield from _uses(child, is_on_import=True)
        elif _is_function(node) or isinstance(node, ast.Lambda):
            yield from ((name, False) for name, _ in _uses(child))
        else:
            yield from _uses(child, is_on_import)
