"""Test that the student's notebook leaks no answer, and that `find_leaks` finds leaks."""

from __future__ import annotations

import copy
import json

import nbformat
import pytest
from jaxbits_grader.authoring.assignment_source import parse_assignment
from jaxbits_grader.authoring.cell_markers import solution_source, stub_source
from jaxbits_grader.authoring.notebook_versions import (
    find_leaks,
    solution_notebook,
    student_notebook,
    teacher_notebook,
)
from jaxbits_grader.files import notebook_text
from jaxbits_grader.notebook import nbgrader_metadata
from nbformat import NotebookNode
from test_assignment_source import VALID_SOURCE

SHIPS = parse_assignment(VALID_SOURCE, "ships")


def cell(notebook: NotebookNode, id: str) -> NotebookNode:
    return next(c for c in notebook.cells if c.id == id)


def test_student_notebook_has_stubs_and_visible_tests() -> None:
    released = student_notebook(SHIPS)
    assert cell(released, "load").source == (
        "def load(holds):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    )
    assert cell(released, "load-values").source == (
        'rows = 3\nassert load([1, rows]) == 1 + rows, "the sum"'
    )
    assert cell(released, "load").metadata.get("editable", True)
    assert not cell(released, "load-values").metadata["editable"]
    assert not cell(released, "given").metadata["deletable"]
    assert r"| 1 | 2 | The load \| the sum of all holds \| is right. |" in released.cells[0].source
    nbformat.validate(json.loads(notebook_text(released)))
    assert notebook_text(released) == notebook_text(
        student_notebook(parse_assignment(VALID_SOURCE, "ships"))
    )


def test_solution_notebook_has_solutions_or_given_answers() -> None:
    assert "total = sum(holds)" in cell(solution_notebook(SHIPS), "load").source
    assert "###" not in cell(solution_notebook(SHIPS), "load").source
    other = solution_notebook(SHIPS, {"load": "load = sum"})
    assert cell(other, "load").source == "load = sum"


def test_teacher_notebook_keeps_markers_and_points() -> None:
    notebook = teacher_notebook(SHIPS)
    assert "### BEGIN SOLUTION" in cell(notebook, "load").source
    assert "### BEGIN HIDDEN TESTS" in cell(notebook, "load-values").source
    assert "variant" not in notebook_text(notebook)
    assert nbgrader_metadata(cell(notebook, "load-values"))["points"] == 2


def test_stub_source_replaces_every_solution_in_cell() -> None:
    source = (
        "### BEGIN SOLUTION\na = 1\n### END SOLUTION\n"
        "if x:\n\t### BEGIN SOLUTION\n\ty\n\t### END SOLUTION"
    )
    stub = "# YOUR CODE HERE\nraise NotImplementedError()\n"
    assert stub_source(source) == (stub + "if x:\n\t" + stub.replace("\n", "\n\t", 1)).rstrip()
    assert solution_source(source) == "a = 1\nif x:\n\ty"


def test_find_leaks_finds_nothing_in_student_notebook() -> None:
    assert find_leaks(SHIPS, student_notebook(SHIPS)) == []


def insert_into_source(notebook: NotebookNode, line: str) -> None:
    notebook.cells[2].source += f"\n    {line}"


def insert_into_text(notebook: NotebookNode, line: str) -> None:
    notebook.cells[2].source += f"\nA hint: `{line}`, perhaps"


def insert_into_output(notebook: NotebookNode, line: str) -> None:
    output = nbformat.v4.new_output("stream", name="stdout", text=f"{line}\n")
    cell(notebook, "given").outputs = [output]


def insert_into_metadata(notebook: NotebookNode, line: str) -> None:
    cell(notebook, "load").metadata["undo"] = [line]


@pytest.mark.parametrize(
    "insert_line", [insert_into_source, insert_into_text, insert_into_output, insert_into_metadata]
)
@pytest.mark.parametrize(
    "line", ["total = sum(holds)", 'assert load([7] * rows) == 7 * rows, "the sum of many"']
)
def test_find_leaks_finds_line_anywhere_in_notebook(insert_line: object, line: str) -> None:
    released = student_notebook(SHIPS)
    insert_line(released, line)  # type: ignore[operator]
    assert find_leaks(SHIPS, released) == [line]


def test_find_leaks_finds_short_line() -> None:
    released = student_notebook(SHIPS)
    insert_into_source(released, "s = 5")
    assert find_leaks(SHIPS, released) == ["s = 5"]


def test_find_leaks_finds_whole_cells_and_markers() -> None:
    assert "BEGIN SOLUTION" in find_leaks(SHIPS, teacher_notebook(SHIPS))
    assert "total = sum(holds)" in find_leaks(SHIPS, solution_notebook(SHIPS))
    released = copy.deepcopy(student_notebook(SHIPS))
    cell(released, "load-values").source += "\nrows = 3  # variant: 2..9"
    assert find_leaks(SHIPS, released) == ["variant:"]
