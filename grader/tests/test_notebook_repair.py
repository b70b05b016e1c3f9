"""Whatever students do to a notebook, it is repaired, and no answer is lost."""

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
from jaxbits_grader.notebook import ParsedNotebook, nbgrader_metadata
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
OURS = {nbgrader_metadata(c)["grade_id"]: c for c in RELEASED.cells if nbgrader_metadata(c)}
ANSWERS = {
    "load": "def load(holds):\n    return sum(holds)  # mine",
    "trim": "def trim(holds):\n    return holds[0] - holds[-1]  # mine",
    "trim-aft": 'guess = {"a": 1}  # mine',
}
TESTS = {
    "load-values": "load",
    "load-empty": "load",
    "trim-values": "trim",
    "trim-aft-values": "trim-aft",
}


def handed_in() -> list[dict[str, Any]]:
    """Return the cells of a saved notebook in which every task is answered."""
    notebook = copy.deepcopy(RELEASED)
    for cell in notebook.cells:
        if cell.id in ANSWERS:
            cell.source = ANSWERS[cell.id]
    return [dict(cell) for cell in json.loads(nbformat.writes(notebook))["cells"]]


def find(cells: list[dict[str, Any]], id: str) -> dict[str, Any]:
    return next(c for c in cells if c.get("id") == id)


def bare(cells: list[dict[str, Any]], *, metadata: bool = True, ids: bool = True) -> None:
    for number, cell in enumerate(cells):
        if metadata:
            cell["metadata"] = {}
        if ids:
            cell["id"] = f"c{number}"


def write(path: Path, cells: Any, **more: Any) -> Path:
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **more}
    path.write_text(json.dumps(notebook))
    return path


def repaired(cells: list[dict[str, Any]], folder: Path) -> tuple[NotebookNode, list[str]]:
    found = repair_notebook(read_notebook(write(folder / "a.ipynb", cells)), PARSED)
    notebook = found.to_nbformat()
    check(notebook)
    return notebook, list(found.notes)


def check(notebook: NotebookNode) -> None:
    nbformat.validate(json.loads(nbformat.writes(notebook)))
    there = [nbgrader_metadata(c)["grade_id"] for c in notebook.cells if nbgrader_metadata(c)]
    assert sorted(there) == sorted(OURS)
    for test, answer in TESTS.items():
        assert there.index(test) > there.index(answer)
    for cell in notebook.cells:
        if nbgrader_metadata(cell):
            own = OURS[nbgrader_metadata(cell)["grade_id"]]
            assert cell.cell_type == own.cell_type
            assert cell.id == own.id
            assert nbgrader_metadata(cell) == nbgrader_metadata(own)
            assert nbgrader_metadata(cell)["solution"] or cell.source == own.source
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def texts(notebook: NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells]


def answer(notebook: NotebookNode, id: str) -> str:
    return next(c.source for c in notebook.cells if nbgrader_metadata(c).get("grade_id") == id)


def passes(notebook: NotebookNode) -> bool:
    """Return True if all cells of the notebook run, including its tests."""
    namespace: dict[str, Any] = {}
    try:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                exec(cell.source, namespace)
    except Exception:
        return False
    return True


def test_an_intact_notebook_is_unchanged(tmp_path: Path) -> None:
    notebook, notes = repaired(handed_in(), tmp_path)
    assert notes == []
    assert texts(notebook) == ["".join(c["source"]) for c in handed_in()]
    assert passes(notebook)


def test_two_answers_in_one_cell(tmp_path: Path) -> None:
    cells = handed_in()
    find(cells, "load")["source"] = ANSWERS["load"] + "\n\n\n" + ANSWERS["trim"]
    cells = [cell for cell in cells if cell["id"] != "trim"]
    notebook, notes = repaired(cells, tmp_path)
    assert passes(notebook)
    why = "answer cells whose answers are in other cells, that were missing, restored: trim"
    assert notes == [why]


def test_an_answer_in_the_cell_of_its_test(tmp_path: Path) -> None:
    cells = handed_in()
    test = find(cells, "load-values")
    test["source"] = ANSWERS["load"] + "\n" + "".join(test["source"])
    cells = [cell for cell in cells if cell["id"] != "load"]
    notebook, notes = repaired(cells, tmp_path)
    assert passes(notebook)
    assert any("tests were changed" in note for note in notes)


def test_a_notebook_of_another_assignment(tmp_path: Path) -> None:
    other = [{**CELL, "source": "def cargo():\n    return 1"}]
    with pytest.raises(UnreadableNotebook, match="a different notebook"):
        repaired(other, tmp_path)


