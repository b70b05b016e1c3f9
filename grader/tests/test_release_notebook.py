"""What a student gets holds nothing of the solutions and hidden tests, and the search finds it."""

from __future__ import annotations

import copy
import json

import nbformat
import pytest
from jaxbits_grader.authoring import assignment_source as source
from jaxbits_grader.authoring import release_notebook as release
from jaxbits_grader.authoring.assignment_source import marks
from jaxbits_grader.notebook_io import text
from nbformat import NotebookNode
from test_assignment_source import GOOD

SHIPS = source.parse(GOOD, "ships")


def cell(notebook: NotebookNode, id: str) -> NotebookNode:
    return next(c for c in notebook.cells if c.id == id)


def test_what_a_student_gets() -> None:
    released = release.student(SHIPS)
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
    nbformat.validate(json.loads(text(released)))
    assert text(released) == text(release.student(source.parse(GOOD, "ships")))


def test_the_solution_and_other_answers() -> None:
    assert "total = sum(holds)" in cell(release.solution(SHIPS), "load").source
    assert "###" not in cell(release.solution(SHIPS), "load").source
    other = release.solution(SHIPS, {"load": "load = sum"})
    assert cell(other, "load").source == "load = sum"


def test_the_teachers_notebook_is_what_nbgrader_wants() -> None:
    whole = release.complete(SHIPS)
    assert "### BEGIN SOLUTION" in cell(whole, "load").source
    assert "### BEGIN HIDDEN TESTS" in cell(whole, "load-values").source
    assert "variant" not in text(whole)
    assert marks(cell(whole, "load-values"))["points"] == 2
    assert "variant" in cell(SHIPS.notebook, "load-values").source


def test_several_solutions_in_one_cell_and_their_indentation() -> None:
    cell_ = (
        "### BEGIN SOLUTION\na = 1\n### END SOLUTION\n"
        "if x:\n\t### BEGIN SOLUTION\n\ty\n\t### END SOLUTION"
    )
    stub = "# YOUR CODE HERE\nraise NotImplementedError()\n"
    assert release.stub(cell_) == (stub + "if x:\n\t" + stub.replace("\n", "\n\t", 1)).rstrip()
    assert release.solved(cell_) == "a = 1\nif x:\n\ty"


def test_nothing_leaks() -> None:
    assert release.leaks(SHIPS, release.student(SHIPS)) == []


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
    released = release.student(SHIPS)
    put(released, line)  # type: ignore[operator]
    assert release.leaks(SHIPS, released) == [line]


def test_a_short_line_on_its_own_is_a_leak() -> None:
    released = release.student(SHIPS)
    into_source(released, "s = 5")
    assert release.leaks(SHIPS, released) == ["s = 5"]


def test_whole_cells_and_marks_are_leaks() -> None:
    assert "BEGIN SOLUTION" in release.leaks(SHIPS, release.complete(SHIPS))
    assert "total = sum(holds)" in release.leaks(SHIPS, release.solution(SHIPS))
    released = copy.deepcopy(release.student(SHIPS))
    cell(released, "load-values").source += "\nrows = 3  # variant: 2..9"
    assert release.leaks(SHIPS, released) == ["variant:"]
