"""Represent a notebook by the cell properties that the grader needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import nbformat
from nbformat import NotebookNode

from jaxbits_grader.cell_names import bound_names, imported_modules, used_names

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
# We do not parse longer cells, because parsing needs about 1000 times as much memory as the text.
MAX_CELL_CHARACTERS = 200_000


class Role(Enum):
    """The role of a cell: the student's own cell, a given cell, an answer, or a test."""

    OWN = "own"
    GIVEN = "given"
    SOLUTION = "solution"
    TEST = "test"


@dataclass(frozen=True)
class Cell:
    """A cell in a notebook.

    Attributes:
        cell_type: "code", "markdown", or "raw".
        source: The source of the cell.
        id: The cell's id in the notebook format, or an empty string if it has none.
        grade_id: nbgrader's name for the cell, or None if it has none.
        role: The role of the cell.
        points: The maximum number of points for a test, or 0 for other cells.
    """

    cell_type: str
    source: str
    id: str = ""
    grade_id: str | None = None
    role: Role = Role.OWN
    points: int = 0

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that the cell binds, or an empty set if the cell cannot be parsed."""
        return self._parse(bound_names)

    @cached_property
    def used_names(self) -> frozenset[str]:
        """The names that the cell uses but does not bind, or an empty set if it is not valid."""
        return self._parse(used_names)

    @cached_property
    def imported_modules(self) -> frozenset[str]:
        """The modules that the cell imports, or an empty set if the cell cannot be parsed."""
        return self._parse(imported_modules) if self.cell_type == "code" else frozenset()

    def _parse(self, parse: Callable[[str], frozenset[str]]) -> frozenset[str]:
        if len(self.source) > MAX_CELL_CHARACTERS:
            return frozenset()
        try:
            return parse(self.source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return frozenset()

    @cached_property
    def text(self) -> str:
        """The source without whitespace, for comparing cells."""
        return "".join(self.source.split())

    def to_nbformat(self) -> NotebookNode:
        """Return the cell in notebook format 4.5."""
        is_code = self.cell_type == "code"
        make = nbformat.v4.new_code_cell if is_code else nbformat.v4.new_markdown_cell
        cell: NotebookNode = make(self.source, id=self.id)
        if self.grade_id is not None and self.role is not Role.OWN:
            own = full_nbgrader_metadata(self.grade_id, self.role, self.points)
            cell.metadata = nbformat.from_dict({"nbgrader": own})
        return cell


@dataclass(frozen=True)
class ParsedNotebook:
    """The cells of a notebook, with notes for the teacher about how they were read."""

    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def from_nbformat(cls, notebook: NotebookNode) -> ParsedNotebook:
        """Parse the cells of a trusted notebook, such as the released one."""
        return cls(tuple(map(_parse_cell, notebook.cells)))

    @cached_property
    def marked(self) -> dict[str, Cell]:
        """The cells that belong to the assignment, in order, keyed by grade_id."""
        return {c.grade_id: c for c in self.cells if c.grade_id and c.role is not Role.OWN}

    def to_nbformat(self) -> NotebookNode:
        """Return the notebook in notebook format 4.5, without outputs."""
        metadata = {"kernelspec": KERNEL, "language_info": LANGUAGE}
        cells = [cell.to_nbformat() for cell in self.cells]
        notebook: NotebookNode = nbformat.v4.new_notebook(metadata=metadata, cells=cells)
        return notebook


def _parse_cell(cell: NotebookNode) -> Cell:
    metadata = nbgrader_metadata(cell)
    role = Role.GIVEN if metadata else Role.OWN
    if metadata.get("solution"):
        role = Role.SOLUTION
    elif metadata.get("grade"):
        role = Role.TEST
    return Cell(
        cell.cell_type,
        cell.source,
        cell.get("id", ""),
        metadata.get("grade_id"),
        role,
        metadata.get("points", 0),
    )


def nbgrader_metadata(cell: NotebookNode) -> dict[str, Any]:
    """Return the nbgrader metadata of a cell, or an empty dictionary if it has none."""
    found = cell.get("metadata", {}).get("nbgrader")
    return found if isinstance(found, dict) else {}


def full_nbgrader_metadata(grade_id: str, role: Role, points: int) -> dict[str, Any]:
    """Return nbgrader metadata for a cell, with all the keys that nbgrader's schema requires.

    See https://github.com/jupyter/nbgrader/blob/v0.9.5/nbgrader/nbgraderformat/v3.py.

    Args:
        grade_id: The name of the cell.
        role: The role of the cell.
        points: The maximum number of points for a test. This is ignored for other cells.
    """
    metadata: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": grade_id,
        "solution": role is Role.SOLUTION,
        "grade": role is Role.TEST,
        "task": False,
        "locked": role is not Role.SOLUTION,
    }
    return metadata | ({"points": points} if role is Role.TEST else {})
