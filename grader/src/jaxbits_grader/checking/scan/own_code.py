"""Find the student's statements that determine the value of a name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from jaxbits_grader.cell_names import bound_names
from jaxbits_grader.checking.scan.ast_utils import is_too_long, parse_cell
from jaxbits_grader.checking.scan.changed_values import FILES, changed_names, shared_values
from jaxbits_grader.notebook import Cell, ParsedNotebook, Role

_IMPORTS = (ast.Import, ast.ImportFrom)


class Statement(NamedTuple):
    """A statement at the top level of a cell."""

    cell: int  # The position in the notebook, from 0.
    tree: ast.stmt


class OwnCode:
    """The statements that a student has written.

    Args:
        notebook: The submission. Cells that cannot be parsed or are too long are skipped.
        released: The notebook that was handed out. Its cells are left out.
    """

    def __init__(self, notebook: ParsedNotebook, released: ParsedNotebook) -> None:
        statements = list(_own_statements(notebook, released))
        self.binding = _by_name(statements, lambda one: bound_names(ast.unparse(one.tree)))
        given = frozenset[str]().union(*(cell.names for cell in released.cells))
        self._given = given.difference(self.binding)
        self._imports = {
            name
            for name, some in self.binding.items()
            if any(isinstance(one.tree, _IMPORTS) for one in some)
        }
        answers = (cell.names for cell in released.cells if cell.role is Role.SOLUTION)
        # What an answer returns is new, so a list of results shares nothing with the answer.
        self._pure = self._given.union(*answers)
        self._numbers = {id(one): number for number, one in enumerate(statements)}
        self._changing = _by_name(statements, self._changed)
        self._shared: dict[str, set[str]] = {}
        for one in statements:
            for pair in shared_values(one.tree, self._pure):
                if not self._imports.isdisjoint(pair):
                    continue
                first, second = (self._key(one, name) for name in pair)
                self._shared.setdefault(first, set()).add(second)
                self._shared.setdefault(second, set()).add(first)

    def determining(self, name: str) -> list[Statement]:
        """Return the statements that bind a name or may change its value.

        Args:
            name: The name of a global variable, or `FILES`.
        """
        waiting, seen = [name], {name}
        while waiting:
            new = self._shared.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        changing = (one for some in sorted(seen) for one in self._changing.get(some, []))
        return [*self.binding.get(name, []), *changing]

    def _changed(self, statement: Statement) -> list[str]:
        names = changed_names(statement.tree, self._pure)
        return [self._key(statement, name) for name in sorted(names - self._given - self._imports)]

    def _key(self, statement: Statement, name: str) -> str:
        """Return a name that is different for local variables of different statements."""
        return (
            name
            if name in self.binding or name == FILES
            else f"{self._numbers[id(statement)]}:{name}"
        )


def _own_statements(notebook: ParsedNotebook, released: ParsedNotebook) -> Iterator[Statement]:
    given = {cell.source.strip() for cell in released.cells}
    for number, cell in enumerate(notebook.cells):
        for tree in [] if cell.source.strip() in given else _statements(cell):
            yield Statement(number, tree)


def _statements(cell: Cell) -> list[ast.stmt]:
    if cell.cell_type != "code" or is_too_long(cell.source):
        return []
    tree = parse_cell(cell.source)
    return tree.body if tree else []


def _by_name(
    statements: Iterable[Statement], names: Callable[[Statement], Collection[str]]
) -> dict[str, list[Statement]]:
    """Return the statements that do something to a name, keyed by the name."""
    found: dict[str, list[Statement]] = {}
    for statement in statements:
        for name in names(statement):
            found.setdefault(name, []).append(statement)
    return found
