"""Marks that a person gave, in nbgrader's gradebook and in the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nbgrader.api import Gradebook

from jaxbits_grader.authoring.assignment_source import Assignment
from jaxbits_grader.gradebook.course import Course
from jaxbits_grader.reporting.grade_records import SCORED, Mark, Record


def by_hand(course: Course, assignment: Assignment) -> dict[str, dict[str, float]]:
    """The points that a person gave, by student (as the gradebook calls them) and test cell.

    Raises:
        nbgrader.api.MissingEntry: when the gradebook does not have the assignment.
    """
    with Gradebook(course.db_url, course.name) as gradebook:
        return {
            submission.student.id: given
            for submission in gradebook.assignment_submissions(assignment.name)
            if (
                given := {
                    grade.name: float(grade.manual_score)
                    for notebook in submission.notebooks
                    for grade in notebook.grades
                    if grade.manual_score is not None
                }
            )
        }


def with_marks_by_hand(
    record: Record, given: Mapping[str, float], points: Mapping[str, float]
) -> Record:
    """A record with the points that a person gave in place of those found.

    A submission without a mark that stands gets one when all its tests are marked.

    Args:
        record: what grading found.
        given: the points by hand, by test cell.
        points: the points to be had, by test cell.
    """
    # A test that the assignment no longer has counts for nothing.
    given = {id: value for id, value in given.items() if id in points}
    if not given:
        return record
    note = f"marked by hand: {', '.join(id for id in points if id in given)}"
    if record.status not in SCORED:
        if len(given) < len(points):
            return replace(record, notes=(note, *record.notes))
        marks = tuple(Mark(id, given[id], of) for id, of in points.items())
        notes = (note, f"was {record.status}", *record.notes)
        return replace(record, status="flagged", marks=marks, notes=notes)
    found = {mark.id: mark for mark in record.marks}
    marks = tuple(
        replace(mark, points=given[id]) if id in given else mark for id, mark in found.items()
    )
    return replace(record, marks=marks, notes=(note, *record.notes))


def mark(
    course: Course, assignment: Assignment, student: str, test: str, points: float | None
) -> None:
    """Give a student points for a test cell, whatever grading found; regrading keeps them.

    Args:
        course: the course.
        assignment: the assignment.
        student: the student, as the gradebook calls them.
        test: the test cell's id.
        points: the points; None takes a mark by hand back.

    Raises:
        ValueError: when there is no such test, or not so many points to be had.
    """
    most = {id: of for task in assignment.tasks for id, of in task.points.items()}
    if test not in most:
        raise ValueError(f"test: {assignment.name} has no {test!r}; it has: {', '.join(most)}")
    if points is not None and not 0 <= points <= most[test]:
        raise ValueError(f"points: {points:g} is not between 0 and {most[test]}, what {test} gives")
    with Gradebook(course.db_url, course.name) as gradebook:
        gradebook.update_or_create_student(student)
        gradebook.update_or_create_submission(assignment.name, student)
        grade = gradebook.find_grade(test, assignment.name, assignment.name, student)
        grade.manual_score = points
        grade.needs_manual_grade = False
        gradebook.db.commit()
