"""The pages that students get back: written by the grader, and anew when a person gives points."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment_source import Assignment
from jaxbits_grader.files import write_file
from jaxbits_grader.gradebook.course import Course
from jaxbits_grader.reporting import feedback
from jaxbits_grader.reporting.grade_records import Record


def of(course: Course, assignment: Assignment, student: str) -> Path:
    """Where the page of a student is, who is called as the gradebook does."""
    return course.feedback(assignment.name) / f"{student}.html"


def write(
    course: Course, assignment: Assignment, student: str, record: Record, ran: NotebookNode | None
) -> None:
    """Write a student's page, and keep what it takes to write it anew.

    Args:
        course: the course.
        assignment: the assignment.
        student: the student, as the gradebook calls them.
        record: what grading found.
        ran: the student's notebook, run without hidden tests; None where none could be run.
    """
    notebook = ran or nbformat.v4.new_notebook()
    _by_hand(course, assignment, student).unlink(missing_ok=True)
    write_file(_ran(course, assignment, student), json.dumps(notebook))
    write_file(of(course, assignment, student), feedback.page(assignment, record, notebook))


def bring_up_to_date(
    course: Course,
    assignment: Assignment,
    student: str,
    record: Record,
    given: Mapping[str, float],
) -> None:
    """Write a student's page anew if the points that a person gave are not those it shows.

    Args:
        course: the course.
        assignment: the assignment.
        student: the student, as the gradebook calls them.
        record: what grading found, with the points by hand.
        given: the points by hand, by test cell.
    """
    shown = _by_hand(course, assignment, student)
    page = of(course, assignment, student)
    failed = record.status == "failed"
    now = record.notes[0] if failed else json.dumps(given, sort_keys=True)
    if not page.exists() or now != (shown.read_text() if shown.exists() else "{}"):
        ran = nbformat.v4.new_notebook()
        # An earlier run would tell of another submission; it stays for when this one is graded.
        with contextlib.suppress(OSError, ValueError):
            if not failed:
                ran = nbformat.from_dict(json.loads(_ran(course, assignment, student).read_text()))
        write_file(page, feedback.page(assignment, record, ran))
        write_file(shown, now)


def _ran(course: Course, assignment: Assignment, student: str) -> Path:
    return course.results(assignment.name) / f"{student}.ran"


def _by_hand(course: Course, assignment: Assignment, student: str) -> Path:
    return course.results(assignment.name) / f"{student}.by-hand"
