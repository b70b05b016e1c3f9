"""Test the released assignments, the pages about them, and the records of how solutions score."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from jaxbits_grader.judging.expected_values import compared_tests

from book_tools.chapters.setup_cell import setup_cell
from book_tools.pages import assignments as assignment_pages

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.parent.name for path in (ROOT / "assignments").glob("*/source.md"))


def test_released_notebook_starts_with_setup_cell() -> None:
    assert NAMES
    for name in NAMES:
        notebook = nbformat.read(ROOT / "assignments" / name / f"{name}.ipynb", as_version=4)
        first = next(cell for cell in notebook.cells if cell.cell_type == "code")
        assert first.source == setup_cell(), name


def test_assignments_page_follows_order_of_chapters() -> None:
    assignments = assignment_pages.read_assignments()
    assert [assignment.chapter for assignment in assignments] == sorted(
        assignment.chapter for assignment in assignments
    )
    page = assignment_pages.assignments_page()
    for assignment in assignments:
        assert f"## {assignment.title}" in page
        assert f'<a href="../assignments/{assignment.name}.ipynb" download>' in page
        for task in assignment.tasks:
            assert task.rubric.split("`")[0][:40] in page


def test_read_records_gives_solutions_full_points() -> None:
    records = assignment_pages.read_records()
    assert len(records) >= 3
    assert records[0]["jax"].startswith("0.7."), "Colab has jax 0.7"
    full_points = {
        assignment.name: assignment.points for assignment in assignment_pages.read_assignments()
    }
    for record in records:
        assert record["points"] == full_points, (
            f"run: python -m book_tools assignments --elsewhere ({record['jax']})"
        )


def test_page_for_teachers_lists_tests_that_run_together() -> None:
    page = (ROOT / "reference" / "for-teachers.md").read_text("utf8")
    for assignment in assignment_pages.read_assignments():
        for test, reason in assignment.together.items():
            rows = [line for line in page.splitlines() if line.startswith("|")]
            (row,) = [row for row in rows if f"`{test}`" in row]
            assert row.startswith(f"| {assignment.title} |"), test
            assert row.endswith(f"| {reason[0].upper()}{reason[1:]}. |"), test


def test_page_for_teachers_lists_tests_whose_values_are_not_compared_again() -> None:
    page = (ROOT / "reference" / "for-teachers.md").read_text("utf8")
    (line,) = re.findall(
        r"^These tests run in the student's process\..* except in (.+)$", page, re.M
    )
    assert set(re.findall(r"`([\w-]+)`", line)) == {
        test
        for assignment in assignment_pages.read_assignments()
        for test in set(assignment.together) - set(compared_tests(assignment))
    }
