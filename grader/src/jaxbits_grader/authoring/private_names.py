"""Give the names in test cells private prefixes, so that tests and answers do not interfere.

nbgrader runs a test cell in the notebook's namespace. Without prefixes, a variable in a hidden test
would overwrite a student's helper with the same name, and a test would call the student's own
``max`` instead of Python's. Therefore, the names in hidden tests get a new prefix in each run. For
Python's builtins, `jaxbits.testing`, and the names that given cells define, tests use copies whose
names an answer cannot guess.
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
_COPY_MODULE = """\
import importlib.util as {p}util
def {p}copy(name):
    spec = {p}util.find_spec("jaxbits." + name)
    module = {p}util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
{p}testing = {p}copy("testing")
{p}testing._equality = {p}copy("_equality")
{p}testing._formatting = {p}copy("_formatting")
"""


class PrivateNames:
    """The private names that an assignment's tests use in one run.

    Args:
        assignment: The assignment that contains the tests.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.prefix = f"_{secrets.token_hex(6)}_"
        given: set[str] = set()
        tests: set[str] = set()
        visible: set[str] = set()  # The names that a student can see or may define.
        for cell in assignment.notebook.cells:
            if cell.cell_type != "code":
                continue
            metadata, source = nbgrader_metadata(cell), cell.source
            if metadata.get("grade"):
                tests |= bound_names(source)
                visible |= bound_names(visible_tests(source))
            elif metadata.get("solution"):
                visible |= bound_names(solution_source(source))
            elif metadata:
                given |= bound_names(source)
            else:  # The cell is not locked, so a student may change or remove it.
                visible |= bound_names(source)
        self.given = given - tests - visible
        self.hidden = tests - visible - given
        self._taken = given | tests | visible
        self._reused = _ReusedNames(assignment, given)

    @property
    def finished_name(self) -> str:
        """The name of the variable that holds the nonce of the last test that ran to completion."""
        return f"{self.prefix}finished"

    def save_given_names(self, source: str) -> str:
        """Return code that saves, under private names, the values that a given cell defines.

        Run this code right after the given cell, before the student's code can replace the values.
        """
        lines = [f"import builtins as {self.prefix}builtins"]
        for name in sorted(bound_names(source) & self.given):
            if name == _COPIED and "jaxbits" in source:
                lines.append(_COPY_MODULE.format(p=self.prefix))
            else:
                lines.append(self._save(name))
        return "\n".join(lines)

    def _save(self, name: str) -> str:
        return f"if {name!r} in globals(): {self.prefix}{name} = {name}"

    def rename_test(self, source: str, nonce: str) -> str:
        """Return the source of a test cell with its names replaced by private ones.

        Args:
            source: The source of the test cell, including hidden tests.
            nonce: The value that the last line of the cell assigns to the variable
                `finished_name`.
        """
        lines = hidden_test_lines(source)
        reused = self._reused.in_test(source) if lines else {}
        tree = ast.parse(source)
        first = next((i for i, part in enumerate(tree.body) if part.lineno in lines), 0)

        def new_name(name: str, line: int) -> str | None:
            is_private = (line in lines and name in reused) or name in self.hidden | self.given
            return self.prefix + name if is_private else None

        tree = rename_names(tree, new_name, self._is_builtin, f"{self.prefix}builtins")
        saves = [self._save(name) for name in sorted(reused) if reused[name]]
        tree.body[first:first] = ast.parse("\n".join(saves)).body
        return f"{ast.unparse(ast.fix_missing_locations(tree))}\n{self.finished_name} = {nonce!r}"

    def redefinition_query(self) -> str:
        """Return an expression that finds which given functions the notebook has redefined.

        The value of the expression is a string with their names, separated by ``", "``.
        """
        names = sorted(self.given - {_COPIED})
        pairs = f"((n, globals().get(n), globals().get({self.prefix!r} + n)) for n in {names!r})"
        differs = "getattr(a, '__code__', a) != getattr(b, '__code__', b)"
        return f"', '.join(n for n, a, b in {pairs} if a is not b and callable(b) and {differs})"

    def _is_builtin(self, name: str) -> bool:
        return name in _BUILTINS and name not in self._taken


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
