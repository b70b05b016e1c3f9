"""Create and open courses. A course is an nbgrader folder with assignments and a gradebook."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traitlets.config import Config

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import (
    ANSWERS_FILE,
    SOURCE_FILE,
    find_assignments,
    read_assignment,
)
from jaxbits_grader.authoring.notebook_versions import student_notebook, teacher_notebook
from jaxbits_grader.authoring.reference_answers import read_with_right_answers
from jaxbits_grader.files import notebook_text, write_atomically

_SETTINGS_FILE = "course.json"
_NBGRADER_CONFIG = """\
# With this file, nbgrader's own commands and its formgrader work in this folder.
import json
from pathlib import Path

course = json.loads((Path(__file__).parent / "course.json").read_text())
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = course["name"]
c.CourseDirectory.root = str(Path(__file__).parent)
if course["db"]:
    c.CourseDirectory.db_url = course["db"]
"""


class CourseError(ValueError):
    """Raised if a course is missing or invalid. The message says how to fix the problem."""


@dataclass(frozen=True)
class Course:
    """A course's folder and gradebook.

    Attributes:
        root: The course folder.
        name: The name of the course in nbgrader.
        db: The URL of the gradebook, or an empty string for ``gradebook.db`` in the folder.
    """

    root: Path
    name: str
    db: str = ""

    @property
    def db_url(self) -> str:
        """The database URL at which nbgrader finds the gradebook."""
        return self.db or f"sqlite:///{self.root / 'gradebook.db'}"

    @property
    def compiled(self) -> Path:
        """The folder in which judges keep the programs that they have compiled."""
        return self.root / ".compiled"

    def assignment(self, name: str) -> Assignment:
        """Return one of the course's assignments.

        Raises:
            CourseError: If the course has no such assignment.
        """
        if not self.source(name).is_file():
            folders = find_assignments(self.root / "assignments")
            names = ", ".join(folder.name for folder in folders) or "none"
            raise CourseError(
                f"assignment must be one of the course's assignments ({names}), got {name!r}"
            )
        return read_with_right_answers(self.source(name).parent)

    def source(self, name: str) -> Path:
        """Return the path of an assignment's source file."""
        return self.root / "assignments" / name / SOURCE_FILE

    def results(self, name: str) -> Path:
        """Return the folder for an assignment's grade records."""
        return self.root / "results" / name

    def feedback(self, name: str) -> Path:
        """Return the folder for an assignment's feedback pages."""
        return self.root / "feedback" / name

    def nbgrader_config(self) -> Config:
        """Return an nbgrader configuration for the course."""
        config = Config()
        config.CourseDirectory.root = str(self.root)
        config.CourseDirectory.course_id = self.name
        config.CourseDirectory.db_url = self.db_url
        return config


def open_course(root: Path) -> Course:
    """Return the course in a folder.

    Raises:
        CourseError: If the folder does not contain a course or if its settings cannot be read.
    """
    path = root / _SETTINGS_FILE
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Course(root.resolve(), str(found["name"]), str(found["db"]))
    except FileNotFoundError:
        if find_assignments(root):
            fix = "it contains assignment sources; give the course folder instead"
        else:
            fix = f"create one: jaxbits-grader course {root} --from FOLDER_OF_YOUR_VARIANT"
        raise CourseError(f"course: {root} is not a course (no {_SETTINGS_FILE}); {fix}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise CourseError(f"course: {path} cannot be read: {error!r}") from None


def set_up_course(root: Path, assignments: Path, *, name: str = "", db: str = "") -> Course:
    """Create or update a course, including its folders, gradebook, and released notebooks.

    Args:
        root: The course folder, which this function creates if it is missing. Only its owner can
            read it.
        assignments: The folder that contains the assignment sources.
        name: The name of the course in nbgrader. An existing course keeps its name by default, and
            a new one gets the name of its folder.
        db: The URL of the gradebook, such as ``postgresql://user:password@host/name``. By default,
            an existing course keeps its gradebook, and a new course stores its gradebook as a file
            in its folder.

    Returns:
        The course.

    Raises:
        CourseError: If `assignments` contains no assignments, if `root` is a file, if `db` is not
            the URL of a PostgreSQL or SQLite database, or if nbgrader rejects an assignment.
    """
    folders = find_assignments(assignments)
    if not folders:
        raise CourseError(f"from: {assignments} contains no folder with a {SOURCE_FILE}")
    if root.exists() and not root.is_dir():
        raise CourseError(f"folder: must be the course folder, but {root} is a file")
    if db and not re.match(r"(postgresql|sqlite)(\+\w+)?://", db):
        raise CourseError(f"db: must begin with postgresql:// or sqlite://, got {db!r}")
    # Prevent other users from reading the folder, because it contains the hidden tests and perhaps
    # the gradebook's password. `mkdir` does not change the mode of an existing folder.
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    root.chmod(0o700)
    old = open_course(root) if (root / _SETTINGS_FILE).exists() else None
    course = Course(
        root.resolve(),
        name or (old.name if old else root.resolve().name),
        db or (old.db if old else ""),
    )
    settings = json.dumps({"name": course.name, "db": course.db}, indent=1) + "\n"
    write_atomically(root / _SETTINGS_FILE, settings)
    os.chmod(root / _SETTINGS_FILE, 0o600)
    write_atomically(root / "nbgrader_config.py", _NBGRADER_CONFIG)
    for folder in folders:
        add_assignment(course, folder)
    return course


def add_assignment(course: Course, folder: Path) -> None:
    """Add an assignment to a course, or update it if the course already has it.

    Args:
        course: The course.
        folder: The folder that contains the assignment's source.

    Raises:
        CourseError: If nbgrader rejects the assignment.
    """
    assignment = read_assignment(folder)
    name = assignment.name
    notebook = f"{name}.ipynb"
    source = (folder / SOURCE_FILE).read_text(encoding="utf-8")
    write_atomically(course.source(name), source)
    if (folder / ANSWERS_FILE).is_file():
        answers = (folder / ANSWERS_FILE).read_text(encoding="utf-8")
        write_atomically(course.source(name).parent / ANSWERS_FILE, answers)
    teachers = notebook_text(teacher_notebook(assignment))
    write_atomically(course.root / "source" / name / notebook, teachers)
    done = nbgrader_api(course).generate_assignment(name, force=True, create=True)
    if not done["success"]:
        reason = (done.get("error") or done.get("log") or "no reason given").strip()
        last_line = reason.splitlines()[-1]
        raise CourseError(f"nbgrader could not add {name} to its gradebook: {last_line}")
    students = notebook_text(student_notebook(assignment))
    write_atomically(course.root / "release" / name / notebook, students)


def nbgrader_api(course: Course, extra: Config | None = None) -> Any:
    """Return nbgrader's Python API for a course.

    Args:
        course: The course.
        extra: Additional nbgrader settings, which override the course's settings.
    """
    # nbgrader runs the alembic program by name. The program is in the same folder as this Python
    # interpreter, so that folder has to be on PATH:
    # https://github.com/jupyter/nbgrader/blob/v0.9.5/nbgrader/api.py
    folder = str(Path(sys.executable).parent)
    if folder not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])
    from nbgrader.apps.api import NbGraderAPI

    config = course.nbgrader_config()
    config.merge(extra or Config())
    return NbGraderAPI(config=config)