@pytest.mark.parametrize(
    "lost", [{"ids": False}, {"metadata": False}, {}], ids=["metadata", "ids", "both"]
)
def test_lost_metadata_and_ids(tmp_path: Path, lost: dict[str, bool]) -> None:
    cells = handed_in()
    bare(cells, **lost)
    notebook, notes = repaired(cells, tmp_path)
    assert {id: answer(notebook, id) for id in ("load", "trim")} == {
        id: ANSWERS[id] for id in ("load", "trim")
    }
    assert ANSWERS["trim-aft"] in texts(notebook)
    assert passes(notebook) or not lost  # the stub of a prediction raises, and the kernel goes on
    assert bool(notes) == (lost != {"metadata": False})


def test_retyped_with_other_whitespace(tmp_path: Path) -> None:
    cells = handed_in()
    bare(cells)
    for cell in cells:
        cell["source"] = [line.replace("    ", "\t") + "  " for line in cell["source"]]
    notebook, notes = repaired(cells, tmp_path)
    assert "mine" in answer(notebook, "load")
    assert len(notes) == 2


@pytest.mark.parametrize("blank", ["", "# YOUR CODE HERE\nraise NotImplementedError()\n\n"])
def test_an_untouched_copy_is_not_the_answer(tmp_path: Path, blank: str) -> None:
    cells = handed_in()
    again = copy.deepcopy(find(cells, "load"))
    again["source"] = blank or [""]
    if blank:
        again = copy.deepcopy(find(cells, "trim-aft"))
        again["source"] = blank
    cells.append({**again, "id": "z"})
    notebook, _ = repaired(cells, tmp_path)
    assert answer(notebook, "load") == ANSWERS["load"]
    assert answer(notebook, "trim-aft") == ANSWERS["trim-aft"]
    assert passes(notebook)


@pytest.mark.parametrize("bared", [False, True])
@pytest.mark.parametrize("first", ["worked", "pristine"])
def test_the_whole_notebook_twice(tmp_path: Path, bared: bool, first: str) -> None:
    pristine = [dict(c) for c in json.loads(nbformat.writes(RELEASED))["cells"]]
    halves = [handed_in(), pristine] if first == "worked" else [pristine, handed_in()]
    cells = halves[0] + halves[1]
    if bared:
        bare(cells)
    notebook, _ = repaired(cells, tmp_path)
    assert answer(notebook, "load") == ANSWERS["load"]
    assert answer(notebook, "trim") == ANSWERS["trim"]
    assert ANSWERS["trim-aft"] in texts(notebook)
    assert sum("NotImplementedError" in text for text in texts(notebook)) <= bared


def test_a_copy_edited_below(tmp_path: Path) -> None:
    cells = handed_in()
    place = cells.index(find(cells, "load"))
    other = copy.deepcopy(cells[place])
    cells[place]["source"] = "def load(holds):\n    return 7  # first try"
    other["id"] = "copied"
    cells.insert(place + 1, other)
    notebook, _ = repaired(cells, tmp_path)
    assert answer(notebook, "load") == ANSWERS["load"]
    assert passes(notebook)
    assert any("first try" in text for text in texts(notebook))


def test_an_answer_split_over_two_cells_whose_tests_are_gone(tmp_path: Path) -> None:
    cells = [c for c in handed_in() if not str(c["id"]).startswith("load-")]
    place = cells.index(find(cells, "load"))
    cells[place]["source"] = "def one(x):\n    return x"
    rest = {"cell_type": "code", "metadata": {}, "id": "r", "source": ANSWERS["load"]}
    cells.insert(place + 1, rest)
    notebook, notes = repaired(cells, tmp_path)
    assert passes(notebook)
    assert notes == ["tests that were missing, restored: load-values, load-empty"]


def test_both_halves_of_a_split_answer_have_its_metadata(tmp_path: Path) -> None:
    cells = handed_in()
    place = cells.index(find(cells, "trim"))
    half = copy.deepcopy(cells[place])
    cells[place]["source"] = "def first(holds):\n    return holds[0]"
    half.update(id="half", source="def trim(holds):\n    return first(holds) - holds[-1]")
    cells.insert(place + 1, half)
    assert passes(repaired(cells, tmp_path)[0])


def test_an_answer_turned_to_text_is_tried_as_code(tmp_path: Path) -> None:
    cells = handed_in()
    find(cells, "load")["cell_type"] = "markdown"
    notebook, notes = repaired(cells, tmp_path)
    assert passes(notebook)
    assert notes == ["cells had a different type: load"]


def test_an_answer_turned_to_text_next_to_the_stub_is_kept(tmp_path: Path) -> None:
    cells = handed_in()
    kept = copy.deepcopy(find(cells, "load"))
    kept.update(cell_type="markdown", id="kept")
    find(cells, "load")["source"] = OURS["load"].source
    cells.append(kept)
    assert ANSWERS["load"] in texts(repaired(cells, tmp_path)[0])


