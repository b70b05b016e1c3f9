"""Test that notebooks are read and repaired without losing an answer."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxbits_grader.authoring.assignment_source import parse_assignment
from jaxbits_grader.authoring.notebook_versions import student_notebook
from jaxbits_grader.intake.notebook_reader import UnreadableNotebook, read_notebook
from jaxbits_grader.intake.notebook_repair import repair_notebook
from jaxbits_grader.intake.repair_notes import describe_overwritten_answers
from jaxbits_grader.notebook import Cell, ParsedNotebook, Role, nbgrader_metadata
from nbformat import NotebookNode

SOURCE = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
assignment:
  title: Ships
  chapter: 01-tracing
  minutes: 10
  goals:
  - count
  tasks:
    load: The load is right.
    trim: The trim is right.
    trim-aft: The guess is right.
---

```{code-cell} ipython3
:nbgrader: {grade_id: imports, locked: true}

import numpy as np
```

A ship has holds.

```{code-cell} ipython3
:nbgrader: {grade_id: load, solution: true}

def load(holds):
    \"\"\"The sum.\"\"\"
    ### BEGIN SOLUTION
    return np.sum(holds)
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: load-values, points: 2}

assert load([1, 2]) == 3, "the sum"
### BEGIN HIDDEN TESTS
assert load([5]) == 5, "the sum of one"
### END HIDDEN TESTS
```

```{code-cell} ipython3
:nbgrader: {grade_id: load-empty, points: 1}

assert load([]) == 0, "an empty ship"
```

```{code-cell} ipython3
:nbgrader: {grade_id: given-holds, locked: true}

HOLDS = [3, 4]
```

```{code-cell} ipython3
:nbgrader: {grade_id: trim, solution: true}

### BEGIN SOLUTION
def helper(holds):
    return holds[0]
### END SOLUTION


def trim(holds):
    ### BEGIN SOLUTION
    return helper(holds) - holds[-1]
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: trim-values, points: 2}

assert trim(HOLDS) == -1, "first less last"
```

```{code-cell} ipython3
:nbgrader: {grade_id: trim-aft, solution: true}

### BEGIN SOLUTION
guess = {"a": 1}
### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: trim-aft-values, points: 2}

assert guess["a"] == 1, "the guess"
```
"""
ASSIGNMENT = parse_assignment(SOURCE, "ships")
RELEASED = student_notebook(ASSIGNMENT)
PARSED = ParsedNotebook.from_nbformat(RELEASED)
RELEASED_CELLS = {
    nbgrader_metadata(c)["grade_id"]: c for c in RELEASED.cells if nbgrader_metadata(c)
}
ANSWERS = {
    "load": "def load(holds):\n    return sum(holds)  # mine",
    "trim": "def trim(holds):\n    return holds[0] - holds[-1]  # mine",
    "trim-aft": 'guess = {"a": 1}  # mine',
}
ANSWER_OF_TEST = {
    "load-values": "load",
    "load-empty": "load",
    "trim-values": "trim",
    "trim-aft-values": "trim-aft",
}


def answered_cells() -> list[dict[str, Any]]:
    """Return the cells of a saved notebook in which every task is answered."""
    notebook = copy.deepcopy(RELEASED)
    for cell in notebook.cells:
        if cell.id in ANSWERS:
            cell.source = ANSWERS[cell.id]
    return [dict(cell) for cell in json.loads(nbformat.writes(notebook))["cells"]]


def find_cell(cells: list[dict[str, Any]], id: str) -> dict[str, Any]:
    return next(c for c in cells if c.get("id") == id)


def strip_marks(cells: list[dict[str, Any]], *, metadata: bool = True, ids: bool = True) -> None:
    for number, cell in enumerate(cells):
        if metadata:
            cell["metadata"] = {}
        if ids:
            cell["id"] = f"c{number}"


def write(path: Path, cells: Any, **more: Any) -> Path:
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **more}
    path.write_text(json.dumps(notebook))
    return path


def repair(cells: list[dict[str, Any]], folder: Path) -> tuple[NotebookNode, list[str]]:
    repaired = repair_notebook(read_notebook(write(folder / "a.ipynb", cells)), PARSED)
    notebook = repaired.to_nbformat()
    check_repaired(notebook)
    return notebook, list(repaired.notes)


