"""Repair a student's notebook so that it contains every cell in the assignment exactly once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jaxbits_grader.intake.cell_matching import (
    Match,
    answer_of,
    is_edited,
    is_same_text,
    match_cells,
)
from jaxbits_grader.intake.notebook_reader import UnreadableNotebook
from jaxbits_grader.intake.repair_notes import (
    describe_changed_cells,
    describe_duplicate_answers,
    describe_overwritten_answers,
)
from jaxbits_grader.notebook import Cell, ParsedNotebook, Role

_MOVED_ANSWER = "# This answer is in another cell."


def repair_notebook(submitted: ParsedNotebook, released: ParsedNotebook) -> ParsedNotebook:
    """Return a student's notebook with the structure of the assignment restored.

    The repaired notebook keeps the student's answers and additional cells. Its given cells and
    tests come from the released notebook, but they usually stay where the student left them.

    Args:
        submitted: The student's notebook.
        released: The notebook that was handed out.

    Returns:
        The repaired notebook. Its notes are those of `submitted`, followed by descriptions of the
        repairs.

    Raises:
        UnreadableNotebook: If the notebook contains no answers or tests from this assignment.
    """
    ours = released.marked
    match = match_cells(submitted.cells, released)
    if all(match.chosen[id] is None for id in ours if ours[id].role is not Role.GIVEN):
        raise UnreadableNotebook(
            "it has no cells from this assignment, so it may be a different notebook"
        )
    cells = list(_arrange(submitted.cells, match, released))
    notes = [*submitted.notes, *match.notes]
    notes += describe_changed_cells(submitted.cells, match, released)
    notes += describe_duplicate_answers(submitted.cells, match, released)
    notes += _insert_missing(cells, released)
    notes += _reorder(cells, released, _answers_written_below(submitted.cells, match, released))
    cells = [
        replace(cell, id=f"own-{number}") if cell.role is Role.OWN else cell
        for number, cell in enumerate(cells)
    ]
    repaired = ParsedNotebook(tuple(cells))
    notes += describe_overwritten_answers(repaired, released)
    return replace(repaired, notes=tuple(notes))


def _arrange(cells: Sequence[Cell], match: Match, released: ParsedNotebook) -> Iterator[Cell]:
    """Yield the student's cells, replacing each copy that counts with the assignment's cell."""
    ours = released.marked
    for index, cell in enumerate(cells):
        id = match.grade_ids[index]
        own = Cell("code" if cell.cell_type == "code" else "markdown", cell.source)
        if id is not None and match.chosen[id] == index:
            if _contains_answer(cell, ours[id], released):
                yield own
            is_answer = ours[id].role is Role.SOLUTION
            yield replace(ours[id], source=cell.source) if is_answer else ours[id]
        elif id is None or _is_kept(cell, ours[id]):
            yield own


def _is_kept(cell: Cell, our_cell: Cell) -> bool:
    """Return whether a copy that does not count stays in the notebook as the student's own cell."""
    if our_cell.role is Role.SOLUTION:
        return is_edited(cell, our_cell)
    return our_cell.role is Role.GIVEN and cell.cell_type == "code"


def _contains_answer(cell: Cell, our_cell: Cell, released: ParsedNotebook) -> bool:
    """Return whether the student wrote an answer in one of its test cells."""
    answer = answer_of(str(our_cell.grade_id), released)
    if answer is None or cell.cell_type != "code":
        return False
    return bool((cell.names - our_cell.names) & released.marked[answer].names)


