"""Reads a notebook's cells from the first to the last, and reports what it comes across."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from jaxbits_grader.checking.scan import ast_utils as syntax
from jaxbits_grader.checking.scan import magics
from jaxbits_grader.checking.scan import suspicious_patterns as oddities
from jaxbits_grader.checking.scan.assignment_rules import bind, judge_method
from jaxbits_grader.checking.scan.attribute_writes import Changes
from jaxbits_grader.checking.scan.findings import Findings
from jaxbits_grader.checking.scan.name_resolution import Names
from jaxbits_grader.checking.scan.protected_names import within

# Characters of a cell: the syntax of one takes a thousand times the memory.
LONGEST = 200_000
# Lines for IPython times characters: each such line has it read all of the cell once more.
MOST_MAGIC = 20_000_000
_MAGIC = re.compile(r"^[^#\n]*[%!?]", re.M)
_IGNORES = re.compile(r"#\s*jaxbits\s*:\s*ignore")

_Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def read(source: str, names: Names) -> Findings:
    """Read a cell.

    Args:
        source: its text. Of one that does not parse nothing is said: it can only fail.
        names: what the cells before it made of the notebook's names; they are kept up.
    """
    walk = _Walk(names)
    try:
        if len(source) > LONGEST or len(source) * len(_MAGIC.findall(source)) > MOST_MAGIC:
            walk.found.add("odd", 1, "is too long to be read")
        else:
            walk.read(source)
            for number, line in enumerate(source.splitlines(), 1):
                if _IGNORES.search(line):
                    walk.found.add("odd", number, "asks the detectors to ignore a line")
    except (RecursionError, MemoryError):
        names.leave_all()
        walk.found.offset = 0
        walk.found.add("odd", 1, "is nested too deep to be read")
    return walk.found


class _Walk(ast.NodeVisitor):
    """Goes through the syntax of one cell, and knows the names from the cells before it."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.found = Findings()
        self.changes = Changes(names, self.found)

    def read(self, source: str, offset: int = 0) -> None:
        """Read code that stands so many lines below the cell's first."""
        tree = syntax.tree(source)
        if tree is not None:
            before, self.found.offset = self.found.offset, self.found.offset + offset
            self.visit(tree)
            for node in ast.walk(tree):
                self.odd(node, oddities.in_names(node))
            self.found.offset = before

    def odd(self, where: ast.AST, what: str | None) -> None:
        """Report what is odd, if anything is."""
        if what:
            self.found.add("odd", where, what)

    # Names that get a value

    def visit_Assign(self, node: _Assignment) -> None:
        self.generic_visit(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return  # a name that stood for a module would fail
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if node.value is not None:
                self.changes.assign(target, node.value)

    visit_AnnAssign = visit_AugAssign = visit_NamedExpr = visit_Assign

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.changes.assign(target, None)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.names.scope_of(node.name).paths[node.name] = None
        self.generic_visit(node)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._each(node.target, node.iter)
        self.generic_visit(node)

    visit_AsyncFor = visit_For

    def _each(self, target: ast.expr, values: ast.expr) -> None:
        """A loop's variable: one of the modules that it runs over, where these are written out."""
        written = values.elts if isinstance(values, ast.Tuple | ast.List | ast.Set) else []
        modules = [value for value in written if within(self.names.path(value))]
        self.changes.assign(target, modules[0] if modules else None)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self.changes.assign(item.optional_vars, None)
        self.generic_visit(node)

    visit_AsyncWith = visit_With

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.odd(node, oddities.in_use_of(alias.name))
            self._graders(node, alias.name)
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            self._bind(alias.asname or path, node, path)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            path = f"{node.module or ''}.{alias.name}"
            self.odd(node, oddities.in_use_of(path))
            self._graders(node, path)
            if alias.name == "*":
                self.names.stars += filter(within, [node.module or ""])
            else:
                self._bind(alias.asname or alias.name, node, path)

    def _graders(self, node: ast.AST, path: str) -> None:
        if within(path, ("jaxbits_grader.",)):
            self.found.add("tampered", node, "uses the grader's own code")

    def _bind(self, name: str, node: ast.stmt, path: str | None = None) -> None:
        bind(name, node, path, node, self.names, self.found)

    # Scopes

    def _comprehension(self, node: _Comprehension) -> None:
        self.names.enter()
        for generator in node.generators:
            self._each(generator.target, generator.iter)
        self.generic_visit(node)
        self.names.leave()

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_all([*node.decorator_list, node.args])
        self._bind(node.name, node)
        self._inside(node, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self._inside(node, [node.body])

    def _inside(self, node: syntax.Function, body: Iterable[ast.AST]) -> None:
        bound = [*syntax.parameters(node), *syntax.stored(node)]
        self.names.enter(bound, syntax.declared(node))
        self._visit_all(body)
        self.names.leave()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._bind(node.name, node)
        scope = self.names.enter()
        self._visit_all(node.body)
        if "__class__" in scope.paths:
            self.odd(node, "defines a class that says it is another one (__class__)")
        self.names.leave()

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    # Names that are used

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if path := self.names.named(node.id):
                self.odd(node, oddities.in_use_of(path))
            elif not self.names.is_bound(node.id):
                self.odd(node, oddities.in_reading(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts = [node]
        while isinstance(parts[-1].value, ast.Attribute):
            parts.append(parts[-1].value)
        for part in parts:
            self.changes.by_hook(part)
            self.odd(part, oddities.in_attribute(part.attr))
        path, root = self.names.path(node), parts[-1].value
        if path and isinstance(node.ctx, ast.Load):
            self.odd(node, oddities.in_use_of(path))
        if not (path and isinstance(root, ast.Name)):
            self.visit(root)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            judge_method(syntax.word(key), value, value, self.names, self.found)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        path = self.names.path(node.func) or ""
        first = node.args[0] if node.args else None
        if path in magics.CALLS:
            words = [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]
            odd, code = magics.looked_at(path, words)
            self.odd(node, odd)
            for below, text in enumerate(code):
                self.read(text, node.lineno - 1 + below)
            return
        self.changes.by_call(node)
        if path in ("builtins.exec", "builtins.eval") and isinstance(first, ast.Constant):
            self.read(str(first.value), node.lineno - 1)
        self.odd(node, oddities.in_opening(path, node))
        for keyword in node.keywords:
            judge_method(keyword.arg, keyword.value, node, self.names, self.found)
        self.generic_visit(node)