def check_repaired(notebook: NotebookNode) -> None:
    nbformat.validate(json.loads(nbformat.writes(notebook)))
    grade_ids = [nbgrader_metadata(c)["grade_id"] for c in notebook.cells if nbgrader_metadata(c)]
    assert sorted(grade_ids) == sorted(RELEASED_CELLS)
    for test, answer in ANSWER_OF_TEST.items():
        assert grade_ids.index(test) > grade_ids.index(answer)
    for cell in notebook.cells:
        if nbgrader_metadata(cell):
            released_cell = RELEASED_CELLS[nbgrader_metadata(cell)["grade_id"]]
            assert cell.cell_type == released_cell.cell_type
            assert cell.id == released_cell.id
            assert nbgrader_metadata(cell) == nbgrader_metadata(released_cell)
            assert nbgrader_metadata(cell)["solution"] or cell.source == released_cell.source
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def cell_sources(notebook: NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells]


def answer_source(notebook: NotebookNode, id: str) -> str:
    return next(c.source for c in notebook.cells if nbgrader_metadata(c).get("grade_id") == id)


def runs_without_error(notebook: NotebookNode) -> bool:
    """Return whether all cells in the notebook run without an error, including its tests."""
    namespace: dict[str, Any] = {}
    try:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                exec(cell.source, namespace)
    except Exception:
        return False
    return True


def test_repair_notebook_keeps_intact_notebook(tmp_path: Path) -> None:
    notebook, notes = repair(answered_cells(), tmp_path)
    assert notes == []
    assert cell_sources(notebook) == ["".join(c["source"]) for c in answered_cells()]
    assert runs_without_error(notebook)


def test_repair_notebook_accepts_two_answers_in_one_cell(tmp_path: Path) -> None:
    cells = answered_cells()
    find_cell(cells, "load")["source"] = ANSWERS["load"] + "\n\n\n" + ANSWERS["trim"]
    cells = [cell for cell in cells if cell["id"] != "trim"]
    notebook, notes = repair(cells, tmp_path)
    assert runs_without_error(notebook)
    why = "answers that are in other cells, because their own are missing: trim"
    assert notes == [why]


def test_repair_notebook_keeps_answer_in_test_cell(tmp_path: Path) -> None:
    cells = answered_cells()
    test = find_cell(cells, "load-values")
    test["source"] = ANSWERS["load"] + "\n" + "".join(test["source"])
    cells = [cell for cell in cells if cell["id"] != "load"]
    notebook, notes = repair(cells, tmp_path)
    assert runs_without_error(notebook)
    assert any("tests were changed" in note for note in notes)


def test_repair_notebook_rejects_different_assignment(tmp_path: Path) -> None:
    other = [{**CELL, "source": "def cargo():\n    return 1"}]
    with pytest.raises(UnreadableNotebook, match="a different notebook"):
        repair(other, tmp_path)


@pytest.mark.parametrize(
    "options", [{"ids": False}, {"metadata": False}, {}], ids=["metadata", "ids", "both"]
)
def test_repair_notebook_restores_metadata_and_ids(
    tmp_path: Path, options: dict[str, bool]
) -> None:
    cells = answered_cells()
    strip_marks(cells, **options)
    notebook, notes = repair(cells, tmp_path)
    assert {id: answer_source(notebook, id) for id in ("load", "trim")} == {
        id: ANSWERS[id] for id in ("load", "trim")
    }
    assert ANSWERS["trim-aft"] in cell_sources(notebook)
    # If both the ids and the metadata are lost, the prediction's stub is kept and raises an error
    # here, although a real kernel would go on to the next cell.
    assert runs_without_error(notebook) or not options
    assert bool(notes) == (options != {"metadata": False})


def test_repair_notebook_ignores_whitespace_changes(tmp_path: Path) -> None:
    cells = answered_cells()
    strip_marks(cells)
    for cell in cells:
        cell["source"] = [line.replace("    ", "\t") + "  " for line in cell["source"]]
    notebook, notes = repair(cells, tmp_path)
    assert "mine" in answer_source(notebook, "load")
    assert len(notes) == 2


