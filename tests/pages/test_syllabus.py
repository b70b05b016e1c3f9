"""Test that the syllabus is complete, names what exists, and respects prerequisites."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from book_tools.pages import syllabus_source
from book_tools.pages.chapter_openings import OpeningError, parse_opening, read_openings
from book_tools.pages.syllabus import syllabus_page

ROOT = Path(__file__).resolve().parents[2]
SYLLABUS = syllabus_source.read_syllabus(ROOT)
OPENINGS = read_openings(ROOT)
VERSIONS = {version.name: version for version in SYLLABUS.versions}


def test_syllabus_respects_prerequisites() -> None:
    assert not list(syllabus_source.find_problems(SYLLABUS, OPENINGS))


def test_assignments_in_syllabus_exist() -> None:
    existing = {path.parent.name for path in (ROOT / "assignments").glob("*/source.md")}
    handed_in = {n for v in SYLLABUS.versions for names in v.hand_in for n in names}
    assert handed_in <= existing
    assert set(SYLLABUS.builds_on) == existing


def test_twelve_weeks_cover_every_chapter_and_assignment() -> None:
    version = VERSIONS["Twelve weeks"]
    read = [stem for name in version.sessions for stem in SYLLABUS.sessions[name].chapters]
    assert sorted(read) == sorted(OPENINGS)
    assert {n for names in version.hand_in for n in names} == set(SYLLABUS.builds_on)


@pytest.mark.parametrize(("name", "weeks"), [("Twelve", 12), ("Eight", 8), ("Six", 6)])
def test_versions_have_promised_number_of_weeks(name: str, weeks: int) -> None:
    assert len(VERSIONS[f"{name} weeks"].sessions) == weeks


@pytest.mark.parametrize("session", SYLLABUS.sessions.values(), ids=lambda session: session.id)
def test_sessions_have_all_parts(session: syllabus_source.Session) -> None:
    assert len(session.outcomes) >= 3
    assert len(session.lab) >= 4
    assert all(minutes > 0 and step.endswith((".", "?")) for minutes, step in session.lab)
    assert all(question.strip().endswith(("?", ".")) for _, question in session.discuss)
    assert session.question.rstrip().endswith("?")
    assert len(session.answer.split()) >= 40
    assert {stem for stem, _ in session.discuss} == set(session.chapters)


def test_every_chapter_has_at_least_two_questions() -> None:
    assert all(len(SYLLABUS.questions(stem)) >= 2 for stem in OPENINGS)


def exercise_headings(stem: str) -> dict[str, str]:
    text = (ROOT / "chapters" / f"{stem}.md").read_text("utf8")
    return dict(re.findall(r"^### (\d+) · (.+)$", text, re.M))


@pytest.mark.parametrize("session", SYLLABUS.sessions.values(), ids=lambda session: session.id)
def test_labs_name_existing_exercises_and_sections(session: syllabus_source.Session) -> None:
    texts = [(ROOT / "chapters" / f"{stem}.md").read_text("utf8") for stem in session.chapters]
    for _, step in session.lab:
        for number, chapter, title in re.findall(
            r"exercise (\d)(?: of chapter (\d+))?, \*([^*]+)\*", step
        ):
            stems = [s for s in session.chapters if not chapter or int(s[:2]) == int(chapter)]
            assert any(exercise_headings(stem).get(number) == title for stem in stems), step
        for title in re.findall(r"\*([^*]+)\*", re.sub(r"\*Predict\*", "", step)):
            assert any(title in text for text in texts), step


def test_subsections_that_assignments_need_exist() -> None:
    for name, parts in SYLLABUS.also_sharp.items():
        # The page names the chapter of the first one only.
        assert len({stem for stem, _ in parts}) == 1, name
        for stem, title in parts:
            text = (ROOT / "chapters" / f"{stem}.md").read_text("utf8")
            assert f"\n### {title}\n" in text.split("\n## Also sharp\n")[1], (name, title)


def test_find_problems_reports_subsection_of_another_chapter() -> None:
    changed = {"pure-functions": (("09-nans", "Refs"),)}
    found = problems(dataclasses.replace(SYLLABUS, also_sharp=changed))
    assert "pure-functions needs 'Refs' in 09-nans, but does not build on this chapter" in found


def changed_version(**changes: object) -> syllabus_source.Syllabus:
    """Return the syllabus with only the six-week version, changed."""
    version = dataclasses.replace(VERSIONS["Six weeks"], **changes)  # type: ignore[arg-type]
    return dataclasses.replace(SYLLABUS, versions=(version,))


def problems(syllabus: syllabus_source.Syllabus) -> str:
    return "\n".join(syllabus_source.find_problems(syllabus, OPENINGS))


def test_find_problems_reports_chapter_before_its_prerequisite() -> None:
    sessions = ("state", "tracing", *VERSIONS["Six weeks"].sessions[2:])
    found = problems(changed_version(sessions=sessions))
    assert "week 1: 02-pure-functions needs 01-tracing, which comes later" in found


def test_find_problems_reports_late_training() -> None:
    names = VERSIONS["Six weeks"].sessions
    found = problems(changed_version(sessions=(*names[:2], *names[3:5], names[2], names[5])))
    assert "no model is trained in the first three weeks" in found


def test_find_problems_reports_assignment_before_its_chapter() -> None:
    hand_in = (("pure-functions",), (), (), (), (), ())
    found = problems(changed_version(hand_in=hand_in))
    assert "week 1: pure-functions needs 02-pure-functions" in found


def test_parse_syllabus_reports_missing_part() -> None:
    text = (ROOT / syllabus_source.SOURCE).read_text("utf8")
    with pytest.raises(syllabus_source.SyllabusError, match="'tracing' has no title"):
        syllabus_source.parse_syllabus(text.replace('title = "What jit', '# title = "What jit', 1))


def test_parse_syllabus_reports_lab_of_wrong_length() -> None:
    text = (ROOT / syllabus_source.SOURCE).read_text("utf8")
    with pytest.raises(syllabus_source.SyllabusError, match="must take 90 minutes, got 95"):
        syllabus_source.parse_syllabus(text.replace("  [10, ", "  [15, ", 1))


@pytest.mark.parametrize(
    ("time", "minutes"),
    [
        (
            "an hour for the main part, half an hour for A, and half an hour for B.",
            [60, 30, 30],
        ),
        ("about an hour for A, another hour for B, and 30 minutes for C.", [60, 60, 30]),
        ("80 minutes, plus 50 minutes for the exercises.", [80, 0, 50]),
    ],
)
def test_parse_opening_reads_times(time: str, minutes: list[int]) -> None:
    opening = parse_opening(f"**You need** [this](03-immutable-arrays.ipynb). **Time**: {time}")
    assert [opening.reading, opening.also_sharp, opening.exercises] == minutes
    assert opening.needs == ("03-immutable-arrays",)


def test_parse_opening_reports_missing_time() -> None:
    with pytest.raises(OpeningError, match=r"You need"):
        parse_opening("# A chapter\n\nIt has no opening.")


def test_page_contains_every_part() -> None:
    page = syllabus_page(ROOT)
    assert page.count("*Answer:*") == len(SYLLABUS.sessions)
    for version in SYLLABUS.versions:
        assert f"\n## {version.name}\n" in page
    teachers = (ROOT / "reference" / "for-teachers.md").read_text("utf8")
    assert "(syllabus.md)" in teachers
