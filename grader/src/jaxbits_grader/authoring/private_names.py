"""Give the names in test cells private prefixes, so that tests and answers do not interfere.

nbgrader runs a test cell in the notebook's namespace. Without prefixes, a variable in a hidden test
would overwrite a student's helper with the same name, and a test would call the student's own
``max`` instead of Python's. Therefore, the names in hidden tests get a new prefix in each run. For
Python's builtins, `jaxbits.testing`, the modules of libraries, and the names that given cells
define, tests use copies whose names an answer cannot guess. If a test binds one of the given names,
it binds the copy, so the notebook keeps the given value.
"""

from __future__ import annotations

import ast
import builtins
import secrets
from collections.abc import Iterable

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.cell_markers import (
    hidden_test_lines,
    solution_source,
    visible_tests,
)
from jaxbits_grader.authoring.name_rewriter import rename_names
from jaxbits_grader.cell_names import bound_names
from jaxbits_grader.notebook import nbgrader_metadata

_BUILTINS = {name for name in dir(builtins) if not name.startswith("_")}
# Tests get a private copy of this module, so patching the original does not affect them.
_COPIED = "testing"
_COPIES = "jaxbits_grader.checking.library_copies"
_COPY_MODULE = """\
import importlib.util as {p}util
def {p}copy(name):
    spec = {p}util.find_spec("jaxbits." + name)
    module = {p}util.module_from_spec(spec)
    spec.loader.exec_module(module)
    {use}(module)
    return module
{p}testing = {p}copy("testing")
{p}testing._equality = {p}copy("_equality")
{p}testing._formatting = {p}copy("_formatting")
"""
_RECORD_COMPARISONS = """\
from jaxbits_grader.judging import comparisons as {p}comparisons
{p}testing._observe = {p}comparisons.observe
"""


class PrivateNames:
    """The private names that an assignment's tests use in one run.

    Args:
        assignment: The assignment that contains the tests.
        copies_modules: Whether tests use copies of the libraries' modules, for which the process
            needs this package.
    """

    def __init__(self, assignment: Assignment, *, copies_modules: bool = True) -> None:
        self._copies_modules = copies_modules
        self.prefix = f"_{secrets.token_hex(6)}_"
        self._local_prefix = f"_{secrets.token_hex(6)}_"
        given: set[str] = set()
        tests: set[str] = set()
        visible: set[str] = set()  # The names that visible tests bind.
        students: set[str] = set()  # The names that a student may define.
        for cell in assignment.notebook.cells:
            if cell.cell_type != "code":
                continue
            metadata, source = nbgrader_metadata(cell), cell.source
            if metadata.get("grade"):
                tests |= bound_names(source)
                visible |= bound_names(visible_tests(source))
            elif metadata.get("solution"):
                students |= bound_names(solution_source(source))
            elif metadata:
                given |= bound_names(source)
            else:  # The cell is not locked, so a student may change or remove it.
                students |= bound_names(source)
        self.given = given - students
        self.hidden = tests - visible - students - given
        self._bound_by_tests = tests
        self._taken = given | tests | students
        self._reused = _ReusedNames(assignment, given)

    @property
    def finished_name(self) -> str:
        """The name of the variable that holds the nonce of the last test that ran to completion."""
        return f"{self.prefix}finished"

    @property
    def saved_given_names(self) -> dict[str, str]:
        """The given names, keyed by the private names that `save_given_names` binds."""
        return {self._original(name): name for name in sorted(self.given)}

    def _original(self, name: str) -> str:
        """Return the private name of the object that a given name refers to."""
        return f"{self.prefix}{'original_' * name.isupper()}{name}"

    def save_given_names(self, source: str) -> str:
        """Return code that saves, under private names, the values that a given cell defines.

        Run this code right after the given cell, before the student's code can replace the values.
        """
        lines = [f"import builtins as {self.prefix}builtins"]
        if self._copies_modules:
            lines.append(f"import {_COPIES} as {self.prefix}library_copies")
        for name in sorted(bound_names(source) & self.given):
            if name == _COPIED and "jaxbits" in source:
                use = f"{self.prefix}library_copies.use_copies" if self._copies_modules else "id"
                lines.append(_COPY_MODULE.format(p=self.prefix, use=use))
                if self._copies_modules:
                    lines.append(_RECORD_COMPARISONS.format(p=self.prefix))
            elif name.isupper():
                lines += self._copy_constant(name)
            else:
                copy = f"{self.prefix}library_copies.copy_of({name})"
                lines.append(self._save(name, copy if self._copies_modules else name))
        return "\n".join(lines)

    def _copy_constant(self, name: str) -> list[str]:
        """Return lines that save a given constant, and a copy of it that no answer can change.

        The tests use the copy, and the given functions use the constant itself.
        """
        python, original = f"{self.prefix}builtins", self._original(name)
        kinds = ", ".join(f"{python}.{kind}" for kind in ("dict", "list", "set"))
        is_mutable = f"{python}.type({name}) in ({kinds})"
        copy = f"{python}.type({name})({name}) if {is_mutable} else {name}"
        return [f"if {name!r} in globals(): {original} = {name}; {self.prefix}{name} = {copy}"]

    def _save(self, name: str, value: str | None = None) -> str:
        return f"if {name!r} in globals(): {self.prefix}{name} = {value or name}"

    def rename_test(self, source: str, nonce: str) -> str:
        """Return the source of a test cell with its names replaced by private ones.

        Args:
            source: The source of the test cell, including hidden tests.
            nonce: The value that the last line of the cell assigns to the variable
                `finished_name`.
        """
        lines = hidden_test_lines(source)
        reused = self._reused.in_test(source) if lines else {}
        # A hidden test that binds given names must not bind their private copies either, because
        # other tests use these copies.
        in_cell, in_lines = self._rebound_given_names(source)
        tree = ast.parse(source)
        first = next((i for i, part in enumerate(tree.body) if part.lineno in lines), 0)

        def new_name(name: str, line: int) -> str | None:
            if name in in_cell or (name in in_lines and line in lines):
                return self._local_prefix + name
            is_private = (line in lines and name in reused) or name in self.hidden | self.given
            return self.prefix + name if is_private else None

        tree = rename_names(tree, new_name, self._is_builtin, f"{self.prefix}builtins")
        if self._copies_modules:
            _patch_originals(tree, f"{self.prefix}library_copies")
        saves = [self._save(name) for name in sorted(reused) if reused[name]]
        saves += [self._copy_for_one_test(name) for name in sorted(in_lines)]
        tree.body[first:first] = ast.parse("\n".join(saves)).body
        copies = [self._copy_for_one_test(name) for name in sorted(in_cell)]
        tree.body[:0] = ast.parse("\n".join(copies)).body
        return f"{ast.unparse(ast.fix_missing_locations(tree))}\n{self.finished_name} = {nonce!r}"

    def _rebound_given_names(self, source: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the given names that a test binds.

        The first set contains those that only the hidden part of the test binds, and the second set
        contains those that both parts bind.
        """
        visible = bound_names(visible_tests(source))
        only_hidden = (bound_names(source) - visible) & self.given
        return only_hidden, bound_names(_hidden_source(source)) & visible & self.given

    def _copy_for_one_test(self, name: str) -> str:
        given, local = self.prefix + name, self._local_prefix + name
        return f"if {given!r} in globals(): {local} = {given}"

    def redefinition_query(self) -> str:
        """Return an expression that finds which given functions the notebook has redefined.

        The value of the expression is a string with their names, separated by ``", "``.
        """
        names = sorted(self.given - self._bound_by_tests - {_COPIED})
        pairs = f"((n, globals().get(n), globals().get({self.prefix!r} + n)) for n in {names!r})"
        differs = "getattr(a, '__code__', a) != getattr(b, '__code__', b)"
        return f"', '.join(n for n, a, b in {pairs} if a is not b and callable(b) and {differs})"

    def _is_builtin(self, name: str) -> bool:
        return name in _BUILTINS and name not in self._taken


def _patch_originals(tree: ast.AST, copies: str) -> None:
    """Let `mock.patch` patch a library's module, which answers use, instead of the tests' copy."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="patch"), attr="object" | "multiple")
            ):
                original = ast.parse(f"{copies}.original_of", mode="eval").body
                node.args[0] = ast.Call(original, [node.args[0]], [])


