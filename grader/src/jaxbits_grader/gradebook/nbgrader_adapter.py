"""nbgrader's autograding of one student, with our way to run the notebook put into it.

One process grades one student: what the run needs and what it found is in `CURRENT`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
)
from traitlets.config import Config

from jaxbits_grader.authoring.assignment_source import Assignment, marks
from jaxbits_grader.checking.hidden_test_run import Graded, run
from jaxbits_grader.files import write_file
from jaxbits_grader.gradebook import course as course_of
from jaxbits_grader.gradebook import manual_points as gradebook
from jaxbits_grader.gradebook.course import Course
from jaxbits_grader.notebook_io import text
from jaxbits_grader.running.kernel_client import NotStarted
from jaxbits_grader.running.limits import Limits


class GraderFailed(RuntimeError):
    """nbgrader did not get through; the message is its own."""


@dataclass
class _Current:
    assignment: Assignment
    limits: Limits
    unsafe: bool
    graded: Graded | None = None
    failed: str | None = None


CURRENT: list[_Current] = []


class GradedRun(NbGraderPreprocessor):  # type: ignore[misc]
    """Runs the notebook in place of nbgrader's `Execute`, and leaves the verdicts as outputs.

    A test cell ends with an error or with nothing, which is all that nbgrader reads from it.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Run the notebook."""
        current = CURRENT[-1]
        try:
            current.graded = run(nb, current.assignment, current.limits, unsafe=current.unsafe)
        except NotStarted as reason:
            current.failed = str(reason)
            raise
        marked = {mark.id: mark for mark in current.graded.marks}
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
            mark = marked.get(marks(cell).get("grade_id", ""))
            if mark is not None and not mark.points:
                says = mark.says or ("not run" if mark.points is None else "a test failed")
                cell.outputs = [
                    nbformat.v4.new_output("error", ename="NoPoints", evalue=says, traceback=[says])
                ]
        return nb, resources


def _config(submitted: Path) -> Config:
    config = Config()
    config.CourseDirectory.submitted_directory = str(submitted)
    config.Autograde.sanitize_preprocessors = [
        OverwriteKernelspec,
        OverwriteCells,
        CheckCellMetadata,
    ]
    config.Autograde.autograde_preprocessors = [
        GradedRun,
        SaveAutoGrades,
        AssignLatePenalties,
        CheckCellMetadata,
    ]
    config.OverwriteCells.add_missing_cells = True
    return config


def autograde(
    notebook: NotebookNode,
    student: str,
    course: Course,
    assignment: Assignment,
    limits: Limits,
    scratch: Path,
    *,
    unsafe: bool = False,
    suspected: Sequence[str] = (),
) -> Graded:
    """Grade a repaired notebook, and write the points into nbgrader's gradebook.

    Args:
        notebook: the student's cells and the release's.
        student: the student's name in the gradebook.
        course: the course.
        assignment: the assignment.
        limits: what the run may use.
        scratch: a folder of the grader's own.
        unsafe: without the sandbox.
        suspected: what shows already that tests were made to pass.

    Raises:
        GraderFailed: when nbgrader did not get through; then the gradebook has no submission of
            the student's, which would look like a zero.
    """
    CURRENT.append(_Current(assignment, limits, unsafe))
    staged = scratch / "submitted" / student / assignment.name / f"{assignment.name}.ipynb"
    write_file(staged, text(notebook))
    api = course_of.api(course, _config(scratch / "submitted"))
    done = api.autograde(assignment.name, student, force=True, create=True)
    current = CURRENT.pop()
    graded = current.graded
    if not done["success"] or graded is None:
        forget(course, student, assignment)
        if current.failed:
            raise GraderFailed(current.failed)
        said = f"{done.get('error') or ''}\n{done.get('log') or ''}".strip()
        raise GraderFailed((said.splitlines() or ["nbgrader gave no reason"])[-1][:300])
    graded.tampered[:0] = suspected
    if graded.tampered:
        _leave_to_a_person(course, student, assignment)
    return graded


def forget(course: Course, student: str, assignment: Assignment) -> None:
    """Remove a submission from the gradebook, where one without marks looks like a zero.

    One that a person has marked stays.
    """
    if gradebook.by_hand(course, assignment).get(student):
        return
    with Gradebook(course.db_url, course.name) as book, contextlib.suppress(MissingEntry):
        book.remove_submission(assignment.name, student)


def _leave_to_a_person(course: Course, student: str, assignment: Assignment) -> None:
    """Take the points back, and have nbgrader show every test as one to be marked by hand."""
    with Gradebook(course.db_url, course.name) as book:
        submission = book.find_submission(assignment.name, student)
        for notebook in submission.notebooks:
            for grade in notebook.grades:
                grade.auto_score = None
                grade.needs_manual_grade = True
        book.db.commit()
