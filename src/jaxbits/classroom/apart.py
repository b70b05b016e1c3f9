"""Tests with names of their own: what a notebook calls a thing changes no test, and the reverse.

A test cell runs among the notebook's names, as nbgrader has it. Unchanged, a helper of a student's
that is called as a variable of a hidden test would be lost to it, and a test would take the
student's ``max`` for Python's. So the hidden tests' names are drawn anew for each run, and what
the given cells made, Python's own functions and `jaxbits.expect` are taken from where no answer
has put anything.
"""

from __future__ import annotations

import ast
import builtins
import re
import secrets
import symtable

from jaxbits.classroom import release
from jaxbits.classroom.scan.syntax import declared, parameters, stored
from jaxbits.classroom.source import Assignment, marks
from jaxbits.classroom.variant import without_ranges

_PUBLIC = {name for name in dir(builtins) if not name.startswith("_")}
# A module of which the tests get a copy, and the code that makes it.
_COPIED = "expect"
_COPY = """\
import importlib.util as {p}util
{p}spec = {p}util.find_spec("jaxbits.expect")
{p}expect = {p}util.module_from_spec({p}spec)
{p}spec.loader.exec_module({p}expect)
"""


def bound(source: str) -> set[str]:
    r"""The names that a cell binds in the notebook.

    Example:
        >>> sorted(bound("import numpy as np\nfor x in y: z = [w for w in x]\ndef f(a): b = a"))
        ['f', 'np', 'x', 'z']
    """
    source = re.sub(r"^([ \t]*)[%!].*", r"\1pass", source, flags=re.M)  # magics are no Python
    top = symtable.symtable(source, "<cell>", "exec")
    names = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    inner = top.get_children()
    while inner:
        table = inner.pop()
        shared = (s for s in table.get_symbols() if s.is_declared_global() and s.is_assigned())
        names |= {s.get_name() for s in shared}
        inner += table.get_children()
    return names


class Apart:
    """The names of an assignment's tests in one run.

    Args:
        assignment: the source.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.prefix = f"_{secrets.token_hex(6)}_"
        given: set[str] = set()
        tests: set[str] = set()
        seen: set[str] = set()  # by the student, or the student's
        for cell in assignment.notebook.cells:
            if cell.cell_type != "code":
                continue
            text = without_ranges(cell.source)
            if marks(cell).get("grade"):
                tests |= bound(text)
                seen |= bound(release.shown(text))
            elif marks(cell).get("solution"):
                seen |= bound(release.solved(text))
            elif marks(cell):
                given |= bound(text)
            else:  # which a student may change or leave out
                seen |= bound(text)
        self.given = given - tests - seen
        self._hidden = tests - seen - given
        self._taken = given | tests | seen

    def keeping(self, source: str) -> str:
        """The code to run after a given cell, so that tests find what it made."""
        lines = [f"import builtins as {self.prefix}builtins"]
        for name in sorted(bound(without_ranges(source)) & self.given):
            copied = name == _COPIED and "jaxbits" in source
            kept = f"if {name!r} in globals(): {self.prefix}{name} = {name}"
            lines.append(_COPY.format(p=self.prefix) if copied else kept)
        return "\n".join(lines)

    def test(self, source: str, nonce: str) -> str:
        """A test cell with its own names; `passed` gives the nonce once it is through."""
        tree = _Renamed(self).visit(ast.parse(without_ranges(source)))
        return f"{ast.unparse(ast.fix_missing_locations(tree))}\n{self.passed} = {nonce!r}"

    @property
    def passed(self) -> str:
        """The name that has the nonce of the last test that was run to its end."""
        return f"{self.prefix}passed"

    def redefined(self) -> str:
        """An expression for the functions of given cells that the notebook defines anew."""
        pairs = f"((n, globals().get(n), globals().get({self.prefix!r} + n)) for n in NAMES)"
        pairs = pairs.replace("NAMES", repr(sorted(self.given - {_COPIED})))
        other = "getattr(a, '__code__', a) != getattr(b, '__code__', b)"
        return f"', '.join(n for n, a, b in {pairs} if a is not b and callable(b) and {other})"

    def renamed(self, name: str) -> str | None:
        """What a name of the notebook's is in the tests, None where it is the same."""
        return f"{self.prefix}{name}" if name in self._hidden | self.given else None

    def is_pythons(self, name: str) -> bool:
        """Whether a name is Python's own, and of nothing in the assignment."""
        return name in _PUBLIC and name not in self._taken


class _Renamed(ast.NodeTransformer):
    """Puts the tests' own names into a cell."""

    def __init__(self, apart: Apart) -> None:
        self.apart = apart
        self.local: list[set[str]] = []

    def _new(self, name: str) -> str | None:
        return None if any(name in names for names in self.local) else self.apart.renamed(name)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if new := self._new(node.id):
            return ast.copy_location(ast.Name(new, node.ctx), node)
        shadowed = any(node.id in names for names in self.local)
        if isinstance(node.ctx, ast.Load) and not shadowed and self.apart.is_pythons(node.id):
            module = ast.Name(f"{self.apart.prefix}builtins", ast.Load())
            return ast.copy_location(ast.Attribute(module, node.id, ast.Load()), node)
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> ast.AST:
        if not isinstance(node, ast.Lambda):
            node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.args = self.visit(node.args)
        inside = {*parameters(node), *stored(node)}
        if not isinstance(node, ast.Lambda):
            node.name = self._new(node.name) or node.name
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
        node.names = [self.apart.renamed(name) or name for name in node.names]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.bases = [self.visit(part) for part in node.bases]
        node.name = self._new(node.name) or node.name
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
            node.name = self._new(node.name) or node.name
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.AST:
        for alias in node.names:
            name = alias.asname or alias.name
            if "." not in name and (new := self._new(name)):
                alias.asname = new
        return node

    visit_ImportFrom = visit_Import
