"""Match a student's cells to the assignment's cells, even if their metadata was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxbits_grader.notebook import Cell, ParsedNotebook, Role


@dataclass(frozen=True)
class Match:
    """The result of matching a submission's cells to the assignment's cells.

    Attributes:
        grade_ids: For each of the student's cells, the grade_id of the assignment's cell that it is
            a copy of, or None if the student added the cell.
        chosen: For each grade_id, the index of the copy that counts, or None if there is no copy.
        notes: Notes for the teacher about cells whose metadata was lost.
    """

    grade_ids: tuple[str | None, ...]
    chosen: dict[str, int | None]
    notes: tuple[str, ...]


def match_cells(cells: Sequence[Cell], released: ParsedNotebook) -> Match:
    """Find the assignment's cells in a submission by their grade_id, id, text, or names.

    Args:
        cells: The student's cells.
        released: The notebook that was handed out.
    """
    ours = released.marked
    grade_ids: list[str | None] = []
    lost = 0
    for cell in cells:
        by_metadata = cell.grade_id if cell.grade_id in ours else None
        by_id = cell.id if cell.id in ours else None
        lost += by_metadata is None and by_id is not None
        grade_ids.append(by_metadata or by_id)
    notes = [f"the metadata of {lost} cells was lost and has been restored"] if lost else []
    missing = [id for id in ours if id not in grade_ids]
    # Match by text before matching by names, because a cell that defines the same names may be a
    # copy of a different cell. Match every unedited stub, wherever it is, because it would
    # otherwise stay in the notebook and overwrite the answer.
    for id, our_cell in ours.items():
        if id in missing or our_cell.role is Role.SOLUTION:
            for index, cell in enumerate(cells):
                is_free = grade_ids[index] is None and cell.cell_type == "code"
                if is_free and is_same_text(cell, our_cell):
                    grade_ids[index] = id
    for id in missing:
        if ours[id].role is Role.SOLUTION:
            _match_by_names(id, grade_ids, cells, released)
    if found := [id for id in missing if id in grade_ids]:
        notes.append(f"cells without metadata, recognized by their text: {', '.join(found)}")
    if late := [id for id in ours if _match_below_tests(id, grade_ids, cells, released)]:
        notes.append(f"answers found below their tests, with only a stub above: {', '.join(late)}")
    chosen = _choose_copies(grade_ids, cells, released)
    # If such an answer is in the cell of another one, leave out the stub, which nothing replaces.
    edited = {id for id in late if (i := chosen[id]) is not None and is_edited(cells[i], ours[id])}
    chosen |= dict.fromkeys(set(late) - edited)
    return Match(tuple(grade_ids), chosen, tuple(notes))


def _match_by_names(
    id: str, grade_ids: list[str | None], cells: Sequence[Cell], released: ParsedNotebook
) -> None:
    """Find an answer by the names that it defines, and record it in `grade_ids`.

    If several cells define these names, choose the last one above the answer's tests. If all of
    them are below the tests, choose the first one.
    """
    wanted = released.marked[id].names
    found = [
        index
        for index, cell in enumerate(cells)
        if grade_ids[index] is None and cell.cell_type == "code" and wanted
        if wanted <= cell.names
    ]
    tests = [
        index
        for index, grade_id in enumerate(grade_ids)
        if grade_id is not None and answer_of(grade_id, released) == id
    ]
    above = [index for index in found if not tests or index < tests[-1]]
    if found:
        grade_ids[above[-1] if above else found[0]] = id


def _match_below_tests(
    id: str, grade_ids: list[str | None], cells: Sequence[Cell], released: ParsedNotebook
) -> bool:
    """Find an answer that a student wrote below its tests, leaving the stub as it was.

    If the student split the answer between several cells, record the last one in `grade_ids`, so
    that the tests move below all of them. The student may also have written it in the cell of
    another answer, which `grade_ids` does not change.

    Returns:
        Whether there is such an answer.
    """
    our_cell = released.marked[id]
    stubs = [index for index, grade_id in enumerate(grade_ids) if grade_id == id]
    tests = [
        index
        for index, grade_id in enumerate(grade_ids)
        if grade_id is not None and answer_of(grade_id, released) == id
    ]
    is_answered = any(is_edited(cells[index], our_cell) for index in stubs)
    if our_cell.role is not Role.SOLUTION or not stubs or not tests or is_answered:
        return False
    own = [i for i, cell in enumerate(cells) if grade_ids[i] is None and cell.cell_type == "code"]
    above = [cells[index].names for index in own if stubs[-1] < index < tests[0]]
    wanted = _names_to_answer(id, released).difference(*above)
    below = [index for index in own if index > tests[0] and cells[index].names & wanted]
    if below:
        grade_ids[below[-1]] = id
        return True
    return any(
        index > max(stubs[-1], tests[0]) and wanted and wanted <= cells[index].names
        for index, other in enumerate(grade_ids)
        if other in released.marked and released.marked[other].role is Role.SOLUTION
    )


def _names_to_answer(id: str, released: ParsedNotebook) -> frozenset[str]:
    """Return the names that an answer has to define.

    If the stub defines none, these are the names that the answer's tests use and that no cell of
    the assignment defines.
    """
    ours = released.marked
    tests = [cell for other, cell in ours.items() if answer_of(other, released) == id]
    used = frozenset().union(*(cell.used_names for cell in tests))
    defined = frozenset().union(*(cell.names for cell in released.cells))
    return ours[id].names or used - defined


def answer_of(grade_id: str, released: ParsedNotebook) -> str | None:
    """Return the grade_id of the answer that a test checks, or None if there is none.

    Args:
        grade_id: The grade_id of a cell. The result is None if the cell is not a test.
        released: The notebook that was handed out.
    """
    ours = released.marked
    if ours[grade_id].role is not Role.TEST:
        return None
    order = list(ours)
    above = [id for id in order[: order.index(grade_id)] if ours[id].role is Role.SOLUTION]
    return max((id for id in above if grade_id.startswith(f"{id}-")), key=len, default=None)


def _choose_copies(
    grade_ids: Sequence[str | None], cells: Sequence[Cell], released: ParsedNotebook
) -> dict[str, int | None]:
    """Return, for each cell in the assignment, the index of the copy that counts.

    For an answer, this is the last edited copy. For a given cell, it is the first copy. For a test,
    it is the first copy below its answer.
    """
    chosen: dict[str, int | None] = {}
    for id, our_cell in released.marked.items():
        copies = [index for index, grade_id in enumerate(grade_ids) if grade_id == id]
        if our_cell.role is Role.SOLUTION:
            code = [index for index in copies if cells[index].cell_type == "code"] or copies
            edited = [index for index in code if is_edited(cells[index], our_cell)]
            chosen[id] = (edited or code)[-1] if code else None
            continue
        answer = chosen.get(answer_of(id, released) or "")
        below = [index for index in copies if answer is None or index > answer]
        chosen[id] = (below or copies)[0] if copies else None
    return chosen


def is_edited(cell: Cell, released: Cell) -> bool:
    """Return whether a student has written something in a copy of an answer cell.

    Args:
        cell: The student's cell.
        released: The cell that was handed out.
    """
    return bool(cell.text) and not is_same_text(cell, released)


def is_same_text(cell: Cell, released: Cell) -> bool:
    """Return whether two cells have the same text, ignoring whitespace, and are not empty.

    Args:
        cell: The student's cell.
        released: The cell that was handed out.
    """
    return bool(released.text) and cell.text == released.text
