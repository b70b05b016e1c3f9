"""Every assignment accepts right answers, rejects wrong ones, and reveals nothing."""

from __future__ import annotations

import json
from pathlib import Path

import grading_harness as harness
import nbformat
import pytest
from jaxbits_grader.authoring.assignment_source import (
    SOURCE_FILE,
    find_assignments,
    parse_assignment,
    read_assignment,
)
from jaxbits_grader.authoring.cell_markers import HIDDEN_TESTS, block_texts, visible_tests
from jaxbits_grader.authoring.notebook_versions import (
    find_leaks,
    solution_notebook,
    student_notebook,
)
from jaxbits_grader.authoring.reference_answers import read_answers
from jaxbits_grader.authoring.validation import MIN_WRONG_ANSWERS, validate
from jaxbits_grader.authoring.variants import (
    count_variable_values,
    draw_variant,
)
from jaxbits_grader.files import notebook_text
from jaxbits_grader.notebook import nbgrader_metadata

FOLDERS = find_assignments(harness.ASSIGNMENTS)
TOPICS = {
    "pure-functions",
    "immutable-arrays",
    "out-of-bounds",
    "random-numbers",
    "dynamic-shapes",
    "nans",
    "precision",
    "xor-classifier",
}

each = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def test_every_topic_has_an_assignment() -> None:
    assert {folder.name for folder in FOLDERS} == TOPICS


@each
def test_solutions_get_full_marks_stubs_none_and_wrong_answers_fail(folder: Path) -> None:
    tried = validate(folder)
    assert [one.line() for one in tried if one.problem] == []
    assignment = read_assignment(folder)
    for task in assignment.tasks:
        of_task = [one for one in tried if one.task == task.id]
        (solution,) = [one for one in of_task if one.kind == "solution"]
        (stub,) = [one for one in of_task if one.kind == "stub"]
        assert (solution.points, stub.points) == (task.total, 0)
        assert sum(one.kind == "wrong" for one in of_task) >= MIN_WRONG_ANSWERS


@each
def test_variants_differ_and_are_valid(folder: Path) -> None:
    given = (folder / SOURCE_FILE).read_text(encoding="utf-8")
    assert count_variable_values(given) >= 2 * len(read_assignment(folder).tasks)
    drawn = [draw_variant(given, seed) for seed in range(5)]
    assert len({*drawn, given}) == 6
    for varied in drawn:
        assignment = parse_assignment(varied, folder.name)
        assert find_leaks(assignment, student_notebook(assignment)) == []


@each
def test_released_notebooks_are_up_to_date(folder: Path) -> None:
    assignment = read_assignment(folder)
    stored = (folder / f"{folder.name}.ipynb").read_text(encoding="utf-8")
    assert stored == notebook_text(student_notebook(assignment)), "run: make assignments"


@each
def test_released_notebooks_leak_nothing(folder: Path) -> None:
    assignment = read_assignment(folder)
    notebook = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    assert find_leaks(assignment, notebook) == []
    whole = json.dumps(notebook)
    for cell in assignment.notebook.cells:
        for part in block_texts(cell.source, HIDDEN_TESTS):
            assert json.dumps(part.strip())[1:-1] not in whole
    for answer in read_answers(folder, assignment):
        assert json.dumps(answer.source)[1:-1] not in whole


@each
def test_released_notebooks_are_valid_and_portable(folder: Path) -> None:
    notebook = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    for cell in notebook.cells:
        mark = nbgrader_metadata(cell)
        if mark:
            assert cell.id == mark["grade_id"]
        assert ":::" not in cell.source, "Colab shows MyST directives raw"
        assert "{" + "code-cell}" not in cell.source


@each
def test_every_test_has_visible_and_hidden_parts(folder: Path) -> None:
    assignment = read_assignment(folder)
    for task in assignment.tasks:
        for id in task.points:
            cell = assignment.cell(id).source
            assert block_texts(cell, HIDDEN_TESTS), f"{id} has no hidden tests"
            visible = visible_tests(cell)
            assert "testing." in visible or "assert" in visible, f"{id} shows no test"


@harness.needs_sandbox
def test_the_real_grader_gives_solutions_full_marks(tmp_path: Path) -> None:
    """One enables 64-bit types, the other uses PyTorch and Flax. The corpus covers a third."""
    course = tmp_path / "course"
    harness.call("course", course, "--from", harness.ASSIGNMENTS)
    for folder in (harness.ASSIGNMENTS / "precision", harness.ASSIGNMENTS / "xor-classifier"):
        assignment = read_assignment(folder)
        handed_in = tmp_path / folder.name
        handed_in.mkdir()
        (handed_in / "ann.ipynb").write_text(notebook_text(solution_notebook(assignment)))
        harness.grade(course, handed_in, folder.name)
        csv = (course / "results" / f"{folder.name}.csv").read_text()
        row = harness.rows(csv)["ann"]
        assert (row.status, row.notes) == ("graded", "")
        assert row.score == row.max_score == assignment.points
        assert row.tasks == {task.id: str(task.total) for task in assignment.tasks}