@pytest.mark.parametrize("blank", ["", "# YOUR CODE HERE\nraise NotImplementedError()\n\n"])
def test_repair_notebook_ignores_unedited_copy_of_cell(tmp_path: Path, blank: str) -> None:
    cells = answered_cells()
    copied_cell = copy.deepcopy(find_cell(cells, "load"))
    copied_cell["source"] = blank or [""]
    if blank:
        copied_cell = copy.deepcopy(find_cell(cells, "trim-aft"))
        copied_cell["source"] = blank
    cells.append({**copied_cell, "id": "z"})
    notebook, _ = repair(cells, tmp_path)
    assert answer_source(notebook, "load") == ANSWERS["load"]
    assert answer_source(notebook, "trim-aft") == ANSWERS["trim-aft"]
    assert runs_without_error(notebook)


@pytest.mark.parametrize("is_stripped", [False, True])
@pytest.mark.parametrize("first_copy", ["worked", "pristine"])
def test_repair_notebook_merges_two_copies_of_notebook(
    tmp_path: Path, is_stripped: bool, first_copy: str
) -> None:
    pristine = [dict(c) for c in json.loads(nbformat.writes(RELEASED))["cells"]]
    halves = (
        [answered_cells(), pristine] if first_copy == "worked" else [pristine, answered_cells()]
    )
    cells = halves[0] + halves[1]
    if is_stripped:
        strip_marks(cells)
    notebook, _ = repair(cells, tmp_path)
    assert answer_source(notebook, "load") == ANSWERS["load"]
    assert answer_source(notebook, "trim") == ANSWERS["trim"]
    assert ANSWERS["trim-aft"] in cell_sources(notebook)
    assert sum("NotImplementedError" in text for text in cell_sources(notebook)) <= is_stripped


def test_repair_notebook_uses_edited_copy_below(tmp_path: Path) -> None:
    cells = answered_cells()
    index = cells.index(find_cell(cells, "load"))
    edited_copy = copy.deepcopy(cells[index])
    cells[index]["source"] = "def load(holds):\n    return 7  # first try"
    edited_copy["id"] = "copied"
    cells.insert(index + 1, edited_copy)
    notebook, _ = repair(cells, tmp_path)
    assert answer_source(notebook, "load") == ANSWERS["load"]
    assert runs_without_error(notebook)
    assert any("first try" in text for text in cell_sources(notebook))


def test_repair_notebook_keeps_split_answer_without_tests(tmp_path: Path) -> None:
    cells = [c for c in answered_cells() if not str(c["id"]).startswith("load-")]
    index = cells.index(find_cell(cells, "load"))
    cells[index]["source"] = "def one(x):\n    return x"
    second_half = {"cell_type": "code", "metadata": {}, "id": "r", "source": ANSWERS["load"]}
    cells.insert(index + 1, second_half)
    notebook, notes = repair(cells, tmp_path)
    assert runs_without_error(notebook)
    assert notes == ["tests that were missing, restored: load-values, load-empty"]


def test_repair_notebook_keeps_both_halves_of_split_answer(tmp_path: Path) -> None:
    cells = answered_cells()
    index = cells.index(find_cell(cells, "trim"))
    second_half = copy.deepcopy(cells[index])
    cells[index]["source"] = "def first(holds):\n    return holds[0]"
    second_half.update(id="half", source="def trim(holds):\n    return first(holds) - holds[-1]")
    cells.insert(index + 1, second_half)
    assert runs_without_error(repair(cells, tmp_path)[0])


def test_repair_notebook_turns_text_answer_into_code(tmp_path: Path) -> None:
    cells = answered_cells()
    find_cell(cells, "load")["cell_type"] = "markdown"
    notebook, notes = repair(cells, tmp_path)
    assert runs_without_error(notebook)
    assert notes == ["cells had a different type: load"]


def test_repair_notebook_keeps_text_answer_next_to_stub(tmp_path: Path) -> None:
    cells = answered_cells()
    text_cell = copy.deepcopy(find_cell(cells, "load"))
    text_cell.update(cell_type="markdown", id="kept")
    find_cell(cells, "load")["source"] = RELEASED_CELLS["load"].source
    cells.append(text_cell)
    assert ANSWERS["load"] in cell_sources(repair(cells, tmp_path)[0])


