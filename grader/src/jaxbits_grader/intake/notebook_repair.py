"""A student's notebook, mended: every cell of the assignment there once, with its marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nbformat
from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment_source import KERNEL, LANGUAGE, marks
from jaxbits_grader.intake import repair_notes as remarks
from jaxbits_grader.intake.cell_matching import (
    answer_of,
    names_in,
    recognised,
    taken,
    was_written,
)
from jaxbits_grader.intake.notebook_reader import Unreadable


def repaired(cells: list[dict[str, Any]], released: NotebookNode) -> tuple[NotebookNode, list[str]]:
    """Put a student's cells into the assignment's form.

    Answers are the student's; given cells and tests are the release's, in their places. A cell is
    known by its grade_id, else by its id, else by its text or by what it defines.

    Args:
        cells: as `loading.load` gives them.
        released: the notebook that was handed out.

    Returns:
        The notebook, and what had to be mended.

    Raises:
        Unreadable: when no cell of it is an answer or a test of the assignment.
    """
    ours = {marks(c)["grade_id"]: c for c in released.cells if marks(c)}
    known, notes = recognised(cells, ours)
    chosen = taken(known, cells, ours)
    if not any(chosen[id] is not None for id in ours if _counts(ours[id])):
        raise Unreadable("it holds no cell of this assignment: it may be another notebook")
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": KERNEL, "language_info": LANGUAGE})
    for index, cell in enumerate(cells):
        id = known[index]
        if id is not None and chosen[id] == index:
            if _answers_within(cell, ours[id], ours):
                notebook.cells.append(_new("code", cell["source"]))
            notebook.cells.append(_ours(ours[id], cell["source"]))
        elif id is None or _keeps(cell, ours[id]):
            notebook.cells.append(_new(cell["kind"], cell["source"]))
    notes += remarks.changed(cells, chosen, ours)
    notes += remarks.written_twice(cells, known, ours)
    notes += list(_put_back(notebook, ours))
    notes += list(_in_order(notebook, ours))
    notes += list(remarks.undone(notebook, ours))
    for number, cell in enumerate(notebook.cells):
        if not marks(cell):
            cell.id = f"own-{number}"
    return notebook, notes


def _keeps(cell: dict[str, Any], ours: NotebookNode) -> bool:
    """Whether a copy of one of our cells that was not taken for it stays as the student's own."""
    if marks(ours)["solution"]:
        return was_written(cell, ours)
    return not marks(ours)["grade"] and cell["kind"] == "code"


def _counts(cell: NotebookNode) -> bool:
    return bool(marks(cell)["solution"] or marks(cell)["grade"])


def _answers_within(
    cell: dict[str, Any], test: NotebookNode, ours: dict[str, NotebookNode]
) -> bool:
    """Whether a student wrote the answer into the cell of its test."""
    answer = answer_of(marks(test)["grade_id"], ours)
    if answer is None or cell["kind"] != "code":
        return False
    own = set(names_in(cell["source"])) - set(names_in(test.source))
    return bool(own & set(names_in(ours[answer].source)))


def _new(kind: str, source: str) -> NotebookNode:
    make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    cell: NotebookNode = make(source)
    return cell


def _ours(cell: NotebookNode, source: str) -> NotebookNode:
    own = _new(cell.cell_type, source if marks(cell)["solution"] else cell.source)
    own.id = cell.id
    own.metadata = nbformat.from_dict({"nbgrader": dict(marks(cell))})
    return own


def _put_back(notebook: NotebookNode, ours: dict[str, NotebookNode]) -> Iterator[str]:
    answers: list[str] = []
    elsewhere: list[str] = []
    tests: list[str] = []
    given: list[str] = []
    before = None
    for id, cell in ours.items():
        there = [marks(c).get("grade_id") for c in notebook.cells]
        if id not in there:
            place = there.index(before) + 1 if before in there else 0
            mark, source = marks(cell), cell.source
            if mark["grade"]:
                place = _behind(notebook, place, id, ours)
            defined = _where_defined(notebook, cell) if mark["solution"] else None
            if defined is not None:
                # A stub would undo it.
                place, source = max(place, defined + 1), "# This answer stands in another cell."
                elsewhere.append(id)
            else:
                (answers if mark["solution"] else tests if mark["grade"] else given).append(id)
            notebook.cells.insert(place, _ours(cell, source))
        before = id
    for what, missing in (
        ("answers", answers),
        ("tests", tests),
        ("given cells", given),
        ("cells of answers, which stand in others,", elsewhere),
    ):
        if missing:
            yield f"{what} that were missing, put back: {', '.join(missing)}"


def _where_defined(notebook: NotebookNode, answer: NotebookNode) -> int | None:
    """The last of the student's cells that binds all of an answer's names."""
    wanted = set(names_in(answer.source))
    places = [
        place
        for place, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and not marks(cell).get("grade")
        if wanted and wanted <= set(names_in(cell.source))
    ]
    return places[-1] if places else None


def _behind(notebook: NotebookNode, place: int, test: str, ours: dict[str, NotebookNode]) -> int:
    """Where a missing test goes: behind what the student adds to the answer in cells below it."""
    answer = answer_of(test, ours)
    wanted = set(names_in(ours[answer].source)) if answer else set()
    for index, cell in enumerate(notebook.cells[place:], place + 1):
        if marks(cell):
            break
        if cell.cell_type == "code" and wanted & set(names_in(cell.source)):
            place = index
    return place


def _in_order(notebook: NotebookNode, ours: dict[str, NotebookNode]) -> Iterator[str]:
    """Move a test behind its answer, and a given cell before what comes after it."""
    moved = []
    order = list(ours)
    for id, cell in ours.items():
        ids = [marks(c).get("grade_id") for c in notebook.cells]
        here = there = ids.index(id)
        if marks(cell)["grade"]:
            before = [i for i in order[: order.index(id)] if answer_of(i, ours)]
            same = [i for i in before if answer_of(i, ours) == answer_of(id, ours)]
            there = max(ids.index(i) for i in [answer_of(id, ours), *same] if i is not None)
        elif not marks(cell)["solution"]:
            there = min(map(ids.index, order[order.index(id) + 1 :]), default=here)
        if (here < there) == bool(marks(cell)["grade"]) and here != there:
            notebook.cells.insert(there, notebook.cells.pop(here))
            moved.append(id)
    if moved:
        yield f"cells that stood in another order: {', '.join(moved)}"
