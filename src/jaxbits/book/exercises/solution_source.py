"""The source of a solution as a reader pastes it: without annotations, with what it needs."""

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
    """Return the source of a function, ready to be pasted into a notebook.

    Args:
        function: a function of a module, without decorators.
        name: the name that it has in the notebook.
        known: the names that the notebook has imported. Whatever else the function needs from its
            module, an import or a helper, comes before it.
    """
    source = strip_annotations(textwrap.dedent(inspect.getsource(function)).rstrip())
    imports: list[str] = []
    helpers: list[str] = []
    module = inspect.getsource(sys.modules[function.__module__])
    _add_needed(source, module, {*known, function.__name__}, imports, helpers)
    source = re.sub(rf"\b{function.__name__}\b", name, source)
    first = ["\n".join(sorted(imports))] if imports else []
    return "\n\n\n".join([*first, *helpers, source])


def _add_needed(
    source: str, module: str, known: set[str], imports: list[str], helpers: list[str]
) -> None:
    """Collect, from a module, the imports and helpers that a source needs beyond the known names.

    Each name is added to the known ones, so that nothing is listed twice.
    """
    for name in sorted(_globals(source) - known):
        known.add(name)
        for node in ast.parse(module).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        source_of = (
                            f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
                        )
                        imports.append(f"{source_of}import {ast.unparse(alias)}")
            elif name in _defines(node):
                helper = strip_annotations(ast.get_source_segment(module, node) or "")
                _add_needed(helper, module, known, imports, helpers)
                helpers.append(helper)


def _defines(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _globals(source: str) -> set[str]:
    """Return the names that a source takes from its module, builtins left out."""
    found: set[str] = set()
    waiting = [symtable.symtable(source, "<listing>", "exec")]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        found |= {s.get_name() for s in table.get_symbols() if s.is_global()}
    own = {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    return found - own - set(dir(builtins))


def strip_annotations(source: str) -> str:
    r"""Return Python source without the annotations of its functions and of their variables.

    Comments and line breaks stay, except in the head of a function, which becomes one line.

    >>> print(strip_annotations("def f(\n    x: int, *more: float\n) -> int:\n    y: int = 2  # two"))
    def f(x, *more):
        y = 2  # two
    """
    edits: list[tuple[int, int, bytes]] = []
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(line: int | None, column: int | None) -> int:
        return starts[(line or 1) - 1] + (column or 0)

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            inside = [*ast.walk(node.args), *([node.returns] if node.returns else [])]
            ends = [
                place(n.end_lineno, n.end_col_offset)
                for n in inside
                if isinstance(n, ast.arg | ast.expr)
            ]
            begin = place(node.lineno, node.col_offset)
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
            end = text.index(b":", max([begin, *ends])) + 1
            head = f"def {node.name}({ast.unparse(node.args)}):"
            edits.append((begin, end, head.encode()))
            for one in _variables(node):
                target = place(one.target.end_lineno, one.target.end_col_offset)
                kind = place(one.annotation.end_lineno, one.annotation.end_col_offset)
                edits.append((target, kind, b""))
    for begin, end, new in sorted(edits, reverse=True):
        text = text[:begin] + new + text[end:]
    return text.decode()


def _variables(function: ast.FunctionDef) -> list[ast.AnnAssign]:
    """Return the annotated assignments of a function, not those of functions inside it."""
    found: list[ast.AnnAssign] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return found
