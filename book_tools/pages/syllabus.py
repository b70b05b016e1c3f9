"""Generate the page *Syllabus* from ``reference/syllabus.toml`` and the chapters' openings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from book_tools.pages.chapter_openings import read_openings
from book_tools.pages.html_utils import chapter_titles
from book_tools.pages.render import render_page
from book_tools.pages.syllabus_source import SyllabusError, find_problems, read_syllabus
from book_tools.project_metadata import ROOT

PROJECT_PAGE = "reference/final-project.md"


def syllabus_page(root: Path = ROOT) -> str:
    """Return the page as Markdown.

    Raises:
        SyllabusError: If a prerequisite is not respected or a part is missing.
    """
    syllabus, openings = read_syllabus(root), read_openings(root)
    if problems := list(find_problems(syllabus, openings)):
        raise SyllabusError("; ".join(problems))
    return render_page(
        "syllabus.md",
        syllabus=syllabus,
        openings=openings,
        titles=chapter_titles(root),
        reading={
            name: sum(openings[stem].reading for stem in session.chapters)
            for name, session in syllabus.sessions.items()
        },
        project="[final project](final-project.md)"
        if (root / PROJECT_PAGE).exists()
        else "final project",
        choices=_choices,
        numbers={name: number for number, name in enumerate(syllabus.sessions, 1)},
    )


def _choices(names: Sequence[str]) -> str:
    """Return the names of assignments as Markdown, joined by "or"."""
    return " or ".join(f"`{name}`" for name in names)
