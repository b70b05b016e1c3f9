"""Grade good, broken, and hostile submissions with the command that a teacher uses."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import corpus
import grading_harness as harness
import pytest
from corpus.expected import Expected
from corpus.expected import Submission as CorpusEntry
from jaxbits_grader.authoring.assignment_source import read_assignment
from jaxbits_grader.intake.submissions import Submission
from nbgrader.api import Gradebook

pytestmark = harness.needs_sandbox

# It uses what real assignments use, but takes a fifth of the time to grade.
SAMPLE = harness.JAX_SAMPLE
NAME = SAMPLE.name
OF_EACH_FAMILY = 2
SECRET, TOKEN = "the secret is 918273645", "token-5551212"


class Graded(NamedTuple):
    """The submissions, the expected results, and the actual ones."""

    course: Path
    expected: dict[str, Expected]
    results: dict[str, harness.Row]
    text: str
    before: dict[str, str]
    after: dict[str, str]
    heard: list[str]


def _some() -> object:
    """Select the first core submissions of each family, and one that is slow."""
    count: Counter[str] = Counter()

    def only(entry: CorpusEntry) -> bool:
        if not entry.core or (entry.slow and count[f"{entry.family}, slow"]):
            return False
        count[entry.family] += 1
        count[f"{entry.family}, slow"] += entry.slow
        return count[entry.family] <= OF_EACH_FAMILY or entry.student == corpus.NEIGHBOR

    return only


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graded]:
    place = tmp_path_factory.mktemp("hall")
    course, folder, secret = place / "course", place / "submissions", place / "secret.txt"
    listener = harness.Listener()
    harness.call("course", course, "--from", SAMPLE)
    secret.write_text(SECRET)
    secrets = corpus.Secrets(
        course=course,
        gradebook=course / "gradebook.db",
        other=folder / f"{corpus.NEIGHBOR}.ipynb",
        other_text="a neighbor's own words 4711",
        file=secret,
        text=SECRET,
        variable="CORPUS_TOKEN",
        value=TOKEN,
        port=listener.port,
        submissions=folder,
    )
    expected = corpus.write(folder, read_assignment(SAMPLE), secrets, _some())
    untouched = (folder, secret, course / "assignments", course / "source", course / "release")
    before = corpus.snapshot(*untouched)
    harness.grade(course, folder, NAME, "-j", "2", *harness.SHORT, env={"CORPUS_TOKEN": TOKEN})
    text = (course / "results" / f"{NAME}.csv").read_text()
    results = harness.of_students(harness.rows(text), list(expected))
    yield Graded(
        course, expected, results, text, before, corpus.snapshot(*untouched), listener.heard
    )
    listener.close()


def page_of(course: Path, student: str) -> Path:
    return course / "feedback" / NAME / f"{Submission(student, None).id}.html"


def test_every_submission_gets_the_expected_result(graded: Graded) -> None:
    assert len(graded.expected) >= 40
    complaints = []
    for student, expected in graded.expected.items():
        row = graded.results[student]
        page = page_of(graded.course, student)
        shown = (page.read_text() if page.exists() else "") + graded.text
        found = expected.complaints(row.status, row.score, row.notes, shown)
        complaints += [f"{student} ({expected.what}): {complaint}" for complaint in found]
    assert complaints == []


def test_every_submission_has_one_line(graded: Graded) -> None:
    assert set(graded.results) == set(graded.expected)
    assert len(graded.text.splitlines()) == len(graded.expected) + 1


def test_missing_scores_do_not_look_like_zeros(graded: Graded) -> None:
    for row in graded.results.values():
        scored = row.status in ("graded", "flagged", "partial")
        assert (row.score is not None) == scored, row
        assert all(bool(points) == scored for points in row.tasks.values()), row


def test_every_submission_has_a_page(graded: Graded) -> None:
    for student, row in graded.results.items():
        ran = row.status not in ("unreadable", "failed")
        page = page_of(graded.course, student).read_text()
        assert ("Your notebook, as it ran" in page) == ran, student


def test_the_machine_is_unchanged(graded: Graded) -> None:
    assert graded.after == graded.before
    assert graded.heard == []
    assert corpus.strays() == []


def test_no_process_is_left_behind(graded: Graded) -> None:
    assert corpus.left_behind() == []


def test_the_gradebook_agrees_with_the_results(graded: Graded) -> None:
    url = f"sqlite:///{graded.course / 'gradebook.db'}"
    with Gradebook(url, graded.course.name) as gradebook:
        kept = {s.student.id: s for s in gradebook.assignment_submissions(NAME)}
        wanted = {
            Submission(student, None).id: row
            for student, row in graded.results.items()
            if row.status not in ("unreadable", "failed")
        }
        assert set(kept) == set(wanted)
        for student, row in wanted.items():
            assert kept[student].score == (row.score or 0.0), student
            assert kept[student].needs_manual_grade == (row.status == "tampered"), student
        assert gradebook.find_assignment(NAME).max_score == row.max_score


def test_what_was_graded_is_not_graded_again(graded: Graded) -> None:
    records = sorted((graded.course / "results" / NAME).glob("*.json"))
    times = [path.stat().st_mtime_ns for path in records]
    folder = next(iter(graded.before)).rstrip("/")
    harness.grade(graded.course, Path(folder), NAME, *harness.SHORT, env={"CORPUS_TOKEN": TOKEN})
    again = [
        path for path, time in zip(records, times, strict=True) if path.stat().st_mtime_ns != time
    ]
    assert [json.loads(path.read_text())["status"] for path in again] == []
    assert (graded.course / "results" / f"{NAME}.csv").read_text() == graded.text
