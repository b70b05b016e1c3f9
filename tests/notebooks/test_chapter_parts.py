"""What every chapter has: its opening, exercises that are those of the library, its summary."""

from __future__ import annotations

import ast
import inspect
import re

import pytest
from notebooks.stored import STEMS, sections
from pairs import CHAPTERS, Pair
from solutions import with_solutions

from jaxbits.book.exercises import all_exercises


def markdown(stem, heading):
    return "\n".join(
        cell.source
        for section in sections(stem)
        for cell in section.cells
        if cell.cell_type == "markdown" and heading == section.heading
    )


@pytest.mark.parametrize("stem", STEMS)
def test_a_chapter_opens_with_what_it_shows_needs_and_takes(stem):
    opening = markdown(stem, "")
    if "**In one minute**" in opening:
        assert re.search(r"\*\*You need\*\* .+ \*\*Time\*\*: ", opening)
        return
    for promise in ("**What you will see**", "**What you need**", "**How long it takes**"):
        assert promise in opening


@pytest.mark.parametrize("stem", STEMS)
def test_a_chapter_ends_with_its_summary_and_where_to_go(stem):
    assert sections(stem)[-1].heading == "What you have seen"
    summary = markdown(stem, "What you have seen")
    assert "| Sharp bit | What you notice | Fix | Guard |" in summary
    assert "**Where to go next.**" in summary


@pytest.mark.parametrize("stem", STEMS)
def test_a_chapter_has_two_to_five_exercises_and_they_are_handed_out_unsolved(stem):
    code = next(s for s in sections(stem) if s.heading == "Exercises").code
    checked = re.findall(r'check\("([^"]+)", (\w+)\)', code)
    assert 2 <= len(checked) <= 5
    stubs = {
        node.name: [argument.arg for argument in node.args.args]
        for node in ast.parse(code).body
        if isinstance(node, ast.FunctionDef)
    }
    for id, name in checked:
        task = all_exercises()[id]
        assert task.stub.__name__ == name
        assert stubs[name] == list(inspect.signature(task.stub).parameters)


@pytest.mark.parametrize("stem", STEMS)
def test_the_folded_solutions_are_those_of_the_library(stem):
    text = (CHAPTERS / f"{stem}.md").read_text(encoding="utf-8")
    section = next(s for s in sections(stem) if s.heading == "Exercises")
    assert text.count('<details class="solution">') == section.code.count('check("')
    assert with_solutions(Pair(CHAPTERS / f"{stem}.md")) == text, "run: make solutions"


@pytest.mark.parametrize("stem", STEMS)
def test_hint_and_solution_are_imported_and_mentioned(stem):
    code = "\n".join(section.code for section in sections(stem))
    imported = re.findall(r"^from jaxbits import (.*)$", code, re.M)
    assert {"check", "hint", "solution"} <= set(", ".join(imported).split(", "))
    opening = markdown(stem, "Exercises")
    (first, *_) = re.findall(r'check\("([^"]+)"', code)
    assert f'`hint("{first}")`' in opening
    assert f'`solution("{first}")`' in opening


def test_every_exercise_is_in_a_chapter():
    text = "\n".join(section.code for stem in STEMS for section in sections(stem))
    assert set(re.findall(r'check\("([^"]+)"', text)) == set(all_exercises())
