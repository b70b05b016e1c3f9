"""Scan cells in the order in which they run, and report suspicious code."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator

from jaxbits_grader.cell_names import Function, declared_globals, local_names, parameter_names
from jaxbits_grader.checking.scan import suspicious_patterns as patterns
from jaxbits_grader.checking.scan.assignment_rules import judge_method, record_assignment
from jaxbits_grader.checking.scan.ast_utils import is_too_long, parse_cell, string_name
from jaxbits_grader.checking.scan.attribute_writes import WriteChecker
from jaxbits_grader.checking.scan.findings import Findings
from jaxbits_grader.checking.scan.foreign_attributes import find_foreign_attributes
from jaxbits_grader.checking.scan.magics import IPYTHON_CALLS, judge_magic
from jaxbits_grader.checking.scan.name_resolution import NameResolver
from jaxbits_grader.checking.scan.printed_times import find_printed_clocks
from jaxbits_grader.checking.scan.protected_names import is_within
from jaxbits_grader.checking.scan.unusual_access import describe_access
from jaxbits_grader.checking.scan.unusual_paths import (
    describe_attribute_in_function,
    describe_import,
    describe_path,
    describe_surroundings,
    describe_value,
)

_SUPPRESSION = re.compile(r"#\s*jaxbits\s*:\s*ignore")

_RUNS_TEXT = ("builtins.exec", "builtins.eval", "timeit.timeit", "timeit.repeat", "timeit.Timer")

# A text with an import, a call, or several lines may be code.
_MAYBE_CODE = re.compile(r"\bimport\b|\w\(|\n.*=")

_Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def scan_cell(source: str, names: NameResolver) -> Findings:
    """Scan a cell and return the findings.

    Args:
        source: The source of the cell. If the cell cannot be parsed, its syntax is not scanned,
            because the cell can only fail.
        names: The names that the cells above have bound, which this function updates.
    """
    visitor = _Visitor(names)
    try:
        if is_too_long(source):
            visitor.found.add("odd", 1, "is too long to scan")
        else:
            visitor.scan(source)
            for number, line in enumerate(source.splitlines(), 1):
                if _SUPPRESSION.search(line):
                    visitor.found.add("odd", number, "asks the detectors to ignore a line")
    except (RecursionError, MemoryError):
        names.leave_all()
        visitor.found.offset = 0
        visitor.found.add("odd", 1, "is nested too deeply to scan")
    return visitor.found


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


class _Visitor(ast.NodeVisitor):
    """Visits the syntax tree of one cell, using the names that the cells above have bound."""

    def __init__(self, names: NameResolver) -> None:
        self.names = names
        self.found = Findings()
        self.docstrings: set[int] = set()
        self.function_depth = 0
        # Whether this point is in a function that only cells call.
        self.runs_in_cell = False
        # The nodes that refer to something that may tell what calls a function but does not here.
        self.harmless: set[int] = set()
        self.writes = WriteChecker(names, self.found)

    def scan(self, source: str, offset: int = 0) -> None:
        """Scan a piece of code.

        Args:
            source: The code.
            offset: The number of lines in the cell above this code.
        """
        tree = parse_cell(source)
        if tree is not None:
            before, self.found.offset = self.found.offset, self.found.offset + offset
            functions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            self.names.function_names.update(
                node.name for node in ast.walk(tree) if isinstance(node, functions)
            )
            self.docstrings.update(map(id, _docstrings(tree)))
            self.visit(tree)
            for node in ast.walk(tree):
                self.add_odd(node, patterns.describe_globals_call(node))
            setters, defined = self.names.setters, self.names.function_names
            for node, what in find_foreign_attributes(tree, setters, defined):
                if not self.found.has_tampering(node):
                    self.add_odd(node, what)
            self.found.offset = before

    def add_odd(self, where: ast.AST, what: str | None) -> None:
        """Report an odd node.

        Args:
            where: The syntax node whose line is reported.
            what: What is odd about the node, or None if nothing is.
        """
        if what:
            self.found.add("odd", where, what)

    # Bindings

    def visit_arg(self, node: ast.arg) -> None:
        self._scan_annotation(node.annotation)
        self.generic_visit(node)

    def _scan_annotation(self, node: ast.expr | None) -> None:
        """Scan an annotation that is a text, because some functions run it as code."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.scan(node.value, node.lineno - 1)

    def visit(self, node: ast.AST) -> None:
        """Visit a node, and report how it reaches an object if that is odd."""
        self.add_odd(node, describe_access(node, self.names))
        super().visit(node)

    def _describe(self, path: str, node: ast.AST) -> str | None:
        if found := patterns.describe_use(path) or describe_path(path):
            return found
        tells_nothing = self.runs_in_cell or id(node) in self.harmless
        return describe_surroundings(path) if self.function_depth and not tells_nothing else None

    def visit_Assign(self, node: _Assignment) -> None:
        self.generic_visit(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return  # An augmented assignment to a module raises an error anyway.
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if node.value is not None:
                self.writes.assign(target, node.value)

    visit_AugAssign = visit_Assign

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        # In a comprehension, this binds a name outside of it.
        if self.names.given.get(node.target.id):
            self.found.add("odd", node, f"rebinds the given {node.target.id} (:=)")
        self.visit_Assign(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            record_assignment(node.name, None, None, node, self.names, self.found)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            record_assignment(node.rest, None, None, node, self.names, self.found)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._scan_annotation(node.annotation)
        self.visit_Assign(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.writes.assign(target, None)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.names.scope_of(node.name).paths[node.name] = None
        self.generic_visit(node)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._assign_loop_variable(node.target, node.iter)
        self.generic_visit(node)

    visit_AsyncFor = visit_For

    def visit_Constant(self, node: ast.Constant) -> None:
        """Scan a text that could be code, because many functions of libraries can run one."""
        text = node.value
        if isinstance(text, str) and id(node) not in self.docstrings and _MAYBE_CODE.search(text):
            self.names.enter()
            self.scan(textwrap.dedent(text), node.lineno - 1)
            self.names.leave()

    def _assign_loop_variable(self, target: ast.expr, values: ast.expr) -> None:
        """Record a loop variable, which may refer to a module in the literal being looped over."""
        is_literal = all(isinstance(v, ast.Constant) for v in getattr(values, "elts", [None]))
        if isinstance(target, ast.Name):
            change = (
                self.names.literal_names.add if is_literal else self.names.literal_names.discard
            )
            change(target.id)
        written = values.elts if isinstance(values, ast.Tuple | ast.List | ast.Set) else []
        modules = [value for value in written if is_within(self.names.path(value))]
        self.writes.assign(target, modules[0] if modules else None)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self.writes.assign(item.optional_vars, None)
            match item:
                case ast.withitem(
                    context_expr=ast.Call(func=function, args=[], keywords=[]), optional_vars=None
                ) if self.names.path(function) == "warnings.catch_warnings":
                    self.harmless.add(id(function))  # Without `record`, it shows no warnings.
        self.generic_visit(node)

    visit_AsyncWith = visit_With

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add_odd(node, self._describe(alias.name, node) or describe_import(alias.name))
            self._check_grader_import(node, alias.name)
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            self._bind(alias.asname or path, node, path)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            path = f"{node.module or ''}.{alias.name}"
            self.add_odd(node, self._describe(path, node) or describe_import(path))
            self._check_grader_import(node, path)
            if alias.name == "*":
                self.names.star_imports += filter(is_within, [node.module or ""])
            else:
                self._bind(alias.asname or alias.name, node, path)

    def _check_grader_import(self, node: ast.AST, path: str) -> None:
        if is_within(path, ("jaxbits_grader.",)):
            self.found.add("tampering", node, "uses the grader's own code")

    def _bind(self, name: str, node: ast.stmt, path: str | None = None) -> None:
        record_assignment(name, node, path, node, self.names, self.found)

    # Scopes

    def _visit_comprehension(self, node: _Comprehension) -> None:
        self.names.enter()
        for generator in node.generators:
            self._assign_loop_variable(generator.target, generator.iter)
        before = self.runs_in_cell
        self.runs_in_cell &= not isinstance(node, ast.GeneratorExp)  # It may run later.
        self.generic_visit(node)
        self.runs_in_cell = before
        self.names.leave()

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _visit_comprehension

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_all([*node.decorator_list, node.args])
        self._scan_annotation(node.returns)
        self._bind(node.name, node)
        self._visit_function_body(node, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self._visit_function_body(node, [node.body])

    def _visit_function_body(self, node: Function, body: Iterable[ast.AST]) -> None:
        bound = [*parameter_names(node), *local_names(node)]
        self.names.enter(bound, declared_globals(node))
        if not self.names.can_read_output:
            self.harmless |= find_printed_clocks(node, self.names)
        before = self.runs_in_cell
        self.runs_in_cell = getattr(node, "name", None) in self.names.only_called_by_cells
        self.function_depth += 1
        self._visit_all(body)
        self.function_depth -= 1
        self.runs_in_cell = before
        self.names.leave()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._bind(node.name, node)
        scope = self.names.enter()
        self._visit_all(node.body)
        for name in {"__class__", "__module__", "__qualname__"} & set(scope.paths):
            self.add_odd(node, f"defines a class that claims to be a different one ({name})")
        self.names.leave()

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    # Uses

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if path := self.names.resolve(node.id):
                self.add_odd(node, self._describe(path, node) or describe_value(path))
            elif not self.names.is_bound(node.id):
                self.add_odd(node, patterns.describe_unbound_name(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts = [node]
        while isinstance(parts[-1].value, ast.Attribute):
            parts.append(parts[-1].value)
        for part in parts:
            self.writes.check_hook(part)
            self.add_odd(part, patterns.describe_attribute(part.attr))
            if self.function_depth and not self.runs_in_cell:
                self.add_odd(part, describe_attribute_in_function(part.attr))
            self.add_odd(part, describe_access(part, self.names) if part is not node else None)
        path, root = self.names.path(node), parts[-1].value
        if path and isinstance(node.ctx, ast.Load):
            self.add_odd(node, self._describe(path, node))
        if not (path and isinstance(root, ast.Name)):
            self.visit(root)

    def visit_Compare(self, node: ast.Compare) -> None:
        self.visit(node.left)
        asks_for_colab = isinstance(node.left, ast.Constant) and node.left.value == "google.colab"
        for other in node.comparators:
            # Asking whether the notebook runs in Colab is usual.
            if not (asks_for_colab and self.names.path(other) == "sys.modules"):
                self.visit(other)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            judge_method(string_name(key), value, value, self.names, self.found)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        path = self.names.path(node.func) or ""
        first = node.args[0] if node.args else None
        if path in IPYTHON_CALLS:
            words = [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]
            odd, code = judge_magic(path, words)
            self.add_odd(node, odd)
            for below, text in enumerate(code):
                self.scan(text, node.lineno - 1 + below)
            return
        self.writes.check_call(node)
        if path in _RUNS_TEXT and isinstance(first, ast.Constant):
            self.scan(str(first.value), node.lineno - 1)
        self.add_odd(node, patterns.describe_file_access(path, node))
        for keyword in node.keywords:
            judge_method(keyword.arg, keyword.value, node, self.names, self.found)
        self.generic_visit(node)