def test_repair_notebook_notes_different_copies_of_answer(tmp_path: Path) -> None:
    cells = answered_cells()
    second = copy.deepcopy(find_cell(cells, "load"))
    cells.insert(cells.index(find_cell(cells, "load")) + 1, second)
    assert repair(cells, tmp_path)[1] == []
    second["source"] = "def load(holds):\n    return max(holds)"
    notebook, notes = repair(cells, tmp_path)
    assert notes == ["answers written more than once, of which the last counts: load"]
    assert answer_source(notebook, "load") == second["source"]
    # Splitting a cell copies its metadata, so the other half does not count as a second answer.
    second["source"] = "import math"
    assert repair(cells, tmp_path)[1] == []


def test_repair_notebook_notes_answer_above_its_stub(tmp_path: Path) -> None:
    note = (
        'your answer to load is above the cell with "# YOUR CODE HERE", which defines the same '
        "names again; write the answer in that cell"
    )
    cells = answered_cells()
    answer_cell = {"cell_type": "code", "metadata": {}, "id": "own", "source": ANSWERS["load"]}
    find_cell(cells, "load")["source"] = RELEASED_CELLS["load"].source
    cells.insert(0, answer_cell)
    notebook, notes = repair(cells, tmp_path)
    assert notes == [note]
    assert not runs_without_error(notebook)
    cells.remove(answer_cell)
    find_cell(cells, "imports")["source"] += f"\n\n{ANSWERS['load']}"
    # The repair restores the given cell and reports that instead.
    assert note not in repair(cells, tmp_path)[1]
    cells.insert(cells.index(find_cell(cells, "load")) + 1, answer_cell)
    find_cell(cells, "imports")["source"] = RELEASED_CELLS["imports"].source
    assert repair(cells, tmp_path)[1] == []
    assert runs_without_error(repair(cells, tmp_path)[0])


def test_describe_overwritten_answers_names_several_answers() -> None:
    stub = "def {}(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    stubs = [
        Cell("code", stub.format(id), grade_id=id, role=Role.SOLUTION) for id in ("load", "trim")
    ]
    own = Cell("code", "def load(x):\n    return 1\n\n\ndef trim(x):\n    return 2")
    notebook = ParsedNotebook((own, *stubs))
    assert list(describe_overwritten_answers(notebook, ParsedNotebook(tuple(stubs)))) == [
        'your answers to load, trim are above the cells with "# YOUR CODE HERE", which define the '
        "same names again; write the answers in those cells"
    ]


def cells_with_stub(id: str, *answers: str, above: str = "") -> list[dict[str, Any]]:
    """Return cells in which one answer is a stub, with own cells at the end or above a cell."""
    cells = answered_cells()
    find_cell(cells, id)["source"] = RELEASED_CELLS[id].source
    place = cells.index(find_cell(cells, above)) if above else len(cells)
    new = [{"cell_type": "code", "metadata": {}, "id": f"own{n}"} for n in range(len(answers))]
    cells[place:place] = [{**c, "source": text} for c, text in zip(new, answers, strict=True)]
    return cells


@pytest.mark.parametrize("id", list(ANSWERS))
@pytest.mark.parametrize("is_stripped", [False, True])
def test_repair_notebook_grades_answer_below_its_tests(
    tmp_path: Path, id: str, is_stripped: bool
) -> None:
    cells = cells_with_stub(id, "half = 1", ANSWERS[id], "print(half)")
    if is_stripped:
        strip_marks(cells, ids=False)
    notebook, notes = repair(cells, tmp_path)
    assert answer_source(notebook, id) == ANSWERS[id]
    assert runs_without_error(notebook)
    assert f"answers found below their tests, with only a stub above: {id}" in notes
    # The student did not change the order of these cells. The repair did.
    assert not any("different order" in note for note in notes)
    assert sum("NotImplementedError" in text for text in cell_sources(notebook)) == 0


def test_repair_notebook_grades_answer_between_its_tests(tmp_path: Path) -> None:
    cells = cells_with_stub("load", ANSWERS["load"], above="load-empty")
    assert runs_without_error(repair(cells, tmp_path)[0])


