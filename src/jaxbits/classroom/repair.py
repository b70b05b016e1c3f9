"""A student's notebook, mended: every cell of the assignment there once, with its marks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from jaxbits.classroom.graded_run import bound
from jaxbits.classroom.source import KERNEL, LANGUAGE, marks
from jaxbits.classroom.submissions import shown, unreadable

MOST_CELLS = 2000


class Unreadable(ValueError):
    """A file that is no notebook; the message says why."""


def load(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Read a notebook's cells and nothing else of it.

    Returns:
        For each cell its type, source, id and grade_id as they stand there; and what is odd.

    Raises:
        Unreadable: when it is no notebook.
    """
    if problem := unreadable(path):
        raise Unreadable(problem)
    try:
        found = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise Unreadable(f"{shown(path)} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Unreadable(f"{shown(path)} is not a notebook: it is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{shown(path)} is not a notebook: not JSON ({str(error)[:80]})") from None
    if not isinstance(found, dict) or "nbformat" not in found:
        raise Unreadable(f"{shown(path)} is not a notebook: it has no nbformat")
    cells, notes = found.get("cells"), []
    if found["nbformat"] in (1, 2, 3):
        sheets = found.get("worksheets")
        sheets = sheets if isinstance(sheets, list) else []
        lists = [s.get("cells") for s in sheets if isinstance(s, dict)]
        cells = [c for some in lists if isinstance(some, list) for c in some]
        notes.append(f"it is in the old format {found['nbformat']}")
    elif found["nbformat"] != 4:
        number = found["nbformat"] if isinstance(found["nbformat"], int | float) else "no number"
        notes.append(f"its format is {number}, not 4")
    if not isinstance(cells, list) or not cells:
        raise Unreadable(f"{shown(path)} is not a notebook: it has no cells")
    if len(cells) > MOST_CELLS:
        raise Unreadable(f"{shown(path)} has over {MOST_CELLS} cells")
    plain = [cell for cell in map(_plain, cells) if cell is not None]
    if len(plain) < len(cells):
        notes.append(f"{len(cells) - len(plain)} of its cells are damaged, and left out")
    if not plain:
        raise Unreadable(f"{shown(path)} is not a notebook: none of its cells can be read")
    if kernel := _other_kernel(found.get("metadata")):
        notes.append(f"its kernel was {kernel!r}")
    return plain, notes


def _plain(cell: Any) -> dict[str, Any] | None:
    if not isinstance(cell, dict):
        return None
    kind, source = cell.get("cell_type"), cell.get("source", cell.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if kind == "heading" and isinstance(source, str):  # of the old formats
        kind, source = "markdown", f"# {source}"
    if kind not in ("code", "markdown", "raw") or not isinstance(source, str):
        return None
    metadata = cell.get("metadata")
    grading = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = grading.get("grade_id") if isinstance(grading, dict) else None
    # Half of a pair of code units is no text that can be written to a file again.
    source = source.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")
    return {"kind": kind, "source": source, "id": cell.get("id"), "grade_id": grade_id}


def _other_kernel(metadata: Any) -> str | None:
    spec = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    name = spec.get("name") if isinstance(spec, dict) else None
    if isinstance(name, str) and not re.match(r"python3?$", name):
        return name[:40]
    return None


def repaired(cells: list[dict[str, Any]], released: NotebookNode) -> tuple[NotebookNode, list[str]]:
    """Put a student's cells into the assignment's form.

    Answers are the student's; given cells and tests are the release's, in their places. A cell is
    known by its grade_id, else by its id, else by its text or by what it defines.

    Args:
        cells: as `load` gives them.
        released: the notebook that was handed out.

    Returns:
        The notebook, and what had to be mended.
    """
    ours = {marks(c)["grade_id"]: c for c in released.cells if marks(c)}
    known, notes = _known(cells, ours)
    chosen = _chosen(known, cells, ours)
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": KERNEL, "language_info": LANGUAGE})
    for index, cell in enumerate(cells):
        id = known[index]
        if id is not None and chosen[id] == index:
            notebook.cells.append(_ours(ours[id], cell["source"]))
        elif id is None or _keeps(cell, ours[id]):
            notebook.cells.append(_new(cell["kind"], cell["source"]))
    notes += _changed(cells, chosen, ours)
    notes += list(_put_back(notebook, ours))
    notes += list(_in_order(notebook, ours))
    for number, cell in enumerate(notebook.cells):
        if not marks(cell):
            cell.id = f"own-{number}"
    return notebook, notes


def _known(
    cells: list[dict[str, Any]], ours: dict[str, NotebookNode]
) -> tuple[list[str | None], list[str]]:
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
                same = known[i] is None and _same_text(other["source"], cell.source)
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
    wanted = set(_bound(ours[id].source))
    found = [
        i
        for i, cell in enumerate(cells)
        if known[i] is None and cell["kind"] == "code" and wanted
        if wanted <= set(_bound(cell["source"]))
    ]
    tests = [i for i, k in enumerate(known) if k is not None and _answer_of(k, ours) == id]
    before = [i for i in found if not tests or i < tests[-1]]
    if found:
        known[before[-1] if before else found[0]] = id


def _answer_of(test: str, ours: dict[str, NotebookNode]) -> str | None:
    """The answer that a test is of, None where the cell is no test."""
    if not marks(ours[test])["grade"]:
        return None
    order = list(ours)
    before = [i for i in order[: order.index(test)] if marks(ours[i])["solution"]]
    return max((i for i in before if test.startswith(f"{i}-")), key=len, default=None)


def _is(name: Any, ours: dict[str, NotebookNode]) -> bool:
    return isinstance(name, str) and name in ours


def _bound(source: str) -> list[str]:
    source = re.sub(r"^([ \t]*)[%!].*", r"\1pass", source, flags=re.M)  # magics are no Python
    try:
        return bound(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _same_text(a: str, b: str) -> bool:
    return bool(b.strip()) and "".join(a.split()) == "".join(b.split())


def _chosen(
    known: list[str | None], cells: list[dict[str, Any]], ours: dict[str, NotebookNode]
) -> dict[str, int | None]:
    """Which of several copies of a cell is taken for it.

    Of an answer the last that somebody wrote in, of a given cell the first, of a test the first
    behind its answer.
    """
    chosen: dict[str, int | None] = {}
    for id, cell in ours.items():
        copies = [i for i, k in enumerate(known) if k == id]
        if marks(cell)["solution"]:
            code = [i for i in copies if cells[i]["kind"] == "code"] or copies
            written = [i for i in code if _written(cells[i], cell)]
            chosen[id] = (written or code)[-1] if code else None
            continue
        answer = chosen.get(_answer_of(id, ours) or "")
        behind = [i for i in copies if answer is None or i > answer]
        chosen[id] = (behind or copies)[0] if copies else None
    return chosen


def _written(cell: dict[str, Any], ours: NotebookNode) -> bool:
    """Whether somebody wrote in a copy of an answer cell."""
    return bool(cell["source"].strip()) and not _same_text(cell["source"], ours.source)


def _keeps(cell: dict[str, Any], ours: NotebookNode) -> bool:
    """Whether a copy of one of our cells that was not taken for it stays as the student's own."""
    if marks(ours)["solution"]:
        return _written(cell, ours)
    return not marks(ours)["grade"] and cell["kind"] == "code"


def _changed(
    cells: list[dict[str, Any]], chosen: dict[str, int | None], ours: dict[str, NotebookNode]
) -> Iterator[str]:
    tests: list[str] = []
    given: list[str] = []
    turned: list[str] = []
    for id, index in chosen.items():
        if index is None:
            continue
        same = _same_text(cells[index]["source"], ours[id].source)
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
    tests: list[str] = []
    given: list[str] = []
    before = None
    for id, cell in ours.items():
        there = [marks(c).get("grade_id") for c in notebook.cells]
        if id not in there:
            place = there.index(before) + 1 if before in there else 0
            mark = marks(cell)
            if mark["grade"]:
                place = _behind(notebook, place, id, ours)
            notebook.cells.insert(place, _ours(cell, cell.source))
            (answers if mark["solution"] else tests if mark["grade"] else given).append(id)
        before = id
    for what, missing in (("answers", answers), ("tests", tests), ("given cells", given)):
        if missing:
            yield f"{what} that were missing, put back: {', '.join(missing)}"


def _behind(notebook: NotebookNode, place: int, test: str, ours: dict[str, NotebookNode]) -> int:
    """Where a missing test goes: behind what the student adds to the answer in cells below it."""
    answer = _answer_of(test, ours)
    wanted = set(_bound(ours[answer].source)) if answer else set()
    for index, cell in enumerate(notebook.cells[place:], place + 1):
        if marks(cell):
            break
        if cell.cell_type == "code" and wanted & set(_bound(cell.source)):
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
            before = [i for i in order[: order.index(id)] if _answer_of(i, ours)]
            same = [i for i in before if _answer_of(i, ours) == _answer_of(id, ours)]
            there = max(ids.index(i) for i in [_answer_of(id, ours), *same] if i is not None)
        elif not marks(cell)["solution"]:
            there = min(map(ids.index, order[order.index(id) + 1 :]), default=here)
        if (here < there) == bool(marks(cell)["grade"]) and here != there:
            notebook.cells.insert(there, notebook.cells.pop(here))
            moved.append(id)
    if moved:
        yield f"cells that stood in another order: {', '.join(moved)}"
