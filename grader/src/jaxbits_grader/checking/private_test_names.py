"""Tests with names of their own: what a notebook calls a thing changes no test, and the reverse.

A test cell runs among the notebook's names, as nbgrader has it. Unchanged, a helper of a student's
that is called as a variable of a hidden test would be lost to it, and a test would take the
student's ``max`` for Python's. So the hidden tests' names are drawn anew for each run, and what
the given cells made, Python's own functions and `jaxbits.testing` are taken from where no answer
has put anything.
"""

from __future__ import annotations

import ast
import builtins
import re
import secrets
import symtable
from collections.abc import Iterable

from jaxbits_grader.authoring import release_notebook as release
from jaxbits_grader.authoring.assignment_source import Assignment, marks
from jaxbits_grader.authoring.variants import without_ranges
from jaxbits_grader.checking.name_rewriter import renamed

_PUBLIC = {name for name in dir(builtins) if not name.startswith("_")}
_BEGIN, _END = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
# A module of which the tests get a copy, and the code that makes it.
_COPIED = "testing"
_COPY = """\
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
        self._reused = _Reused(assignment, given)

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
        source = without_ranges(source)
        lines = _hidden_lines(source)
        names = self._reused.of(source) if lines else {}
        tree = ast.parse(source)
        before = next((i for i, part in enumerate(tree.body) if part.lineno in lines), 0)

        def new(name: str, line: int) -> str | None:
            own = self.prefix + name if line in lines and name in names else None
            return own or self.renamed(name)

        tree = renamed(tree, new, self.is_pythons, f"{self.prefix}builtins")
        kept = [f"if {n!r} in globals(): {self.prefix}{n} = {n}" for n in sorted(names) if names[n]]
        tree.body[before:before] = ast.parse("\n".join(kept)).body
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


class _Reused:
    """Names of visible tests to which hidden tests give other values.

    An answer could read those, as it knows the names. So hidden tests have them under names of
    their own, which begin with the value that the visible name has.

    Args:
        assignment: the source.
        given: the names that given cells bind.
    """

    def __init__(self, assignment: Assignment, given: set[str]) -> None:
        code = [cell for cell in assignment.notebook.cells if cell.cell_type == "code"]
        texts = [(marks(cell), without_ranges(cell.source)) for cell in code]
        tests = [text for mark, text in texts if mark.get("grade")]
        answers = [release.solved(text) for mark, text in texts if not mark.get("grade")]
        visible = _bound_in(map(release.shown, tests))
        self.names = visible & _bound_in(map(_hidden_part, tests)) - _bound_in(answers) - given
        self._fresh: dict[str, set[str]] = {}
        stale: set[str] = set()  # what a hidden test had last
        for text in tests:
            stale -= bound(release.shown(text))
            self._fresh[text] = self.names - stale
            stale |= self.names & bound(_hidden_part(text))

    def of(self, source: str) -> dict[str, bool]:
        """The names a test's hidden part uses; whether each begins with the visible one's value."""
        used = {n.id for n in ast.walk(ast.parse(_hidden_part(source))) if isinstance(n, ast.Name)}
        return {name: name in self._fresh.get(source, self.names) for name in used & self.names}


def _bound_in(sources: Iterable[str]) -> set[str]:
    return set().union(*map(bound, sources))


def _hidden_part(source: str) -> str:
    """The text of the hidden parts that stand at the top level."""
    lines = _hidden_lines(source)
    return "\n".join(line for n, line in enumerate(source.splitlines(), 1) if n in lines)


def _hidden_lines(source: str) -> set[int]:
    """The lines of the hidden parts at the top level; one within a block shares its names."""
    lines, inside = set(), False
    for number, line in enumerate(source.splitlines(), 1):
        inside = (inside or line.rstrip() == _BEGIN) and line.rstrip() != _END
        lines |= {number} if inside else set()
    return lines