def test_different_copies_of_an_answer_are_noted(tmp_path: Path) -> None:
    cells = handed_in()
    second = copy.deepcopy(find(cells, "load"))
    cells.insert(cells.index(find(cells, "load")) + 1, second)
    assert repaired(cells, tmp_path)[1] == []
    second["source"] = "def load(holds):\n    return max(holds)"
    notebook, notes = repaired(cells, tmp_path)
    assert notes == ["answers written more than once, of which the last counts: load"]
    assert answer(notebook, "load") == second["source"]
    second["source"] = "import math"  # a cell that was split has both marks
    assert repaired(cells, tmp_path)[1] == []


def test_an_answer_above_its_stub_is_noted(tmp_path: Path) -> None:
    told = "answers that are overwritten by their own stub further down: load"
    cells = handed_in()
    own = {"cell_type": "code", "metadata": {}, "id": "own", "source": ANSWERS["load"]}
    find(cells, "load")["source"] = OURS["load"].source
    cells.insert(0, own)
    notebook, notes = repaired(cells, tmp_path)
    assert notes == [told]
    assert not passes(notebook)
    cells.remove(own)
    find(cells, "imports")["source"] += f"\n\n{ANSWERS['load']}"
    assert told not in repaired(cells, tmp_path)[1]  # a given cell is put back, and that is told
    cells.insert(cells.index(find(cells, "load")) + 1, own)
    find(cells, "imports")["source"] = OURS["imports"].source
    assert repaired(cells, tmp_path)[1] == []
    assert passes(repaired(cells, tmp_path)[0])


def test_a_stub_that_raises_first_overwrites_nothing(tmp_path: Path) -> None:
    cells = handed_in()
    find(cells, "trim")["source"] = OURS["trim"].source
    find(cells, "load")["source"] += f"\n\n{ANSWERS['trim']}"
    assert OURS["trim"].source.startswith("# YOUR CODE HERE\nraise")
    assert repaired(cells, tmp_path)[1] == []


def test_a_scratch_cell_that_defines_the_same_names(tmp_path: Path) -> None:
    cells = handed_in()
    bare(cells)
    scratch = "def load(holds):\n    return None  # slow"
    cells.append({"cell_type": "code", "metadata": {}, "id": "s", "source": scratch})
    notebook, _ = repaired(cells, tmp_path)
    assert answer(notebook, "load") == ANSWERS["load"]
    assert texts(notebook)[-1] == scratch


def test_an_answer_with_a_magic_is_known_by_its_names(tmp_path: Path) -> None:
    cells = handed_in()
    find(cells, "load")["source"] = "%matplotlib inline\n!ls\n" + ANSWERS["load"]
    bare(cells)
    assert "mine" in answer(repaired(cells, tmp_path)[0], "load")


def test_a_given_cell_that_was_copied_stays_where_it_was(tmp_path: Path) -> None:
    cells = handed_in()
    cells.append({**copy.deepcopy(find(cells, "imports")), "id": "again"})
    notebook, _ = repaired(cells, tmp_path)
    assert passes(notebook)
    assert nbgrader_metadata(notebook.cells[1])["grade_id"] == "imports"


def test_tests_and_given_cells_are_those_of_the_release(tmp_path: Path) -> None:
    cells = handed_in()
    find(cells, "load-values")["source"] = "assert True"
    find(cells, "trim-values")["cell_type"] = "raw"
    find(cells, "given-holds")["source"] = "HOLDS = []"
    cells.remove(find(cells, "load-empty"))
    notebook, notes = repaired(cells, tmp_path)
    assert passes(notebook)
    assert notes == [
        "tests were changed and are restored: load-values",
        "given cells were changed and are restored: given-holds",
        "cells had a different type: trim-values",
        "tests that were missing, restored: load-empty",
    ]


def test_reversed_order(tmp_path: Path) -> None:
    notebook, notes = repaired(handed_in()[::-1], tmp_path)
    assert passes(notebook)
    assert "cells were in a different order" in notes[0]


def test_a_task_whose_name_extends_another(tmp_path: Path) -> None:
    longer = SOURCE.replace("trim-aft", "load-values-more")
    released = student_notebook(parse_assignment(longer, "ships"))
    path = write(tmp_path / "a.ipynb", json.loads(nbformat.writes(released))["cells"])
    found = repair_notebook(read_notebook(path), ParsedNotebook.from_nbformat(released))
    assert found.notes == ()
    assert texts(found.to_nbformat()) == texts(released)


EDITS = ["delete", "copy", "move", "metadata", "id", "type", "own", "overwrite", "swap"]
PLACE = st.integers(0, 30)
METADATA: list[Any] = [{}, None, {"nbgrader": []}, {"nbgrader": {}}]
IDS: list[Any] = [None, 5, "", [], "x" * 70, "load", "own-1"]