def test_repair_notebook_grades_two_answers_in_one_cell_below_their_tests(tmp_path: Path) -> None:
    cells = cells_with_stub("load", ANSWERS["load"] + "\n\n\n" + ANSWERS["trim"])
    find_cell(cells, "trim")["source"] = RELEASED_CELLS["trim"].source
    notebook, notes = repair(cells, tmp_path)
    assert runs_without_error(notebook)
    assert "answers found below their tests, with only a stub above: load, trim" in notes
    assert not any("different order" in note for note in notes)


def test_repair_notebook_notes_only_tests_that_the_student_moved(tmp_path: Path) -> None:
    cells = cells_with_stub("load", ANSWERS["load"])
    moved_test = cells.pop(cells.index(find_cell(cells, "trim-values")))
    cells.insert(cells.index(find_cell(cells, "trim")), moved_test)
    notebook, notes = repair(cells, tmp_path)
    assert runs_without_error(notebook)
    assert notes == [
        "answers found below their tests, with only a stub above: load",
        "cells were in a different order: trim-values",
    ]


def test_repair_notebook_does_not_call_answer_in_new_cell_a_different_order(tmp_path: Path) -> None:
    cells = answered_cells()
    find_cell(cells, "trim")["source"] = ANSWERS["trim"] + "\n\n\n" + ANSWERS["load"]
    cells.remove(find_cell(cells, "load"))
    notebook, notes = repair(cells, tmp_path)
    assert runs_without_error(notebook)
    assert notes == ["answers that are in other cells, because their own are missing: load"]


def test_repair_notebook_keeps_parts_of_answer_above_moved_tests(tmp_path: Path) -> None:
    source = SOURCE.replace(
        "def load(holds):", "def weigh(hold):\n    return hold\n\ndef load(holds):"
    )
    released = ParsedNotebook.from_nbformat(student_notebook(parse_assignment(source, "ships")))
    parts = [
        "def weigh(hold):\n    return hold",
        "def load(holds):\n    return sum(map(weigh, holds))",
    ]
    cells = [*released.cells, *(Cell("code", part) for part in parts)]
    repaired = repair_notebook(ParsedNotebook(tuple(cells)), released)
    order = [cell.grade_id or cell.source for cell in repaired.cells]
    assert order.index(parts[0]) < order.index("load") < order.index("load-values")
    assert next(cell.source for cell in repaired.cells if cell.grade_id == "load") == parts[1]


@pytest.mark.parametrize(
    "own", ["seen = load([1])", "holds = 3", "def trim(holds):\n    return 5  # scratch"]
)
def test_repair_notebook_leaves_stub_if_no_cell_below_answers_it(tmp_path: Path, own: str) -> None:
    notebook, notes = repair(cells_with_stub("load", own), tmp_path)
    assert answer_source(notebook, "load") == RELEASED_CELLS["load"].source
    assert notes == []


def test_repair_notebook_ignores_names_that_only_tests_use(tmp_path: Path) -> None:
    source = SOURCE.replace('guess["a"] == 1', '[n for n in [guess["a"]]] == [1]')
    released = ParsedNotebook.from_nbformat(student_notebook(parse_assignment(source, "ships")))
    for own, notes in (("n = 5", 0), ('guess = {"a": 1}', 1)):
        cells = (*released.cells, Cell("code", own))
        assert len(repair_notebook(ParsedNotebook(cells), released).notes) == notes


def test_repair_notebook_ignores_stub_that_raises_first(tmp_path: Path) -> None:
    cells = answered_cells()
    find_cell(cells, "trim")["source"] = RELEASED_CELLS["trim"].source
    find_cell(cells, "load")["source"] += f"\n\n{ANSWERS['trim']}"
    assert RELEASED_CELLS["trim"].source.startswith("# YOUR CODE HERE\nraise")
    assert repair(cells, tmp_path)[1] == []


def test_repair_notebook_ignores_scratch_cell(tmp_path: Path) -> None:
    cells = answered_cells()
    strip_marks(cells)
    scratch = "def load(holds):\n    return None  # slow"
    cells.append({"cell_type": "code", "metadata": {}, "id": "s", "source": scratch})
    notebook, _ = repair(cells, tmp_path)
    assert answer_source(notebook, "load") == ANSWERS["load"]
    assert cell_sources(notebook)[-1] == scratch


