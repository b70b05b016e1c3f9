"""Check that every chapter has an opening, a summary, and exercises with solutions and hints."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest
from chapter_sections import STEMS, read_sections

from book_tools.chapters.chapter_files import CHAPTERS, ChapterFiles
from book_tools.chapters.solutions import insert_solutions
from jaxbits.book.exercises import all_exercises


def markdown(stem: str, heading: str) -> str:
    """Return the Markdown text of all sections with the given heading."""
    return "\n".join(
        cell.source
        for section in read_sections(stem)
        for cell in section.cells
        if cell.cell_type == "markdown" and heading == section.heading
    )


def exercises_code(stem: str) -> str:
    """Return the code of the Exercises section."""
    return next(s for s in read_sections(stem) if s.heading == "Exercises").code


def opening_problems(stem: str) -> Iterator[str]:
    """Yield a message for each part that is missing from the opening of a chapter."""
    opening = markdown(stem, "")
    if "**In one minute**" in opening:
        if not re.search(r"\*\*You need\*\* .+ \*\*Time\*\*: ", opening):
            yield "the opening must say what the reader needs and how long the chapter takes"
        return
    for label in ("**What you will see**", "**What you need**", "**How long it takes**"):
        if label not in opening:
            yield f"the opening has no {label}"


def summary_problems(stem: str) -> Iterator[str]:
    """Yield a message for each part that is missing from the summary at the end of a chapter."""
    if read_sections(stem)[-1].heading != "What you have seen":
        yield "the last section must be 'What you have seen'"
    summary = markdown(stem, "What you have seen")
    for part in ("| Sharp bit | What you notice | Fix | Guard |", "**Where to go next.**"):
        if part not in summary:
            yield f"the summary has no {part}"


def exercise_problems(stem: str) -> Iterator[str]:
    """Yield a message for each difference between the exercise cells and the library."""
    code = exercises_code(stem)
    checked = re.findall(r'check\("([^"]+)", (\w+)\)', code)
    if not 2 <= len(checked) <= 5:
        yield f"the chapter must have 2 to 5 exercises, got {len(checked)}"
    stubs = {
        node.name: [argument.arg for argument in node.args.args]
        for node in ast.parse(code).body
        if isinstance(node, ast.FunctionDef)
    }
    for id, name in checked:
        stub = all_exercises()[id].stub
        if stub.__name__ != name or stubs.get(name) != list(inspect.signature(stub).parameters):
            yield f"{id}: the cell must define and check the library's stub {stub.__name__}"


def solution_problems(stem: str) -> Iterator[str]:
    """Yield a message for each difference between the folded solutions and the library."""
    text = (CHAPTERS / f"{stem}.md").read_text(encoding="utf-8")
    folded, checks = text.count('<details class="solution">'), exercises_code(stem).count('check("')
    if folded != checks:
        yield f"there are {folded} folded solutions for {checks} exercises"
    if insert_solutions(ChapterFiles(CHAPTERS / f"{stem}.md")) != text:
        yield "the solutions differ from those in the library; run: make solutions"


def hint_problems(stem: str) -> Iterator[str]:
    """Yield a message for each import or example call for hints that the chapter lacks."""
    code = "\n".join(section.code for section in read_sections(stem))
    imports = re.findall(r"^from jaxbits import (\([^)]*\)|.*)$", code, re.M)
    imported_names = set(re.findall(r"\w+", " ".join(imports)))
    for name in ("check", "hint", "solution"):
        if name not in imported_names:
            yield f"no cell imports {name}"
    first_exercise = re.findall(r'check\("([^"]+)"', code)[0]
    for call in (f'`hint("{first_exercise}")`', f'`solution("{first_exercise}")`'):
        if call not in markdown(stem, "Exercises"):
            yield f"the text does not mention {call}"


PARTS = [opening_problems, summary_problems, exercise_problems, solution_problems, hint_problems]


@pytest.mark.parametrize("stem", STEMS)
def test_chapter_has_all_parts(stem):
    problems = [problem for part in PARTS for problem in part(stem)]
    assert not problems, "\n".join(problems)


def test_chapters_check_exactly_library_exercises():
    text = "\n".join(section.code for stem in STEMS for section in read_sections(stem))
    assert set(re.findall(r'check\("([^"]+)"', text)) == set(all_exercises())
