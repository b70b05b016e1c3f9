"""The student's notebook reveals no solution and no hidden test, and leaks are found."""

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
from test_assignment_source import GOOD

SHIPS = parse_assignment(GOOD, "ships")


def cell(notebook: NotebookNode, id: str) -> NotebookNode:
    return next(c for c in notebook.cells if c.id == id)


def test_student_notebook() -> None:
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
        student_notebook(parse_assignment(GOOD, "ships"))
    )


def test_solution_notebook() -> None:
    assert "total = sum(holds)" in cell(solution_notebook(SHIPS), "load").source
    assert "###" not in cell(solution_notebook(SHIPS), "load").source
    other = solution_notebook(SHIPS, {"load": "load = sum"})
    assert cell(other, "load").source == "load = sum"


def test_teacher_notebook() -> None:
    whole = teacher_notebook(SHIPS)
    assert "### BEGIN SOLUTION" in cell(whole, "load").source
    assert "### BEGIN HIDDEN TESTS" in cell(whole, "load-values").source
    assert "variant" not in notebook_text(whole)
    assert nbgrader_metadata(cell(whole, "load-values"))["points"] == 2


def test_several_solutions_in_one_cell() -> None:
    cell_ = (
        "### BEGIN SOLUTION\na = 1\n### END SOLUTION\n"
        "if x:\n\t### BEGIN SOLUTION\n\ty\n\t### END SOLUTION"
    )
    stub = "# YOUR CODE HERE\nraise NotImplementedError()\n"
    assert stub_source(cell_) == (stub + "if x:\n\t" + stub.replace("\n", "\n\t", 1)).rstrip()
    assert solution_source(cell_) == "a = 1\nif x:\n\ty"


def test_the_student_notebook_leaks_nothing() -> None:
    assert find_leaks(SHIPS, student_notebook(SHIPS)) == []


def into_source(notebook: NotebookNode, line: str) -> None:
    notebook.cells[2].source += f"\n    {line}"


def into_text(notebook: NotebookNode, line: str) -> None:
    notebook.cells[2].source += f"\nA hint: `{line}`, perhaps"


def into_output(notebook: NotebookNode, line: str) -> None:
    output = nbformat.v4.new_output("stream", name="stdout", text=f"{line}\n")
    cell(notebook, "given").outputs = [output]


def into_metadata(notebook: NotebookNode, line: str) -> None:
    cell(notebook, "load").metadata["undo"] = [line]


@pytest.mark.parametrize("put", [into_source, into_text, into_output, into_metadata])
@pytest.mark.parametrize(
    "line", ["total = sum(holds)", 'assert load([7] * rows) == 7 * rows, "the sum of many"']
)
def test_a_leak_is_found_wherever_it_is(put: object, line: str) -> None:
    released = student_notebook(SHIPS)
    put(released, line)  # type: ignore[operator]
    assert find_leaks(SHIPS, released) == [line]


def test_a_short_line_is_a_leak() -> None:
    released = student_notebook(SHIPS)
    into_source(released, "s = 5")
    assert find_leaks(SHIPS, released) == ["s = 5"]


def test_whole_cells_and_markers_are_leaks() -> None:
    assert "BEGIN SOLUTION" in find_leaks(SHIPS, teacher_notebook(SHIPS))
    assert "total = sum(holds)" in find_leaks(SHIPS, solution_notebook(SHIPS))
    released = copy.deepcopy(student_notebook(SHIPS))
    cell(released, "load-values").source += "\nrows = 3  # variant: 2..9"
    assert find_leaks(SHIPS, released) == ["variant:"]