def test_repair_notebook_recognizes_answer_with_magics(tmp_path: Path) -> None:
    cells = answered_cells()
    find_cell(cells, "load")["source"] = "%matplotlib inline\n!ls\n" + ANSWERS["load"]
    strip_marks(cells)
    assert "mine" in answer_source(repair(cells, tmp_path)[0], "load")


def test_repair_notebook_keeps_copied_given_cell_in_place(tmp_path: Path) -> None:
    cells = answered_cells()
    cells.append({**copy.deepcopy(find_cell(cells, "imports")), "id": "again"})
    notebook, _ = repair(cells, tmp_path)
    assert runs_without_error(notebook)
    assert nbgrader_metadata(notebook.cells[1])["grade_id"] == "imports"


def test_repair_notebook_restores_tests_and_given_cells(tmp_path: Path) -> None:
    cells = answered_cells()
    find_cell(cells, "load-values")["source"] = "assert True"
    find_cell(cells, "trim-values")["cell_type"] = "raw"
    find_cell(cells, "given-holds")["source"] = "HOLDS = []"
    cells.remove(find_cell(cells, "load-empty"))
    notebook, notes = repair(cells, tmp_path)
    assert runs_without_error(notebook)
    assert notes == [
        "tests were changed and have been restored: load-values",
        "given cells were changed and have been restored: given-holds",
        "cells had a different type: trim-values",
        "tests that were missing, restored: load-empty",
    ]


def test_repair_notebook_restores_reversed_order(tmp_path: Path) -> None:
    notebook, notes = repair(answered_cells()[::-1], tmp_path)
    assert runs_without_error(notebook)
    assert "cells were in a different order" in notes[0]


def test_repair_notebook_accepts_overlapping_task_ids(tmp_path: Path) -> None:
    source = SOURCE.replace("trim-aft", "load-values-more")
    released = student_notebook(parse_assignment(source, "ships"))
    path = write(tmp_path / "a.ipynb", json.loads(nbformat.writes(released))["cells"])
    repaired = repair_notebook(read_notebook(path), ParsedNotebook.from_nbformat(released))
    assert repaired.notes == ()
    assert cell_sources(repaired.to_nbformat()) == cell_sources(released)


EDITS = ["delete", "copy", "move", "metadata", "id", "type", "own", "overwrite", "swap"]
INDEX = st.integers(0, 30)
METADATA: list[Any] = [{}, None, {"nbgrader": []}, {"nbgrader": {}}]
IDS: list[Any] = [None, 5, "", [], "x" * 70, "load", "own-1"]


def edit(cells: list[dict[str, Any]], kind: str, position: int, choice: int) -> None:
    """Edit cells as students do, but never delete an answer, because no repair can restore it."""
    index = position % len(cells)
    cell = cells[index]
    is_answer = any(text in "".join(cell["source"]) for text in ANSWERS.values())
    match kind:
        case "delete" if not is_answer:
            del cells[index]
        case "copy":
            cells.insert(choice % (len(cells) + 1), copy.deepcopy(cell))
        case "move":
            cells.insert(choice % len(cells), cells.pop(index))
        case "metadata":
            cell["metadata"] = METADATA[choice % len(METADATA)]
        case "id":
            cell["id"] = IDS[choice % len(IDS)]
        case "type":
            cell["cell_type"] = ["code", "markdown", "raw"][choice % 3]
        case "own":
            own = {"cell_type": "code", "metadata": {}, "id": "o", "source": "load = 1"}
            cells.insert(index, own)
        case "overwrite" if not is_answer:
            cell["source"] = "x = 1"
        case "swap":
            other = choice % len(cells)
            cells[index], cells[other] = cells[other], cells[index]


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.sampled_from(EDITS), INDEX, INDEX), min_size=1, max_size=10))
def test_repair_notebook_keeps_answers_after_random_edits(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, int, int]]
) -> None:
    cells = answered_cells()
    for kind, position, choice in edits:
        edit(cells, kind, position, choice)
    notebook, _ = repair(cells, tmp_path_factory.getbasetemp())
    for text in ANSWERS.values():
        assert any(text in present for present in cell_sources(notebook))


# Tests for read_notebook