def find_rebound_given_names(assignment: Assignment) -> dict[str, list[str]]:
    """Return the given names that each test binds, keyed by the grade_id of the test.

    The name ``_`` is not included, because it stands for a value that nobody uses.
    """
    given: set[str] = set()
    tests: dict[str, frozenset[str]] = {}
    for cell in assignment.notebook.cells:
        metadata = nbgrader_metadata(cell)
        if cell.cell_type != "code" or not metadata or metadata.get("solution"):
            continue
        names = bound_names(cell.source)
        if metadata.get("grade"):
            tests[metadata["grade_id"]] = names
        else:
            given |= names
    return {
        id: sorted(names & given - {"_"}) for id, names in tests.items() if names & given - {"_"}
    }


class _ReusedNames:
    """The names in visible tests that hidden tests reassign.

    An answer can use these names, so it could read the hidden values. Therefore, hidden tests use
    private names instead, whose initial values are copied from the visible names.
    """

    def __init__(self, assignment: Assignment, given: set[str]) -> None:
        code = [cell for cell in assignment.notebook.cells if cell.cell_type == "code"]
        sources = [(nbgrader_metadata(c), c.source) for c in code]
        tests = [source for metadata, source in sources if metadata.get("grade")]
        others = [solution_source(s) for metadata, s in sources if not metadata.get("grade")]
        visible = _all_bound_names(map(visible_tests, tests))
        hidden = _all_bound_names(map(_hidden_source, tests))
        self.names = (visible & hidden) - _all_bound_names(others) - given
        # For each test, the names whose values still come from a visible test when the hidden part
        # of the test begins.
        self._fresh: dict[str, set[str]] = {}
        stale: set[str] = set()
        for source in tests:
            stale -= bound_names(visible_tests(source))
            self._fresh[source] = self.names - stale
            stale |= self.names & bound_names(_hidden_source(source))

    def in_test(self, source: str) -> dict[str, bool]:
        """Return, for each reused name in a test's hidden part, whether to copy its value."""
        tree = ast.parse(_hidden_source(source))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        return {name: name in self._fresh.get(source, self.names) for name in used & self.names}


def _all_bound_names(sources: Iterable[str]) -> set[str]:
    return set().union(*map(bound_names, sources))


def _hidden_source(source: str) -> str:
    """Return the hidden tests at the top level of a cell."""
    lines = hidden_test_lines(source)
    return "\n".join(s for n, s in enumerate(source.split("\n"), 1) if n in lines)
