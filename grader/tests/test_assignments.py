"""Test that every assignment accepts right answers, rejects wrong ones, and reveals no answer."""

from __future__ import annotations

import json
from dataclasses import replace
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
from jaxbits_grader.authoring.reference_answers import read_answers, read_with_right_answers
from jaxbits_grader.authoring.validation import MIN_WRONG_ANSWERS, validate
from jaxbits_grader.authoring.variants import (
    count_variable_values,
    draw_variant,
)
from jaxbits_grader.checking.solution_check import (
    check_forbidden_names,
    check_messages,
    find_solution_problems,
)
from jaxbits_grader.files import notebook_text
from jaxbits_grader.gradebook.course import open_course
from jaxbits_grader.notebook import nbgrader_metadata

FOLDERS = find_assignments(harness.ASSIGNMENTS)
TOPICS = {
    "pure-functions",
    "immutable-arrays",
    "out-of-bounds",
    "random-numbers",
    "control-flow",
    "dynamic-shapes",
    "nans",
    "precision",
    "pytrees-and-vmap",
    "devices-and-memory",
    "xor-classifier",
    "stateful-layers",
}

# `jaxbits-grader prove --all` tries all answers derived from limits, which takes too long here.
LIMITS_STEP = 4

each_assignment = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def test_every_topic_has_assignment() -> None:
    assert {folder.name for folder in FOLDERS} == TOPICS


@each_assignment
def test_validate_grades_solution_stub_and_wrong_answers(folder: Path) -> None:
    attempts = validate(folder, limits_step=LIMITS_STEP)
    assert [attempt.line() for attempt in attempts if attempt.problem] == []
    assignment = read_assignment(folder)
    for task in assignment.tasks:
        task_attempts = [attempt for attempt in attempts if attempt.task == task.id]
        (solution,) = [attempt for attempt in task_attempts if attempt.kind == "solution"]
        (stub,) = [attempt for attempt in task_attempts if attempt.kind == "stub"]
        assert (solution.points, stub.points) == (task.total, 0)
        assert sum(attempt.kind == "wrong" for attempt in task_attempts) >= MIN_WRONG_ANSWERS


@each_assignment
def test_tasks_forbid_only_names_that_exist(folder: Path) -> None:
    assignment = read_assignment(folder)
    check_forbidden_names(assignment, read_answers(folder, assignment))


@each_assignment
def test_checks_have_messages_that_students_may_read(folder: Path) -> None:
    check_messages(read_assignment(folder))


@each_assignment
def test_draw_variant_gives_distinct_valid_assignments(folder: Path) -> None:
    source = (folder / SOURCE_FILE).read_text(encoding="utf-8")
    assert count_variable_values(source) >= 2 * len(read_assignment(folder).tasks)
    variants = [draw_variant(source, seed) for seed in range(5)]
    assert len({*variants, source}) == 6
    for variant in variants:
        assignment = parse_assignment(variant, folder.name)
        assert find_leaks(assignment, student_notebook(assignment)) == []


@each_assignment
def test_released_notebooks_are_up_to_date(folder: Path) -> None:
    assignment = read_assignment(folder)
    stored = (folder / f"{folder.name}.ipynb").read_text(encoding="utf-8")
    assert stored == notebook_text(student_notebook(assignment)), "run: make assignments"


@each_assignment
def test_released_notebooks_leak_nothing(folder: Path) -> None:
    assignment = read_assignment(folder)
    notebook = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    assert find_leaks(assignment, notebook) == []
    notebook_json = json.dumps(notebook)
    for cell in assignment.notebook.cells:
        for part in block_texts(cell.source, HIDDEN_TESTS):
            assert json.dumps(part.strip())[1:-1] not in notebook_json
    for answer in read_answers(folder, assignment):
        assert json.dumps(answer.source)[1:-1] not in notebook_json


@each_assignment
def test_released_notebooks_are_valid_and_portable(folder: Path) -> None:
    notebook = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    for cell in notebook.cells:
        metadata = nbgrader_metadata(cell)
        if metadata:
            assert cell.id == metadata["grade_id"]
        assert ":::" not in cell.source, "Colab does not render MyST directives"
        assert "{" + "code-cell}" not in cell.source


@each_assignment
def test_test_cells_have_visible_and_hidden_tests(folder: Path) -> None:
    assignment = read_assignment(folder)
    for task in assignment.tasks:
        for id in task.points:
            cell = assignment.cell(id).source
            assert block_texts(cell, HIDDEN_TESTS), f"{id} has no hidden tests"
            visible = visible_tests(cell)
            assert "testing." in visible or "assert" in visible, f"{id} has no visible test"


@each_assignment
@harness.needs_sandbox
def test_grader_gives_solutions_all_points(folder: Path, tmp_path: Path) -> None:
    """Also test that the judge runs each test, unless its source says that it cannot."""
    assert find_solution_problems(read_with_right_answers(folder), tmp_path) == []


@each_assignment
@harness.needs_sandbox
def test_grader_gives_a_right_answer_to_each_task_all_points(folder: Path, tmp_path: Path) -> None:
    """Also test that it adds no note, although it compares these answers with the others."""
    assignment = read_with_right_answers(folder)
    right = assignment.right_answers
    answers = {task: some[-1] for task, some in right.items()}
    others = {task: some[:-1] or some for task, some in right.items()}
    assignment = replace(assignment, right_answers=others)
    assert find_solution_problems(assignment, tmp_path, answers) == []


@harness.needs_sandbox
def test_grade_command_gives_solutions_full_marks(tmp_path: Path) -> None:
    """Grade one assignment that enables 64-bit types and one that uses PyTorch and Flax.

    The corpus tests grade a third assignment.
    """
    course = tmp_path / "course"
    harness.run_grader("course", course, "--from", harness.ASSIGNMENTS)
    for folder in (harness.ASSIGNMENTS / "precision", harness.ASSIGNMENTS / "xor-classifier"):
        assignment = read_assignment(folder)
        # The grader compares answers with these.
        assert set(open_course(course).assignment(folder.name).right_answers) == {
            task.id for task in assignment.tasks
        }
        submissions = tmp_path / folder.name
        submissions.mkdir()
        (submissions / "ann.ipynb").write_text(notebook_text(solution_notebook(assignment)))
        harness.grade(course, submissions, folder.name)
        csv = (course / "results" / f"{folder.name}.csv").read_text()
        row = harness.parse_results(csv)["ann"]
        assert (row.status, row.notes) == ("graded", "")
        assert row.score == row.max_score == assignment.points
        assert row.tasks == {task.id: str(task.total) for task in assignment.tasks}