def read_content(path: Path, text: str | bytes) -> ParsedNotebook:
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return read_notebook(path)


CELL = {"cell_type": "code", "source": "x = 1", "metadata": {}}
UNREADABLE_FILES = {
    "empty": b"",
    "invalid JSON": b"{",
    "HTML": b"<html></html>",
    "UTF-16": '{"a": "ä"}'.encode("utf-16"),
    "zeros": bytes(100),
    "list": b"[]",
    "number": b"4",
    "NaN": b"NaN",
    "object without nbformat": b'{"cells": []}',
    "no cells": b'{"nbformat": 4, "cells": []}',
    "cells in an object": b'{"nbformat": 4, "cells": {"a": 1}}',
    "cells that are numbers": b'{"nbformat": 4, "cells": [1, null, "x"]}',
    "cells without source": b'{"nbformat": 4, "cells": [{"cell_type": "code"}]}',
    "deeply nested": b"[" * 100_000,
    "deeply nested and closed": b'{"nbformat": ' + b"[" * 900 + b"]" * 900 + b"}",
    "huge number": b'{"nbformat": ' + b"9" * 5000 + b', "cells": []}',
    "too many cells": json.dumps({"nbformat": 4, "cells": [CELL] * 2001}).encode(),
    "old format with a number as cells": b'{"nbformat": 3, "worksheets": [{"cells": 5}]}',
    "old format with a number as worksheets": b'{"nbformat": 3, "worksheets": 1}',
    "true as nbformat": b'{"nbformat": true}',
}


@pytest.mark.parametrize("case", UNREADABLE_FILES)
def test_read_notebook_rejects_files_that_are_not_notebooks(tmp_path: Path, case: str) -> None:
    with pytest.raises(UnreadableNotebook, match=r"a\.ipynb"):
        read_content(tmp_path / "a.ipynb", UNREADABLE_FILES[case])


def test_read_notebook_rejects_file_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path / "a.ipynb", [CELL])
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UnreadableNotebook, match="Permission denied"):
        read_notebook(path)


def test_read_notebook_accepts_malformed_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    malformed = [
        {**CELL, "source": ["a\r\n", "b"], "id": 7, "metadata": {"nbgrader": {"grade_id": ["x"]}}},
        {**CELL, "source": "s = '\ud800'", "id": "x" * 10_000, "metadata": None},
        {**CELL, "source": "ü = '☃'", "id": "ü", "metadata": {"nbgrader": {"grade_id": 5}}},
        {**CELL, "source": ["a", 5]},
        {"cell_type": "heading", "level": 2, "source": "Title", "metadata": {}},
    ]
    text = json.dumps({"nbformat": 4.0, "cells": malformed, "metadata": {"x": float("nan")}})
    found = read_content(path, "\ufeff" + text)
    assert [cell.source for cell in found.cells] == ["a\nb", "s = '?'", "ü = '☃'", "# Title"]
    assert list(found.notes) == ["damaged cells left out: 1"]
    with pytest.raises(UnreadableNotebook, match="a different notebook"):
        repair_notebook(found, PARSED)
    with_answer = ParsedNotebook((*found.cells, replace(found.cells[0], id="load")))
    check_repaired(repair_notebook(with_answer, PARSED).to_nbformat())


def test_read_notebook_converts_old_format(tmp_path: Path) -> None:
    sheet = {"cells": [{"cell_type": "code", "input": ["def load(holds):\n", "    return 1"]}]}
    text = json.dumps({"nbformat": 3, "worksheets": [sheet], "metadata": {}})
    found = read_content(tmp_path / "a.ipynb", text)
    notebook = repair_notebook(found, PARSED).to_nbformat()
    check_repaired(notebook)
    assert answer_source(notebook, "load") == "def load(holds):\n    return 1"
    assert list(found.notes) == ["the notebook is in the old format 3"]


def test_read_notebook_returns_short_encodable_notes(tmp_path: Path) -> None:
    kernel = {"kernelspec": {"name": "\ud800" * 50}}
    fields = {"nbformat": "\ud800", "metadata": kernel}
    notes = read_notebook(write(tmp_path / "a.ipynb", [CELL], **fields)).notes
    assert len("; ".join(notes).encode()) < 400
