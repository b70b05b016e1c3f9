"""Rename the global names in a cell's code, but leave its local names alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from jaxbits_grader.cell_names import (
    Function,
    declared_globals,
    local_names,
    parameter_names,
)

_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def rename_names(
    tree: ast.Module,
    new_name: Callable[[str, int], str | None],
    is_builtin: Callable[[str], bool],
    builtins_name: str,
) -> ast.Module:
    r"""Rename the names that a cell shares with the notebook.

    Args:
        tree: The syntax tree of the cell, which is modified in place.
        new_name: A function that takes a name and its line number and returns the new name, or None
            to keep the name.
        is_builtin: A function that returns whether to read a name from the builtins module. It is
            called only for names that are not renamed.
        builtins_name: The name of the builtins module in the notebook.

    Returns:
        The modified syntax tree.

    Example:
        >>> tree = ast.parse("x = max(y)\ndef f(x): return x + y")
        >>> def new_name(name, line):
        ...     return {"x": "_x", "f": "_f"}.get(name)
        >>> print(ast.unparse(rename_names(tree, new_name, lambda name: name == "max", "builtins")))
        _x = builtins.max(y)
        <BLANKLINE>
        def _f(x):
            return x + y
    """
    rewriter = _Rewriter(new_name, is_builtin, builtins_name)
    renamed: ast.Module = rewriter.visit(tree)
    return ast.fix_missing_locations(renamed)


class _Rewriter(ast.NodeTransformer):
    def __init__(
        self,
        new_name: Callable[[str, int], str | None],
        is_builtin: Callable[[str], bool],
        builtins_name: str,
    ) -> None:
        self.new_name, self.is_builtin, self.builtins_name = new_name, is_builtin, builtins_name
        self.scopes: list[set[str]] = []

    def _is_local(self, name: str) -> bool:
        return any(name in names for names in self.scopes)

    def _renamed(self, name: str, line: int) -> str | None:
        return None if self._is_local(name) else self.new_name(name, line)

    def _rename_attribute(self, node: ast.AST, attribute: str, line: int) -> None:
        """Rename the name that a node stores as a string in an attribute, unless it is None."""
        if name := getattr(node, attribute):
            setattr(node, attribute, self._renamed(name, line) or name)

    def _visit_body(self, nodes: Iterable[ast.stmt]) -> list[ast.stmt]:
        changed: list[ast.stmt] = []
        for node in nodes:
            new = self.visit(node)
            changed += new if isinstance(new, list) else [new]
        return changed

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if new := self._renamed(node.id, node.lineno):
            return ast.copy_location(ast.Name(new, node.ctx), node)
        is_read = isinstance(node.ctx, ast.Load)
        if is_read and not self._is_local(node.id) and self.is_builtin(node.id):
            return self._builtin(node.id, node)
        return node

    def _builtin(self, name: str, where: ast.AST) -> ast.Attribute:
        module = ast.copy_location(ast.Name(self.builtins_name, ast.Load()), where)
        return ast.copy_location(ast.Attribute(module, name, ast.Load()), where)

    def _visit_function(self, node: Function) -> ast.AST:
        node.args = self.visit(node.args)
        inside = {*parameter_names(node), *local_names(node)} - declared_globals(node)
        if isinstance(node, ast.Lambda):
            self.scopes.append(inside)
            node.body = self.visit(node.body)
        else:
            node.decorator_list = [self.visit(part) for part in node.decorator_list]
            self._rename_attribute(node, "name", node.lineno)
            self.scopes.append(inside)
            node.body = self._visit_body(node.body)
        self.scopes.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self.new_name(name, node.lineno) or name for name in node.names]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.bases = [self.visit(part) for part in node.bases]
        self._rename_attribute(node, "name", node.lineno)
        self.scopes.append(local_names(node))
        node.body = self._visit_body(node.body)
        self.scopes.pop()
        return node

    def _visit_comprehension(self, node: _Comprehension) -> ast.AST:
        # Visit the first iterable before entering the comprehension's scope, because Python
        # evaluates it outside that scope. The second visit below changes nothing, because a name
        # that has been renamed is not renamed again.
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        targets = (part for g in node.generators for part in ast.walk(g.target))
        self.scopes.append({part.id for part in targets if isinstance(part, ast.Name)})
        self.generic_visit(node)
        self.scopes.pop()
        return node

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _visit_comprehension

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self._rename_attribute(node, "name", node.lineno)
        return self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> ast.AST:
        self._rename_attribute(node, "name", node.lineno)
        return self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        self._rename_attribute(node, "rest", node.lineno)
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST | list[ast.AST]:
        changed: list[ast.AST] = []
        for alias in node.names:
            package, _, rest = alias.name.partition(".")
            new = self._renamed(alias.asname or package, node.lineno)
            if new and rest and not alias.asname:
                # `import a.b` binds `a`, but `import a.b as x` would bind `x` to `a.b`. Therefore,
                # assign the result of __import__("a.b"), which is `a`.
                function = self._builtin("__import__", node)
                package_call = ast.Call(function, [ast.Constant(alias.name)], [])
                assign = ast.Assign([ast.Name(new, ast.Store())], package_call)
                changed.append(ast.copy_location(assign, node))
            else:
                own = ast.alias(alias.name, new or alias.asname)
                changed.append(ast.copy_location(ast.Import([own]), node))
        return changed

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        for alias in node.names:
            alias.asname = self._renamed(alias.asname or alias.name, node.lineno) or alias.asname
        return node
