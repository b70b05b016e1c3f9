"""Write notes for the teacher about a notebook that was repaired."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from jaxbits_grader.intake.cell_matching import Match, is_edited, is_same_text
from jaxbits_grader.notebook import Cell, ParsedNotebook, Role


def describe_changed_cells(
    cells: Sequence[Cell], match: Match, released: ParsedNotebook
) -> Iterator[str]:
    """Yield notes on tests, given cells, and cell types that the student changed.

    Args:
        cells: The student's cells.
        match: Which of these cells belong to the assignment.
        released: The notebook that was handed out.
    """
    tests: list[str] = []
    given: list[str] = []
    other_type: list[str] = []
    for id, index in match.chosen.items():
        if index is None:
            continue
        our_cell = released.marked[id]
        if our_cell.role is not Role.SOLUTION and not is_same_text(cells[index], our_cell):
            (tests if our_cell.role is Role.TEST else given).append(id)
        if cells[index].cell_type != our_cell.cell_type:
            other_type.append(id)
    if tests:
        yield f"tests were changed and have been restored: {', '.join(tests)}"
    if given:
        yield f"given cells were changed and have been restored: {', '.join(given)}"
    if other_type:
        yield f"cells had a different type: {', '.join(other_type)}"


def describe_duplicate_answers(
    cells: Sequence[Cell], match: Match, released: ParsedNotebook
) -> Iterator[str]:
    """Yield a note if the student wrote several versions of an answer.

    Only cells that define all of an answer's names count as versions of it. Therefore, if the
    student split an answer between two cells, neither part counts.

    Args:
        cells: The student's cells.
        match: Which of these cells belong to the assignment.
        released: The notebook that was handed out.
    """
    ours = released.marked
    texts: dict[str, set[str]] = {id: set() for id in ours if ours[id].role is Role.SOLUTION}
    for id, cell in zip(match.grade_ids, cells, strict=True):
        if id not in texts or cell.cell_type != "code" or not is_edited(cell, ours[id]):
            continue
        if ours[id].names and ours[id].names <= cell.names:
            texts[id].add(cell.text)
    if several := [id for id, versions in texts.items() if len(versions) > 1]:
        yield f"answers written more than once, of which the last counts: {', '.join(several)}"


def describe_overwritten_answers(
    notebook: ParsedNotebook, released: ParsedNotebook
) -> Iterator[str]:
    """Yield a note if an unedited stub further down overwrites an answer by redefining its names.

    Args:
        notebook: The repaired notebook.
        released: The notebook that was handed out.
    """
    found = []
    answered: set[str] = set()
    for cell in notebook.cells:
        if cell.cell_type != "code" or cell.role not in (Role.OWN, Role.SOLUTION):
            continue
        # A stub stops at its first top-level `raise`, so it binds no names below that line.
        reached = re.split(r"^raise\b", cell.source, maxsplit=1, flags=re.M)[0]
        names = replace(cell, source=reached).names
        if cell.role is Role.OWN or not is_same_text(cell, released.marked[str(cell.grade_id)]):
            answered |= names
        elif names and names <= answered:
            found.append(str(cell.grade_id))
    if found:
        is_one = len(found) == 1
        answers, cells = ("answer", "cell") if is_one else ("answers", "cells")
        verb, defines, those = ("is", "defines", "that") if is_one else ("are", "define", "those")
        yield (
            f"your {answers} to {', '.join(found)} {verb} above the {cells} with "
            f'"# YOUR CODE HERE", which {defines} the same names again; '
            f"write the {answers} in {those} {cells}"
        )
