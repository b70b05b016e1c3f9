"""Write feedback pages, and update them after a person has entered points by hand."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.files import write_atomically
from jaxbits_grader.grade_records import GradeRecord
from jaxbits_grader.gradebook.course import Course
from jaxbits_grader.reporting.feedback.page import render_page


def page_path(course: Course, assignment: Assignment, student: str) -> Path:
    """Return the path of a student's feedback page.

    Args:
        course: The course.
        assignment: The assignment.
        student: The student's id in the gradebook.
    """
    return course.feedback(assignment.name) / f"{student}.html"


def write_page(
    course: Course,
    assignment: Assignment,
    student: str,
    record: GradeRecord,
    executed: NotebookNode | None,
) -> None:
    """Write a student's feedback page, and store the notebook so that the page can be rewritten.

    Args:
        course: The course.
        assignment: The assignment.
        student: The student's id in the gradebook.
        record: The result of grading the student's submission.
        executed: The notebook, executed without hidden tests, or None if it could not be run.
    """
    notebook = executed or nbformat.v4.new_notebook()
    _state_path(course, assignment, student).unlink(missing_ok=True)
    write_atomically(_executed_path(course, assignment, student), json.dumps(notebook))
    page = render_page(assignment, record, notebook)
    write_atomically(page_path(course, assignment, student), page)


def update_page(
    course: Course,
    assignment: Assignment,
    student: str,
    record: GradeRecord,
    manual: Mapping[str, float],
) -> None:
    """Rewrite a student's feedback page if it does not show the current result.

    A page becomes outdated if a person changes the points entered by hand, or if grading fails
    after the page was written.

    Args:
        course: The course.
        assignment: The assignment.
        student: The student's id in the gradebook.
        record: The result of grading, including the points entered by hand.
        manual: The points entered by hand, keyed by test cell.
    """
    state_path = _state_path(course, assignment, student)
    page = page_path(course, assignment, student)
    has_failed = record.status == "failed"
    state = record.notes[0] if has_failed else json.dumps(manual, sort_keys=True)
    if page.exists() and state == (state_path.read_text() if state_path.exists() else "{}"):
        return
    executed = nbformat.v4.new_notebook()
    # If grading failed, do not show the stored notebook, because it may come from an earlier
    # submission.
    with contextlib.suppress(OSError, ValueError):
        if not has_failed:
            stored = _executed_path(course, assignment, student).read_text()
            executed = nbformat.from_dict(json.loads(stored))
    write_atomically(page, render_page(assignment, record, executed))
    write_atomically(state_path, state)


def _executed_path(course: Course, assignment: Assignment, student: str) -> Path:
    return course.results(assignment.name) / f"{student}.ran"


def _state_path(course: Course, assignment: Assignment, student: str) -> Path:
    return course.results(assignment.name) / f"{student}.by-hand"
