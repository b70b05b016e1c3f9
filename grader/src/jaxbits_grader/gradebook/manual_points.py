"""Read, apply, and set points that a person enters by hand in nbgrader's gradebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nbgrader.api import Gradebook

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.grade_records import SCORED_STATUSES, CellPoints, GradeRecord
from jaxbits_grader.gradebook.course import Course


def read_manual_points(course: Course, assignment: Assignment) -> dict[str, dict[str, float]]:
    """Return the points entered by hand for an assignment.

    Args:
        course: The course.
        assignment: The assignment.

    Returns:
        A dictionary that maps each student's id in the gradebook to the student's points, keyed by
        test cell. It omits students for whom no points were entered by hand.

    Raises:
        nbgrader.api.MissingEntry: If the gradebook does not contain the assignment.
    """
    found: dict[str, dict[str, float]] = {}
    with Gradebook(course.db_url, course.name) as gradebook:
        for submission in gradebook.assignment_submissions(assignment.name):
            points = {
                grade.name: float(grade.manual_score)
                for notebook in submission.notebooks
                for grade in notebook.grades
                if grade.manual_score is not None
            }
            if points:
                found[submission.student.id] = points
    return found


def apply_manual_points(
    record: GradeRecord, manual: Mapping[str, float], max_points: Mapping[str, float]
) -> GradeRecord:
    """Return a record in which points entered by hand replace the grader's points.

    A submission without a score gets one only when points have been entered for all its tests. If
    the grader would give more, for example for a better version, the note says so.

    Args:
        record: The record that the grader wrote.
        manual: The points entered by hand, keyed by test cell. Tests that the assignment no longer
            has are ignored.
        max_points: The maximum number of points, keyed by test cell.
    """
    manual = {id: points for id, points in manual.items() if id in max_points}
    if not manual:
        return record
    found = {cell.id: cell.points or 0.0 for cell in record.cells}
    has_score = record.status in SCORED_STATUSES
    names = (
        f"{id} (the grader would give {found[id]:g})"
        if has_score and found.get(id, 0.0) > manual[id]
        else id
        for id in max_points
        if id in manual
    )
    note = f"points entered by hand: {', '.join(names)}"
    if not has_score:
        if len(manual) < len(max_points):
            return replace(record, notes=(note, *record.notes))
        cells = tuple(CellPoints(id, manual[id], most) for id, most in max_points.items())
        notes = (note, f"was {record.status}", *record.notes)
        return replace(record, status="flagged", cells=cells, notes=notes)
    cells = tuple(
        replace(cell, points=manual[cell.id]) if cell.id in manual else cell
        for cell in record.cells
    )
    return replace(record, cells=cells, notes=(note, *record.notes))


def set_manual_points(
    course: Course, assignment: Assignment, student: str, tests: Sequence[str], points: float | None
) -> None:
    """Enter the same points for test cells by hand. Regrading does not change them.

    Args:
        course: The course.
        assignment: The assignment.
        student: The student's id in the gradebook.
        tests: The grade_ids of the test cells.
        points: The number of points, or None to remove points that were entered earlier.

    Raises:
        ValueError: If a test does not exist, or if the points are out of range for one of them. In
            either case, no points are entered.
    """
    most = assignment.test_points
    for test in tests:
        if test not in most:
            choices = ", ".join(map(repr, most))
            raise ValueError(f"test must be 'all' or one of {choices}; got {test!r}")
        if points is not None and not 0 <= points <= most[test]:
            raise ValueError(
                f"points must be between 0 and {most[test]} for {test!r}, got {points:g}"
            )
    with Gradebook(course.db_url, course.name) as gradebook:
        gradebook.update_or_create_student(student)
        # nbgrader adds parts of a new submission one by one, and SQLAlchemy warns about each part
        # that it would store too early.
        with gradebook.db.no_autoflush:
            gradebook.update_or_create_submission(assignment.name, student)
        for test in tests:
            grade = gradebook.find_grade(test, assignment.name, assignment.name, student)
            grade.manual_score = points
            grade.needs_manual_grade = False
        gradebook.db.commit()
