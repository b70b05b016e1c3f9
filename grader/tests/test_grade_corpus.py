"""Test the grade command on good, broken, and hostile submissions."""

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

# The sample uses the same parts of the library as real assignments, but grading it takes only a
# fifth of the time.
SAMPLE = harness.JAX_SAMPLE
NAME = SAMPLE.name
MAX_PER_FAMILY = 2
# Students and editors make a mess in many ways, so every fourth such submission is graded.
MESSY_STEP = 4
SECRET, TOKEN = "the secret is 918273645", "token-5551212"


class Graded(NamedTuple):
    """The submissions, the expected results, and the actual ones."""

    course: Path
    expected: dict[str, Expected]
    results: dict[str, harness.Row]
    table: str
    before: dict[str, str]
    after: dict[str, str]
    contacts: list[str]


def _core_filter() -> object:
    """Return a filter for the neighbor, the first core submissions of each family, and messy ones.

    It selects at most one slow submission from each family.
    """
    count: Counter[str] = Counter()

    def is_selected(entry: CorpusEntry) -> bool:
        # Several submissions try to read the neighbor's file.
        if entry.student == corpus.NEIGHBOR:
            return True
        if not entry.core or (entry.slow and count[f"{entry.family}, slow"]):
            return False
        count[entry.family] += 1
        if entry.family == "messy":
            return count["messy"] % MESSY_STEP == 1
        count[f"{entry.family}, slow"] += entry.slow
        return count[entry.family] <= MAX_PER_FAMILY

    return is_selected


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graded]:
    machine = tmp_path_factory.mktemp("machine")
    course, folder, secret = machine / "course", machine / "submissions", machine / "secret.txt"
    listener = harness.Listener()
    harness.run_grader("course", course, "--from", SAMPLE)
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
    expected = corpus.write(folder, read_assignment(SAMPLE), secrets, _core_filter())
    assert secrets.other.exists()
    protected = (folder, secret, course / "assignments", course / "source", course / "release")
    before = corpus.snapshot(*protected)
    harness.grade(
        course, folder, NAME, "-j", "2", *harness.SHORT_LIMITS, env={"CORPUS_TOKEN": TOKEN}
    )
    table = (course / "results" / f"{NAME}.csv").read_text()
    results = harness.restore_student_names(harness.parse_results(table), list(expected))
    yield Graded(
        course, expected, results, table, before, corpus.snapshot(*protected), listener.contacts
    )
    listener.close()


def page_of(course: Path, student: str) -> Path:
    return course / "feedback" / NAME / f"{Submission(student, None).id}.html"


def test_grade_command_gives_expected_results(graded: Graded) -> None:
    assert len(graded.expected) >= 40
    mismatches = []
    for student, expected in graded.expected.items():
        row = graded.results[student]
        page = page_of(graded.course, student)
        output = (page.read_text() if page.exists() else "") + graded.table
        found = expected.mismatches(row.status, row.score, row.notes, output)
        mismatches += [f"{student} ({expected.summary}): {mismatch}" for mismatch in found]
    assert mismatches == []


def test_results_table_has_one_row_per_submission(graded: Graded) -> None:
    assert set(graded.results) == set(graded.expected)
    assert len(graded.table.splitlines()) == len(graded.expected) + 1


def test_results_table_leaves_missing_scores_blank(graded: Graded) -> None:
    for row in graded.results.values():
        is_scored = row.status in ("graded", "flagged", "partial")
        assert (row.score is not None) == is_scored, row
        assert all(bool(points) == is_scored for points in row.tasks.values()), row


def test_every_submission_has_feedback_page(graded: Graded) -> None:
    for student, row in graded.results.items():
        was_run = row.status not in ("unreadable", "failed")
        page = page_of(graded.course, student).read_text()
        assert ("Your notebook, as it ran" in page) == was_run, student


def test_submissions_leave_machine_unchanged(graded: Graded) -> None:
    assert graded.after == graded.before
    assert graded.contacts == []
    assert corpus.stray_files() == []


def test_submissions_leave_no_process(graded: Graded) -> None:
    assert corpus.leftover_processes() == []


def test_gradebook_agrees_with_results_table(graded: Graded) -> None:
    url = f"sqlite:///{graded.course / 'gradebook.db'}"
    with Gradebook(url, graded.course.name) as gradebook:
        stored = {s.student.id: s for s in gradebook.assignment_submissions(NAME)}
        expected = {
            Submission(student, None).id: row
            for student, row in graded.results.items()
            if row.status not in ("unreadable", "failed")
        }
        assert set(stored) == set(expected)
        for student, row in expected.items():
            assert stored[student].score == (row.score or 0.0), student
            assert stored[student].needs_manual_grade == (row.status == "tampered"), student
        assert gradebook.find_assignment(NAME).max_score == row.max_score


def test_grade_command_skips_graded_submissions(graded: Graded) -> None:
    records = sorted((graded.course / "results" / NAME).glob("*.json"))
    times = [path.stat().st_mtime_ns for path in records]
    folder = next(iter(graded.before)).rstrip("/")
    harness.grade(
        graded.course, Path(folder), NAME, *harness.SHORT_LIMITS, env={"CORPUS_TOKEN": TOKEN}
    )
    regraded = [
        path for path, time in zip(records, times, strict=True) if path.stat().st_mtime_ns != time
    ]
    assert [json.loads(path.read_text())["status"] for path in regraded] == []
    assert (graded.course / "results" / f"{NAME}.csv").read_text() == graded.table