def _insert_missing(cells: list[Cell], released: ParsedNotebook) -> Iterator[str]:
    """Insert the assignment's missing cells, and yield notes about them."""
    elsewhere: list[str] = []
    restored: dict[Role, list[str]] = {Role.SOLUTION: [], Role.TEST: [], Role.GIVEN: []}
    previous = None
    for id, cell in released.marked.items():
        present = [c.grade_id for c in cells]
        if id not in present:
            place = present.index(previous) + 1 if previous in present else 0
            if cell.role is Role.TEST:
                place = _below_answer(cells, place, id, released)
            defined = _last_definition(cells, cell) if cell.role is Role.SOLUTION else None
            if defined is not None:
                # Insert a comment instead of the stub, which would overwrite the student's answer.
                place, cell = max(place, defined + 1), replace(cell, source=_MOVED_ANSWER)
                elsewhere.append(id)
            else:
                restored[cell.role].append(id)
            cells.insert(place, cell)
        previous = id
    for what, ids in (
        ("answers that were missing, restored", restored[Role.SOLUTION]),
        ("tests that were missing, restored", restored[Role.TEST]),
        ("given cells that were missing, restored", restored[Role.GIVEN]),
        ("answers that are in other cells, because their own are missing", elsewhere),
    ):
        if ids:
            yield f"{what}: {', '.join(ids)}"


def _last_definition(cells: Sequence[Cell], answer: Cell) -> int | None:
    """Return the index of the last cell that binds all of an answer's names, or None."""
    if not answer.names:
        return None
    found = [
        index
        for index, cell in enumerate(cells)
        if cell.cell_type == "code" and cell.role is not Role.TEST
        if answer.names <= cell.names
    ]
    return found[-1] if found else None


def _below_answer(cells: Sequence[Cell], place: int, test: str, released: ParsedNotebook) -> int:
    """Return the index at which to insert a missing test.

    The test must come after the student's own cells that complete its answer.
    """
    answer = answer_of(test, released)
    wanted = released.marked[answer].names if answer else frozenset()
    for index, cell in enumerate(cells[place:], place + 1):
        if cell.role is not Role.OWN:
            break
        if cell.cell_type == "code" and wanted & cell.names:
            place = index
    return place


def _answers_written_below(
    cells: Sequence[Cell], match: Match, released: ParsedNotebook
) -> set[str]:
    """Return the answers that the student wrote in a new cell below the untouched stub.

    Args:
        cells: The student's cells.
        match: Which of these cells belong to the assignment.
        released: The notebook that was handed out.
    """
    found = set()
    for id, our_cell in released.marked.items():
        index = match.chosen[id]
        if our_cell.role is not Role.SOLUTION or index is None:
            continue
        is_new = id not in (cells[index].grade_id, cells[index].id)
        above = [cells[i] for i, other in enumerate(match.grade_ids[:index]) if other == id]
        if is_new and any(is_same_text(cell, our_cell) for cell in above):
            found.add(id)
    return found


def _reorder(cells: list[Cell], released: ParsedNotebook, written_below: set[str]) -> Iterator[str]:
    """Move tests below their answers, and move given cells above those that should follow them.

    Yield a note if any cells were moved, not counting tests whose answer is in another cell,
    because another note covers these.

    Args:
        cells: The cells, whose order this function changes.
        released: The notebook that was handed out.
        written_below: The answers that the student wrote in a new cell below the stub.
    """
    moved = []
    order = list(released.marked)
    answers = {id: answer_of(id, released) for id in order}
    for id, cell in released.marked.items():
        ids = [c.grade_id for c in cells]
        here = there = ids.index(id)
        if cell.role is Role.TEST:
            same = [i for i in order[: order.index(id)] if answers[i] and answers[i] == answers[id]]
            there = max(ids.index(i) for i in [answers[id], *same] if i is not None)
        elif cell.role is Role.GIVEN:
            there = min(map(ids.index, order[order.index(id) + 1 :]), default=here)
        if (here < there) == (cell.role is Role.TEST) and here != there:
            answer = answers[id]
            is_noted = answer is not None and (
                answer in written_below or cells[ids.index(answer)].source == _MOVED_ANSWER
            )
            cells.insert(there, cells.pop(here))
            if not is_noted:
                moved.append(id)
    if moved:
        yield f"cells were in a different order: {', '.join(moved)}"
