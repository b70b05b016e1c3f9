"""Which cell of the assignment a student's cell is, whatever became of its marks."""

from __future__ import annotations

import re
from typing import Any

from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment_source import marks
from jaxbits_grader.checking.hidden_test_run import bound
from jaxbits_grader.checking.scan.visitor import LONGEST


def recognised(
    cells: list[dict[str, Any]], ours: dict[str, NotebookNode]
) -> tuple[list[str | None], list[str]]:
    """Know the student's cells again: by their grade_id, their id, their text, what they define.

    Args:
        cells: the student's, as `loading.load` gives them.
        ours: the released cells that have marks, by their grade_id.

    Returns:
        For each of the student's cells the grade_id it has, None where it is the student's own;
        and what is to be said about it.
    """
    known: list[str | None] = []
    lost = 0
    for cell in cells:
        named = cell["grade_id"] if _is(cell["grade_id"], ours) else None
        by_id = cell["id"] if _is(cell["id"], ours) else None
        lost += named is None and by_id is not None
        known.append(named or by_id)
    notes = [f"the marks of {lost} cells were lost and are restored"] if lost else []
    missing = [id for id in ours if id not in known]
    # By their text first: what defines the same names may be another cell of ours. A stub that
    # nobody wrote in is one wherever it stands; it would undo the answer.
    for id, cell in ours.items():
        if id in missing or marks(cell)["solution"]:
            for i, other in enumerate(cells):
                same = known[i] is None and same_text(other["source"], cell.source)
                if same and other["kind"] == "code":
                    known[i] = id
    for id in missing:
        if marks(ours[id])["solution"]:
            _by_names(id, known, cells, ours)
    if retyped := [id for id in missing if id in known]:
        notes.append(f"cells without marks, known by their text: {', '.join(retyped)}")
    return known, notes


def _by_names(
    id: str, known: list[str | None], cells: list[dict[str, Any]], ours: dict[str, NotebookNode]
) -> None:
    """Find an answer by what it defines: the last such cell before its tests, else the first."""
    wanted = set(names_in(ours[id].source))
    found = [
        i
        for i, cell in enumerate(cells)
        if known[i] is None and cell["kind"] == "code" and wanted
        if wanted <= set(names_in(cell["source"]))
    ]
    tests = [i for i, k in enumerate(known) if k is not None and answer_of(k, ours) == id]
    before = [i for i in found if not tests or i < tests[-1]]
    if found:
        known[before[-1] if before else found[0]] = id


def answer_of(test: str, ours: dict[str, NotebookNode]) -> str | None:
    """The answer that a test is of, None where the cell is no test."""
    if not marks(ours[test])["grade"]:
        return None
    order = list(ours)
    before = [i for i in order[: order.index(test)] if marks(ours[i])["solution"]]
    return max((i for i in before if test.startswith(f"{i}-")), key=len, default=None)


def taken(
    known: list[str | None], cells: list[dict[str, Any]], ours: dict[str, NotebookNode]
) -> dict[str, int | None]:
    """Which of several copies of a cell is taken for it: its place, None where there is none.

    Of an answer the last that somebody wrote in, of a given cell the first, of a test the first
    behind its answer.
    """
    chosen: dict[str, int | None] = {}
    for id, cell in ours.items():
        copies = [i for i, k in enumerate(known) if k == id]
        if marks(cell)["solution"]:
            code = [i for i in copies if cells[i]["kind"] == "code"] or copies
            written = [i for i in code if was_written(cells[i], cell)]
            chosen[id] = (written or code)[-1] if code else None
            continue
        answer = chosen.get(answer_of(id, ours) or "")
        behind = [i for i in copies if answer is None or i > answer]
        chosen[id] = (behind or copies)[0] if copies else None
    return chosen


def was_written(cell: dict[str, Any], ours: NotebookNode) -> bool:
    """Whether somebody wrote in a copy of an answer cell."""
    return bool(cell["source"].strip()) and not same_text(cell["source"], ours.source)


def same_text(a: str, b: str) -> bool:
    """Whether two cells say the same, whatever their blanks; an empty one says nothing."""
    return bool(b.strip()) and "".join(a.split()) == "".join(b.split())


def names_in(source: str) -> list[str]:
    """The names that a cell's text gives a value, none where it is no Python or too long."""
    if len(source) > LONGEST:
        return []
    source = re.sub(r"^([ \t]*)[%!].*", r"\1pass", source, flags=re.M)  # magics are no Python
    try:
        return bound(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _is(name: Any, ours: dict[str, NotebookNode]) -> bool:
    return isinstance(name, str) and name in ours
