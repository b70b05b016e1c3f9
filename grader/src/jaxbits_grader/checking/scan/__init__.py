"""Read a submission's code, without running it, for what it reveals of its intentions.

This is only one of several checks, and a person can hide from it what the code does. What it calls
tampering has no honest use. What it calls odd occasionally has one, so a person looks at it.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxbits_grader.checking.scan.name_resolution import NameResolver
from jaxbits_grader.checking.scan.visitor import scan_cell
from jaxbits_grader.notebook import ParsedNotebook


@dataclass(frozen=True)
class ScanFindings:
    """What a person should see: signs of tampering, and what is only odd."""

    tampering: tuple[str, ...]
    odd: tuple[str, ...]


def scan_notebook(notebook: ParsedNotebook, released: ParsedNotebook) -> ScanFindings:
    """Scan the cells of a submission that are the student's own.

    Args:
        notebook: The submission. Cells that are not Python are skipped, because they can only fail.
        released: The notebook that was handed out. Its cells are skipped as well, but what they
            import is known in the others.

    Returns:
        The findings, each with the line and the cell. A cell is named by its grade_id, or else by
        its position among all cells.

    Example:
        >>> from jaxbits_grader.notebook import Cell
        >>> own = ParsedNotebook((Cell("code", "import numpy as n; n.allclose = bool"),))
        >>> scan_notebook(own, ParsedNotebook(())).tampering
        ('cell 1, line 1: assigns to numpy.allclose, which the tests rely on',)
    """
    given = {cell.source.strip() for cell in released.cells}
    names = NameResolver()
    tampering: list[str] = []
    odd: list[str] = []
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        found = scan_cell(cell.source, names)
        if cell.source.strip() not in given:
            name = f"cell {cell.grade_id if cell.grade_id in released.marked else number}"
            tampering += found.messages("tampering", name)
            odd += found.messages("odd", name)
    return ScanFindings(tuple(tampering), tuple(odd))