def edit(cells: list[dict[str, Any]], kind: str, place: int, choice: int) -> None:
    """Edit cells as students do, except for deleting answers, which nobody could restore."""
    index = place % len(cells)
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
@given(st.lists(st.tuples(st.sampled_from(EDITS), PLACE, PLACE), min_size=1, max_size=10))
def test_no_answer_is_lost_whatever_is_done_to_the_cells(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, int, int]]
) -> None:
    cells = handed_in()
    for kind, place, choice in edits:
        edit(cells, kind, place, choice)
    notebook, _ = repaired(cells, tmp_path_factory.getbasetemp())
    for text in ANSWERS.values():
        assert any(text in present for present in texts(notebook))


# Reading files


def loaded(path: Path, text: str | bytes) -> ParsedNotebook:
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return read_notebook(path)


CELL = {"cell_type": "code", "source": "x = 1", "metadata": {}}
NO_NOTEBOOK = {
    "nothing": b"",
    "no JSON": b"{",
    "HTML": b"<html></html>",
    "another encoding": '{"a": "ä"}'.encode("utf-16"),
    "zeros": bytes(100),
    "a list": b"[]",
    "a number": b"4",
    "NaN": b"NaN",
    "another object": b'{"cells": []}',
    "no cells": b'{"nbformat": 4, "cells": []}',
    "cells that are none": b'{"nbformat": 4, "cells": {"a": 1}}',
    "cells that are numbers": b'{"nbformat": 4, "cells": [1, null, "x"]}',
    "cells without source": b'{"nbformat": 4, "cells": [{"cell_type": "code"}]}',
    "very deep": b"[" * 100_000,
    "deep and closed": b'{"nbformat": ' + b"[" * 900 + b"]" * 900 + b"}",
    "a huge number": b'{"nbformat": ' + b"9" * 5000 + b', "cells": []}',
    "too many cells": json.dumps({"nbformat": 4, "cells": [CELL] * 2001}).encode(),
    "an old one of a number": b'{"nbformat": 3, "worksheets": [{"cells": 5}]}',
    "an old one of nothing": b'{"nbformat": 3, "worksheets": 1}',
    "true": b'{"nbformat": true}',
}


@pytest.mark.parametrize("what", NO_NOTEBOOK)
def test_other_files_are_unreadable(tmp_path: Path, what: str) -> None:
    with pytest.raises(UnreadableNotebook, match=r"a\.ipynb"):
        loaded(tmp_path / "a.ipynb", NO_NOTEBOOK[what])


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path / "a.ipynb", [CELL])
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UnreadableNotebook, match="Permission denied"):
        read_notebook(path)


def test_odd_notebooks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    odd = [
        {**CELL, "source": ["a\r\n", "b"], "id": 7, "metadata": {"nbgrader": {"grade_id": ["x"]}}},
        {**CELL, "source": "s = '\ud800'", "id": "x" * 10_000, "metadata": None},
        {**CELL, "source": "ü = '☃'", "id": "ü", "metadata": {"nbgrader": {"grade_id": 5}}},
        {**CELL, "source": ["a", 5]},
        {"cell_type": "heading", "level": 2, "source": "Title", "metadata": {}},
    ]
    text = json.dumps({"nbformat": 4.0, "cells": odd, "metadata": {"x": float("nan")}})
    found = loaded(path, "\ufeff" + text)
    assert [cell.source for cell in found.cells] == ["a\nb", "s = '?'", "ü = '☃'", "# Title"]
    assert list(found.notes) == ["1 of its cells are damaged and left out"]
    with pytest.raises(UnreadableNotebook, match="a different notebook"):
        repair_notebook(found, PARSED)
    more = ParsedNotebook((*found.cells, replace(found.cells[0], id="load")))
    check(repair_notebook(more, PARSED).to_nbformat())


def test_an_old_format(tmp_path: Path) -> None:
    sheet = {"cells": [{"cell_type": "code", "input": ["def load(holds):\n", "    return 1"]}]}
    text = json.dumps({"nbformat": 3, "worksheets": [sheet], "metadata": {}})
    found = loaded(tmp_path / "a.ipynb", text)
    notebook = repair_notebook(found, PARSED).to_nbformat()
    check(notebook)
    assert answer(notebook, "load") == "def load(holds):\n    return 1"
    assert list(found.notes) == ["it is in the old format 3"]


def test_notes_can_be_encoded(tmp_path: Path) -> None:
    kernel = {"kernelspec": {"name": "\ud800" * 50}}
    more = {"nbformat": "\ud800", "metadata": kernel}
    notes = read_notebook(write(tmp_path / "a.ipynb", [CELL], **more)).notes
    assert len("; ".join(notes).encode()) < 400
