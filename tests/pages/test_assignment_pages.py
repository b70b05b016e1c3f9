"""The pages and records that the book has about its assignments."""

from __future__ import annotations

from pathlib import Path

import nbformat

from book_tools.chapters.setup_cell import setup_cell
from book_tools.pages import assignments as tool

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.parent.name for path in (ROOT / "assignments").glob("*/source.md"))


def test_every_released_notebook_begins_with_the_book_s_setup_cell() -> None:
    assert NAMES
    for name in NAMES:
        notebook = nbformat.read(ROOT / "assignments" / name / f"{name}.ipynb", as_version=4)
        first = next(cell for cell in notebook.cells if cell.cell_type == "code")
        assert first.source == setup_cell(), name


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
    teachers = (ROOT / "reference" / "for-teachers.md").read_text(encoding="utf-8")
    syllabus = teachers.partition("## A syllabus by week")[2].partition("\n## ")[0]
    for chapter in sorted((ROOT / "chapters").glob("*.md")):
        assert f"../chapters/{chapter.stem}.ipynb" in syllabus
    for name in NAMES:
        assert f"`{name}`" in syllabus
