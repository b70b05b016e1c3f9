"""Every assignment: its tests take what is right, refuse what is wrong, and give nothing away."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from classroom import hall

from book_tools.chapters.setup_cell import setup_cell
from book_tools.pages import assignments as tool
from jaxbits.classroom import answers, release, source, variant
from jaxbits.classroom.notebooks import text
from jaxbits.classroom.prove import WRONG_ANSWERS, prove
from jaxbits.classroom.source import SOURCE, marks

FOLDERS = source.find(hall.ASSIGNMENTS)
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


def test_there_is_one_for_each_topic() -> None:
    assert {folder.name for folder in FOLDERS} == TOPICS


@each
def test_solutions_get_full_marks_stubs_none_and_wrong_answers_fail(folder: Path) -> None:
    tried = prove(folder)
    assert [one.line() for one in tried if one.problem] == []
    assignment = source.read(folder)
    for task in assignment.tasks:
        of_task = [one for one in tried if one.task == task.id]
        (solution,) = [one for one in of_task if one.kind == "solution"]
        (stub,) = [one for one in of_task if one.kind == "stub"]
        assert (solution.points, stub.points) == (task.total, 0)
        assert sum(one.kind == "wrong" for one in of_task) >= WRONG_ANSWERS


@each
def test_other_numbers_are_really_other_and_the_source_stays_whole(folder: Path) -> None:
    given = (folder / SOURCE).read_text(encoding="utf-8")
    assert variant.ranges(given) >= 2 * len(source.read(folder).tasks)
    drawn = [variant.vary(given, seed) for seed in range(5)]
    assert len({*drawn, given}) == 6
    for varied in drawn:
        assignment = source.parse(varied, folder.name)
        assert release.leaks(assignment, release.student(assignment)) == []


@each
def test_the_released_notebook_is_as_its_source_says(folder: Path) -> None:
    assignment = source.read(folder)
    stored = (folder / f"{folder.name}.ipynb").read_text(encoding="utf-8")
    assert stored == text(release.student(assignment)), "run: make assignments"


@each
def test_nothing_of_solutions_or_hidden_tests_is_in_the_release(folder: Path) -> None:
    assignment = source.read(folder)
    notebook = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    assert release.leaks(assignment, notebook) == []
    whole = json.dumps(notebook)
    for cell in assignment.notebook.cells:
        for part in release.hidden(variant.without_ranges(cell.source)):
            assert json.dumps(part.strip())[1:-1] not in whole
    for answer in answers.read(folder, assignment):
        assert json.dumps(answer.source)[1:-1] not in whole


@each
def test_a_student_can_run_it_anywhere(folder: Path) -> None:
    notebook = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert first.source == setup_cell()
    for cell in notebook.cells:
        mark = marks(cell)
        if mark:
            assert cell.id == mark["grade_id"]
        assert ":::" not in cell.source, "Colab shows MyST directives raw"
        assert "{" + "code-cell}" not in cell.source


@each
def test_every_test_shows_something_and_hides_something(folder: Path) -> None:
    assignment = source.read(folder)
    for task in assignment.tasks:
        for id in task.points:
            cell = assignment.cell(id).source
            assert release.hidden(cell), f"{id} has no hidden tests"
            visible = release.shown(cell)
            assert "expect." in visible or "assert" in visible, f"{id} shows no test"


def test_the_page_lists_them_in_the_order_of_the_chapters() -> None:
    found = tool.read_assignments()
    assert [one.chapter for one in found] == sorted(one.chapter for one in found)
    page = tool.assignments_page()
    for one in found:
        assert f"## {one.title}" in page
        assert f'<a href="../assignments/{one.name}.ipynb" download>' in page
        for task in one.tasks:
            assert task.rubric.split("`")[0][:40] in page


def test_solutions_have_full_marks_in_every_environment() -> None:
    found = tool.read_records()
    assert len(found) >= 3
    assert found[0]["jax"].startswith("0.7."), "Colab's own packages are among them"
    wanted = {one.name: one.points for one in tool.read_assignments()}
    for record in found:
        assert record["points"] == wanted, (
            f"run: python -m book_tools assignments --elsewhere ({record['jax']})"
        )


def test_the_syllabus_names_every_chapter_and_every_assignment() -> None:
    teachers = (hall.ROOT / "reference" / "for-teachers.md").read_text(encoding="utf-8")
    syllabus = teachers.partition("## A syllabus by week")[2].partition("\n## ")[0]
    for chapter in sorted((hall.ROOT / "chapters").glob("*.md")):
        assert f"../chapters/{chapter.stem}.ipynb" in syllabus
    for name in TOPICS:
        assert f"`{name}`" in syllabus


@hall.needs_sandbox
def test_the_real_grader_gives_solutions_full_marks(tmp_path: Path) -> None:
    """One that switches 64 bits on, one with PyTorch and Flax; the corpus answers another."""
    course = tmp_path / "course"
    hall.call("course", course, "--from", hall.ASSIGNMENTS)
    for folder in (hall.ASSIGNMENTS / "precision", hall.ASSIGNMENTS / "xor-classifier"):
        assignment = source.read(folder)
        handed_in = tmp_path / folder.name
        handed_in.mkdir()
        (handed_in / "ann.ipynb").write_text(text(release.solution(assignment)))
        hall.grade(course, handed_in, folder.name)
        csv = (course / "results" / f"{folder.name}.csv").read_text()
        row = hall.rows(csv)["ann"]
        assert (row.status, row.notes) == ("graded", "")
        assert row.score == row.max_score == assignment.points
        assert row.tasks == {task.id: str(task.total) for task in assignment.tasks}
