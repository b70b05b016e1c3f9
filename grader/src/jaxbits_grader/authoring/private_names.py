"""Give the names in test cells private prefixes, so that tests and answers do not interfere.

nbgrader runs a test cell among the notebook's names. Without prefixes, a test would overwrite a
helper of the student's that has the name of a variable in a hidden test, and it would take the
student's ``max`` for Python's. Therefore, hidden tests get new names in each run. What the given
cells define, Python's builtins, and `jaxbits.testing` are read from where no answer can put
anything.
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
# Tests get a private copy of this module, so a patched function of it does not reach them.
_COPIED = "testing"
_COPY_MODULE = """\
import importlib.util as {p}util
{p}spec = {p}util.find_spec("jaxbits.testing")
{p}testing = {p}util.module_from_spec({p}spec)
{p}spec.loader.exec_module({p}testing)
"""


class PrivateNames:
    """The names of an assignment's tests in one run.

    Args:
        assignment: The assignment.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.prefix = f"_{secrets.token_hex(6)}_"
        given: set[str] = set()
        tests: set[str] = set()
        visible: set[str] = set()  # names that a student sees, or defines
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
            else:  # A student may change or remove such a cell.
                visible |= bound_names(source)
        self.given = given - tests - visible
        self.hidden = tests - visible - given
        self._taken = given | tests | visible
        self._reused = _ReusedNames(assignment, given)

    @property
    def finished_name(self) -> str:
        """The variable that holds the nonce of the last test that ran to its end."""
        return f"{self.prefix}finished"

    def save_given_names(self, source: str) -> str:
        """Return code that saves the names bound by a given cell under the prefix.

        It runs right after the given cell. Student code cannot shadow the saved names.
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
        """Return a test cell with private names.

        Args:
            source: The test cell, with hidden tests.
            nonce: The value that `finished_name` gets when the cell has run to its end.
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
        """Return an expression for the given functions that the notebook defines again.

        Its value is a string of names, separated by ``", "``.
        """
        names = sorted(self.given - {_COPIED})
        pairs = f"((n, globals().get(n), globals().get({self.prefix!r} + n)) for n in {names!r})"
        differs = "getattr(a, '__code__', a) != getattr(b, '__code__', b)"
        return f"', '.join(n for n, a, b in {pairs} if a is not b and callable(b) and {differs})"

    def _is_builtin(self, name: str) -> bool:
        return name in _BUILTINS and name not in self._taken


class _ReusedNames:
    """The names of visible tests to which hidden tests give other values.

    An answer knows these names and could read the hidden values. Therefore, hidden tests use
    private names, which start with the value that the visible name has.
    """

    def __init__(self, assignment: Assignment, given: set[str]) -> None:
        code = [cell for cell in assignment.notebook.cells if cell.cell_type == "code"]
        sources = [(nbgrader_metadata(c), c.source) for c in code]
        tests = [source for metadata, source in sources if metadata.get("grade")]
        others = [solution_source(s) for metadata, s in sources if not metadata.get("grade")]
        visible = _all_bound_names(map(visible_tests, tests))
        hidden = _all_bound_names(map(_hidden_source, tests))
        self.names = (visible & hidden) - _all_bound_names(others) - given
        # By test, the names that still have the value of a visible test when it begins.
        self._fresh: dict[str, set[str]] = {}
        stale: set[str] = set()
        for source in tests:
            stale -= bound_names(visible_tests(source))
            self._fresh[source] = self.names - stale
            stale |= self.names & bound_names(_hidden_source(source))

    def in_test(self, source: str) -> dict[str, bool]:
        """Return the reused names in a test's hidden part, with whether to copy their value."""
        tree = ast.parse(_hidden_source(source))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        return {name: name in self._fresh.get(source, self.names) for name in used & self.names}


def _all_bound_names(sources: Iterable[str]) -> set[str]:
    return set().union(*map(bound_names, sources))


def _hidden_source(source: str) -> str:
    """Return the hidden tests at the top level of a cell."""
    lines = hidden_test_lines(source)
    return "\n".join(s for n, s in enumerate(source.split("\n"), 1) if n in lines)
