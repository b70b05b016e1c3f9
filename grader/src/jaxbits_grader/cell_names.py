"""Find the names that a cell, a function, or a class body binds.

The grader uses this module to match cells to tasks, to give hidden tests private names, and to scan
a submission's code. These steps share one implementation, because they have to agree on which names
a cell binds.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

_MAGIC_LINE = re.compile(r"^([ \t]*)[%!].*", re.M)


def without_magics(source: str) -> str:
    r"""Replace a cell's magics and shell commands with `pass`, so that Python can parse the cell.

    Example:
        >>> without_magics("%matplotlib inline\nx = 1")
        'pass\nx = 1'
    """
    return _MAGIC_LINE.sub(r"\1pass", source)


def bound_names(source: str) -> frozenset[str]:
    r"""Return the names that a cell may bind or delete in the notebook when it runs.

    The result includes names that a function or class in the cell declares `global` and binds. It
    does not include comprehension variables.

    Raises:
        SyntaxError: If the cell is not valid Python.

    Example:
        >>> sorted(bound_names("import numpy as np\nfor x in y: z = [w for w in x]"))
        ['np', 'x', 'z']
        >>> sorted(bound_names("def f(a):\n    global count\n    count = b = a"))
        ['count', 'f']
    """
    scope = _Scope()
    scope.visit_all(ast.parse(without_magics(source)).body)
    return frozenset(scope.bound | scope.bound_globals)


def used_names(source: str) -> frozenset[str]:
    r"""Return the names that a cell reads but binds nowhere, except for Python's builtins.

    Raises:
        SyntaxError: If the cell is not valid Python.

    Example:
        >>> sorted(used_names("x = max(y)\nz = [n + x for n in y]"))
        ['y']
    """
    nodes = list(ast.walk(ast.parse(without_magics(source))))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    bound = {name.id for name in names if not isinstance(name.ctx, ast.Load)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return frozenset(read - bound - bound_names(source) - set(dir(builtins)))


def imported_modules(source: str) -> frozenset[str]:
    r"""Return the modules that the import statements in a cell name.

    What a statement imports from a module counts, too, because it could be a module.

    Raises:
        SyntaxError: If the cell is not valid Python.

    Example:
        >>> sorted(imported_modules("import a.b as c\ndef f():\n    from d.e import g"))
        ['a.b', 'd.e', 'd.e.g']
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(without_magics(source))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def local_names(function: Function | ast.ClassDef) -> set[str]:
    """Return the local names of a function or class body, excluding parameters."""
    scope = _Scope()
    if not isinstance(function, ast.Lambda):
        scope.visit_all(function.body)
    else:
        scope.visit(function.body)
    return scope.bound - scope.declared_global - scope.declared_nonlocal


def parameter_names(function: Function) -> list[str]:
    """Return the names of a function's parameters, starting with the positional ones."""
    own = function.args
    every = [*own.posonlyargs, *own.args, *own.kwonlyargs, own.vararg, own.kwarg]
    return [argument.arg for argument in every if argument]


def declared_globals(function: Function) -> set[str]:
    """Return the names declared `global` in a function or in functions nested inside it."""
    nodes = (node for node in ast.walk(function) if isinstance(node, ast.Global))
    return {name for node in nodes for name in node.names}


class _Scope(ast.NodeVisitor):
    """A visitor that collects the names bound in a scope and the globals bound in inner scopes."""

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.declared_global: set[str] = set()
        self.declared_nonlocal: set[str] = set()
        self.bound_globals: set[str] = set()

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def _visit_inner(self, nodes: Iterable[ast.AST]) -> None:
        inner = _Scope()
        inner.visit_all(nodes)
        self.bound_globals |= inner.bound_globals | (inner.bound & inner.declared_global)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.bound.add(node.name)
        self.visit_all([*node.decorator_list, node.args, node.returns])
        self._visit_inner(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self._visit_inner([node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bound.add(node.name)
        self.visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._visit_inner(node.body)

    def _visit_comprehension(self, node: _Comprehension) -> None:
        # Skip the targets, which are local to the comprehension. Visit everything else, because
        # `:=` binds its name in the enclosing scope.
        for generator in node.generators:
            self.visit_all([generator.iter, *generator.ifs])
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        self.visit_all(parts)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _visit_comprehension

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        names = (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        self.bound |= {name for name in names if name != "*"}

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.bound.add(node.rest)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.declared_global |= set(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.declared_nonlocal |= set(node.names)
