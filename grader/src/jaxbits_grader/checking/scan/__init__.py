"""Scan a submission's code for signs of tampering, without running the code.

This scan is only one of several checks, and a student can write code that evades it. Code that the
scan reports as tampering has no honest use. Code that it reports as odd occasionally has one, so a
person should look at it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from jaxbits_grader.checking.scan.cell_functions import functions_that_only_cells_call
from jaxbits_grader.checking.scan.forbidden_names import ForbiddenUse, forbidden_uses
from jaxbits_grader.checking.scan.name_resolution import NameResolver
from jaxbits_grader.checking.scan.names_of_tests import (
    names_only_in_tests,
    reads_in_functions,
)
from jaxbits_grader.checking.scan.printed_times import can_read_output
from jaxbits_grader.checking.scan.visitor import scan_cell
from jaxbits_grader.notebook import Cell, ParsedNotebook

# These can compute gradients without JAX.
_FRAMEWORKS = frozenset({"autograd", "tensorflow", "torch"})


@dataclass(frozen=True)
class ScanFindings:
    """Messages about signs of tampering and about odd code, for a person to read."""

    tampering: tuple[str, ...]
    odd: tuple[str, ...]


def scan_notebook(
    notebook: ParsedNotebook,
    released: ParsedNotebook,
    forbidden: Mapping[str, Collection[str]] | None = None,
) -> ScanFindings:
    """Scan the student's own cells in a submission.

    Args:
        notebook: The submission. Cells that are not valid Python are skipped, because they can only
            fail.
        released: The notebook that was handed out. Nothing in its cells is reported, but the scan
            of the student's cells takes their imports into account.
        forbidden: The names that each task forbids, keyed by the grade_id of its answer cell.

    Returns:
        The findings, each with its cell and line. Cells are identified by their grade_id or, if
        they have none, by their position in the notebook.

    Example:
        >>> from jaxbits_grader.notebook import Cell
        >>> own = ParsedNotebook((Cell("code", "import numpy as n; n.allclose = bool"),))
        >>> scan_notebook(own, ParsedNotebook(())).tampering
        ('cell 1, line 1: assigns to numpy.allclose, which the tests rely on',)
    """
    given = {cell.source.strip() for cell in released.cells}
    names, of_tests = NameResolver(), names_only_in_tests(released)
    with contextlib.suppress(RecursionError, MemoryError):  # The scan of a cell notes these.
        names.only_called_by_cells = functions_that_only_cells_call(notebook, released)
        names.can_read_output = can_read_output(notebook.cells)
    uses: list[ForbiddenUse] = []
    with contextlib.suppress(RecursionError, MemoryError):
        uses += forbidden_uses(notebook, released, forbidden or {})
    unexpected = _FRAMEWORKS.difference(*map(_packages, released.cells))
    tampering: list[str] = []
    odd: list[str] = []
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        found = scan_cell(cell.source, names)
        if cell.source.strip() in given:
            names.given |= names.notebook.paths
        else:
            for read, line in reads_in_functions(cell.source, of_tests, names.only_called_by_cells):
                found.add("odd", line, f"a function uses {read}, a variable of a test")
            for use in uses:
                if use.cell == number - 1:
                    found.add(
                        "odd",
                        use.line,
                        f"the answer to {use.task} uses {use.name}, which the task forbids",
                    )
            for package in sorted(_packages(cell) & unexpected):
                found.add("odd", 1, f"imports {package}, which the assignment does not use")
            name = f"cell {cell.grade_id if cell.grade_id in released.marked else number}"
            tampering += found.messages("tampering", name)
            odd += found.messages("odd", name)
    return ScanFindings(tuple(tampering), tuple(odd))


def _packages(cell: Cell) -> set[str]:
    return {module.partition(".")[0] for module in cell.imported_modules}
