"""A cell's code with other names for some of those that it shares with the notebook."""

from __future__ import annotations

import ast
from collections.abc import Callable

from jaxbits_grader.checking.scan.ast_utils import declared, parameters, stored


def renamed(
    tree: ast.Module,
    new: Callable[[str, int], str | None],
    own: Callable[[str], bool],
    module: str,
) -> ast.Module:
    r"""Give the names of the notebook that a cell uses other names; what is local stays.

    Args:
        tree: the cell's code; it is changed.
        new: the other name of one that stands in a line, None where it has none.
        own: whether a name is to be read from a module, such as one of Python's own functions.
        module: the name that this module has.

    Example:
        >>> tree = ast.parse("x = max(y)\ndef f(x): return x + y")
        >>> def new(name, line):
        ...     return {"x": "_x", "f": "_f"}.get(name)
        >>> print(ast.unparse(renamed(tree, new, lambda name: name == "max", "builtins")))
        _x = builtins.max(y)
        <BLANKLINE>
        def _f(x):
            return x + y
    """
    visited: ast.Module = _Renamed(new, own, module).visit(tree)
    return ast.fix_missing_locations(visited)


class _Renamed(ast.NodeTransformer):
    def __init__(
        self, new: Callable[[str, int], str | None], own: Callable[[str], bool], module: str
    ) -> None:
        self.new, self.own, self.module = new, own, module
        self.local: list[set[str]] = []

    def _is_local(self, name: str) -> bool:
        return any(name in names for names in self.local)

    def _outside(self, name: str, line: int) -> str | None:
        return None if self._is_local(name) else self.new(name, line)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if new := self._outside(node.id, node.lineno):
            return ast.copy_location(ast.Name(new, node.ctx), node)
        if isinstance(node.ctx, ast.Load) and not self._is_local(node.id) and self.own(node.id):
            module = ast.copy_location(ast.Name(self.module, ast.Load()), node)
            return ast.copy_location(ast.Attribute(module, node.id, ast.Load()), node)
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> ast.AST:
        if not isinstance(node, ast.Lambda):
            node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.args = self.visit(node.args)
        inside = {*parameters(node), *stored(node)}
        if not isinstance(node, ast.Lambda):
            node.name = self._outside(node.name, node.lineno) or node.name
        shared = set() if isinstance(node, ast.Lambda) else declared(node)
        self.local.append(inside - shared)
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
        else:
            node.body = [self.visit(part) for part in node.body]
        self.local.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self.new(name, node.lineno) or name for name in node.names]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.bases = [self.visit(part) for part in node.bases]
        node.name = self._outside(node.name, node.lineno) or node.name
        body = ast.parse("def f(): pass").body[0]
        assert isinstance(body, ast.FunctionDef)
        body.body = node.body
        self.local.append(stored(body))
        node.body = [self.visit(part) for part in node.body]
        self.local.pop()
        return node

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> ast.AST:
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        targets = (part for g in node.generators for part in ast.walk(g.target))
        self.local.append({part.id for part in targets if isinstance(part, ast.Name)})
        # The first iterable is through; visited once more it would stay as it is.
        self.generic_visit(node)
        self.local.pop()
        return node

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        if node.name:
            node.name = self._outside(node.name, node.lineno) or node.name
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.AST:
        for alias in node.names:
            name = alias.asname or alias.name
            if "." not in name and (new := self._outside(name, node.lineno)):
                alias.asname = new
        return node

    visit_ImportFrom = visit_Import
