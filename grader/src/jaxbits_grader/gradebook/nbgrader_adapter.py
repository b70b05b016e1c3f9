"""Record a submission's points in nbgrader's gradebook by running nbgrader's autograder."""

from __future__ import annotations

import contextlib
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
from traitlets import Dict, Unicode
from traitlets.config import Config

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.checking.run_record import RunResult
from jaxbits_grader.files import notebook_text, write_atomically
from jaxbits_grader.gradebook.course import Course, nbgrader_api
from jaxbits_grader.gradebook.manual_points import read_manual_points
from jaxbits_grader.notebook import ParsedNotebook, nbgrader_metadata


class NbgraderFailed(RuntimeError):
    """Raised if nbgrader cannot record a submission. The message comes from nbgrader."""


class WriteOutcomes(NbGraderPreprocessor):  # type: ignore[misc]
    """Writes the outcomes of a finished run into a notebook instead of running it again.

    nbgrader awards a test cell's points unless the cell's outputs contain an error. See
    https://github.com/jupyter/nbgrader/blob/v0.9.5/nbgrader/utils.py (determine_grade).
    """

    failures = Dict(
        key_trait=Unicode(), value_trait=Unicode(), help="the error of each failed test cell"
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Make an error the only output of each failed test cell, and clear all other outputs.

        Args:
            nb: The student's notebook, which is modified in place.
            resources: nbconvert's resources, which are returned unchanged.

        Returns:
            The notebook and the resources.
        """
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
                message = self.failures.get(nbgrader_metadata(cell).get("grade_id", ""))
                if message is not None:
                    error = {"ename": "NoPoints", "evalue": message, "traceback": [message]}
                    cell.outputs = [nbformat.v4.new_output("error", **error)]
        return nb, resources


def _config(submitted: Path, result: RunResult) -> Config:
    failures = {
        cell.id: cell.message or ("not run" if cell.points is None else "a test failed")
        for cell in result.points
        if not cell.points
    }
    config = Config()
    config.CourseDirectory.submitted_directory = str(submitted)
    config.Autograde.sanitize_preprocessors = [
        OverwriteKernelspec,
        OverwriteCells,
        CheckCellMetadata,
    ]
    config.Autograde.autograde_preprocessors = [
        WriteOutcomes,
        SaveAutoGrades,
        AssignLatePenalties,
        CheckCellMetadata,
    ]
    config.OverwriteCells.add_missing_cells = True
    config.WriteOutcomes.failures = failures
    return config


def record_points(
    course: Course,
    assignment: Assignment,
    student: str,
    notebook: ParsedNotebook,
    result: RunResult,
    scratch: Path,
) -> None:
    """Record a submission's points in the gradebook.

    If there are signs of tampering, this function records no points and marks every test for
    grading by hand.

    Args:
        course: The course.
        assignment: The assignment.
        student: The student's id in the gradebook.
        notebook: The repaired notebook.
        result: The result of the run with hidden tests.
        scratch: An empty folder for the grader's temporary files.

    Raises:
        NbgraderFailed: If nbgrader fails. Before raising the error, this function removes the
            submission from the gradebook, because a submission without points would look as if it
            had earned zero points. It keeps a submission that has points entered by hand.
    """
    submitted = scratch / "submitted"
    path = submitted / student / assignment.name / f"{assignment.name}.ipynb"
    write_atomically(path, notebook_text(notebook.to_nbformat()))
    api = nbgrader_api(course, _config(submitted, result))
    done = api.autograde(assignment.name, student, force=True, create=True)
    if not done["success"]:
        remove_submission(course, assignment, student)
        output = f"{done.get('error') or ''}\n{done.get('log') or ''}".strip()
        raise NbgraderFailed((output.splitlines() or ["nbgrader gave no reason"])[-1][:300])
    if result.tampering:
        _require_manual_grading(course, assignment, student)


def remove_submission(course: Course, assignment: Assignment, student: str) -> None:
    """Remove a submission from the gradebook, unless a person has entered points for it.

    Args:
        course: The course.
        assignment: The assignment.
        student: The student's id in the gradebook.
    """
    if read_manual_points(course, assignment).get(student):
        return
    with Gradebook(course.db_url, course.name) as gradebook, contextlib.suppress(MissingEntry):
        gradebook.remove_submission(assignment.name, student)


def _require_manual_grading(course: Course, assignment: Assignment, student: str) -> None:
    with Gradebook(course.db_url, course.name) as gradebook:
        submission = gradebook.find_submission(assignment.name, student)
        for notebook in submission.notebooks:
            for grade in notebook.grades:
                grade.auto_score = None
                grade.needs_manual_grade = True
        gradebook.db.commit()
