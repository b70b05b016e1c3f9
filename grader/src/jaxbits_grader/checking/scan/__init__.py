"""What a submission's code says of its intentions: read, never run.

Only one of several nets: a person can hide from it what they do. What it calls tampered has no
honest use; what it calls odd has one now and then, and somebody looks at it.
"""

from __future__ import annotations

from dataclasses import dataclass

from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment_source import marks
from jaxbits_grader.checking.scan.name_resolution import Names
from jaxbits_grader.checking.scan.visitor import LONGEST, read

__all__ = ["LONGEST", "Scan", "scan"]


@dataclass(frozen=True)
class Scan:
    """What a person should see, a sentence each: what is tampering, and what is only odd."""

    tampered: tuple[str, ...]
    odd: tuple[str, ...]


def scan(notebook: NotebookNode, released: NotebookNode) -> Scan:
    """Read the cells of a submission that are the student's own.

    Args:
        notebook: the submission. A cell that does not parse is passed over: it can only fail.
        released: the notebook as it was handed out. Cells that stand in it, too, are left out, but
            what they import is known in the others.

    Returns:
        What was found, each with the cell, by its grade_id or else its place among all cells, and
        the line.

    Example:
        >>> from nbformat.v4 import new_code_cell, new_notebook
        >>> own = new_notebook(cells=[new_code_cell("import numpy as n; n.allclose = bool")])
        >>> scan(own, new_notebook()).tampered
        ('cell 1, line 1: assigns to numpy.allclose, which the tests rely on',)
    """
    given = {cell.source.strip() for cell in released.cells}
    ids = {marks(cell).get("grade_id") for cell in released.cells} - {None}
    names = Names()
    tampered: list[str] = []
    odd: list[str] = []
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        found = read(cell.source, names)
        if cell.source.strip() not in given:
            grade_id = marks(cell).get("grade_id")
            name = f"cell {grade_id if grade_id in ids else number}"
            tampered += found.said("tampered", name)
            odd += found.said("odd", name)
    return Scan(tuple(tampered), tuple(odd))
