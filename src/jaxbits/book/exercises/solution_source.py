"""Prepare a solution's source code for pasting by removing annotations and adding imports."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import symtable
import sys
import textwrap
from collections.abc import Callable, Collection
from typing import Any


def pasteable_source(function: Callable[..., Any], name: str, known: Collection[str] = ()) -> str:
    """Return a function's source code in a form that the reader can paste into a notebook.

    Args:
        function: A function without decorators that is defined at the top level of a module.
        name: The function's name in the notebook.
        known: The names that the notebook has already imported. The returned source starts with
            imports and helper functions for all other names that the function uses.
    """
    source = strip_annotations(textwrap.dedent(inspect.getsource(function)).rstrip())
    imports: list[str] = []
    helpers: list[str] = []
    module = inspect.getsource(sys.modules[function.__module__])
    _collect_missing(source, module, {*known, function.__name__}, imports, helpers)
    source = re.sub(rf"\b{function.__name__}\b", name, source)
    first = ["\n".join(sorted(imports))] if imports else []
    return "\n\n\n".join([*first, *helpers, source])


def _collect_missing(
    source: str, module: str, known: set[str], imports: list[str], helpers: list[str]
) -> None:
    """Append the imports and helpers from `module` that `source` needs besides the known names.

    The function also adds each such name to `known`, so that it appends nothing twice.
    """
    for name in sorted(_global_names(source) - known):
        known.add(name)
        for node in ast.parse(module).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        origin = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
                        imports.append(f"{origin}import {ast.unparse(alias)}")
            elif name in _defined_names(node):
                helper = strip_annotations(ast.get_source_segment(module, node) or "")
                _collect_missing(helper, module, known, imports, helpers)
                helpers.append(helper)


def _defined_names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _global_names(source: str) -> set[str]:
    """Return the non-builtin names that functions in `source` look up in their module."""
    found: set[str] = set()
    waiting = [symtable.symtable(source, "<solution>", "exec")]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        found |= {s.get_name() for s in table.get_symbols() if s.is_global()}
    defined = {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    return found - defined - set(dir(builtins))


def strip_annotations(source: str) -> str:
    r"""Return Python source code without annotations on functions and their local variables.

    Comments and line breaks are kept, but each function's signature is put on a single line.

    >>> code = "def f(\n    x: int, *more: float\n) -> int:\n    y: int = 2  # two"
    >>> print(strip_annotations(code))
    def f(x, *more):
        y = 2  # two
    """
    edits: list[tuple[int, int, bytes]] = []
    # AST nodes count columns in UTF-8 bytes, so the edits are made to bytes, too.
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int | None, column: int | None) -> int:
        return starts[(line or 1) - 1] + (column or 0)

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            inside = [*ast.walk(node.args), *([node.returns] if node.returns else [])]
            ends = [
                offset(n.end_lineno, n.end_col_offset)
                for n in inside
                if isinstance(n, ast.arg | ast.expr)
            ]
            begin = offset(node.lineno, node.col_offset)
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
            end = text.index(b":", max([begin, *ends])) + 1
            signature = f"def {node.name}({ast.unparse(node.args)}):"
            edits.append((begin, end, signature.encode()))
            for variable in _annotated_variables(node):
                target, annotation = variable.target, variable.annotation
                edits.append(
                    (
                        offset(target.end_lineno, target.end_col_offset),
                        offset(annotation.end_lineno, annotation.end_col_offset),
                        b"",
                    )
                )
    for begin, end, new in sorted(edits, reverse=True):
        text = text[:begin] + new + text[end:]
    return text.decode()


def _annotated_variables(function: ast.FunctionDef) -> list[ast.AnnAssign]:
    """Return the annotated assignments in a function, excluding those in nested functions."""
    found: list[ast.AnnAssign] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return found
