"""What a person should know of a notebook that was mended: what was changed, what counts twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment_source import marks
from jaxbits_grader.intake.cell_matching import names_in, same_text, was_written


def changed(
    cells: list[dict[str, Any]], chosen: dict[str, int | None], ours: dict[str, NotebookNode]
) -> Iterator[str]:
    """Tell of cells that were changed and should not have been.

    Args:
        cells: the student's, as `loading.load` gives them.
        chosen: which of them was taken for which of ours.
        ours: the released cells that have marks, by their grade_id.
    """
    tests: list[str] = []
    given: list[str] = []
    turned: list[str] = []
    for id, index in chosen.items():
        if index is None:
            continue
        same = same_text(cells[index]["source"], ours[id].source)
        if not marks(ours[id])["solution"] and not same:
            (tests if marks(ours[id])["grade"] else given).append(id)
        if cells[index]["kind"] != ours[id].cell_type:
            turned.append(id)
    if tests:
        yield f"tests were changed and are put back: {', '.join(tests)}"
    if given:
        yield f"given cells were changed and are put back: {', '.join(given)}"
    if turned:
        yield f"cells of another type than they were: {', '.join(turned)}"


def written_twice(
    cells: list[dict[str, Any]], known: list[str | None], ours: dict[str, NotebookNode]
) -> Iterator[str]:
    """Tell of answers in several versions; a cell that was split in two is none.

    Args:
        cells: the student's, as `loading.load` gives them.
        known: for each of them the grade_id it has, None where it has none.
        ours: the released cells that have marks, by their grade_id.
    """
    texts: dict[str, set[str]] = {id: set() for id, cell in ours.items() if marks(cell)["solution"]}
    for id, cell in zip(known, cells, strict=True):
        if id not in texts or cell["kind"] != "code" or not was_written(cell, ours[id]):
            continue
        wanted = set(names_in(ours[id].source))
        if wanted and wanted <= set(names_in(cell["source"])):
            texts[id].add("".join(cell["source"].split()))
    if several := [id for id, written in texts.items() if len(written) > 1]:
        yield f"answers written more than once, of which the last counts: {', '.join(several)}"


def undone(notebook: NotebookNode, ours: dict[str, NotebookNode]) -> Iterator[str]:
    """Tell of answers above the stub that nobody wrote in: it defines their names once more.

    Args:
        notebook: the mended one.
        ours: the released cells that have marks, by their grade_id.
    """
    found = []
    answered: set[str] = set()
    for cell in notebook.cells:
        mark = marks(cell)
        if cell.cell_type != "code" or (mark and not mark["solution"]):
            continue
        source = re.split(r"^raise\b", cell.source, maxsplit=1, flags=re.M)[0]  # it ends there
        names = set(names_in(source))
        if not mark or not same_text(cell.source, ours[mark["grade_id"]].source):
            answered |= names
        elif names and names <= answered:
            found.append(mark["grade_id"])
    if found:
        yield f"answers that their own stub, further down, undoes: {', '.join(found)}"
