"""A course: nbgrader's folders and gradebook, made of the assignments' sources."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traitlets.config import Config

from jaxbits_grader.authoring import assignment_source as source
from jaxbits_grader.authoring import release_notebook as release
from jaxbits_grader.authoring.assignment_source import SOURCE, Assignment
from jaxbits_grader.files import write_file
from jaxbits_grader.notebook_io import text

_SETTINGS = "course.json"
_CONFIG = """\
# So that nbgrader's own commands and its formgrader find this course: run them in this folder.
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
    """A course that is not there, or not as it should be; the message says what to do."""


@dataclass(frozen=True)
class Course:
    """A course's folder and gradebook.

    Attributes:
        root: the folder.
        name: what nbgrader calls the course.
        db: the gradebook's address, empty for ``gradebook.db`` in the folder.
    """

    root: Path
    name: str
    db: str = ""

    @property
    def db_url(self) -> str:
        """The gradebook's address for nbgrader."""
        return self.db or f"sqlite:///{self.root / 'gradebook.db'}"

    def assignment(self, name: str) -> Assignment:
        """The source of one of the course's assignments.

        Raises:
            CourseError: when the course has no such assignment.
        """
        folder = self.root / "assignments" / name
        if not (folder / SOURCE).is_file():
            there = ", ".join(p.name for p in source.find(self.root / "assignments")) or "none"
            raise CourseError(f"assignment: the course has no {name!r}; it has: {there}")
        return source.read(folder)

    def source(self, name: str) -> Path:
        """The source of an assignment, as the course has it."""
        return self.root / "assignments" / name / SOURCE

    def results(self, name: str) -> Path:
        """Where the records of an assignment are."""
        return self.root / "results" / name

    def feedback(self, name: str) -> Path:
        """Where the feedback pages of an assignment are."""
        return self.root / "feedback" / name

    def config(self) -> Config:
        """The course as nbgrader's configuration."""
        config = Config()
        config.CourseDirectory.root = str(self.root)
        config.CourseDirectory.course_id = self.name
        config.CourseDirectory.db_url = self.db_url
        return config


def opened(root: Path) -> Course:
    """The course in a folder.

    Raises:
        CourseError: when there is none.
    """
    path = root / _SETTINGS
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Course(root.resolve(), str(found["name"]), str(found["db"]))
    except FileNotFoundError:
        if source.find(root):
            why = "it holds the sources of assignments; give the folder of the course made of them"
        else:
            why = f"make one: python -m jaxbits_grader course {root} --from assignments"
        raise CourseError(f"course: {root} is no course (it has no {_SETTINGS}); {why}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise CourseError(f"course: {path} cannot be read: {error!r}") from None


def make(root: Path, assignments: Path, *, name: str = "", db: str = "") -> Course:
    """Set a course up, or bring one up to date: its folders, the gradebook, the releases.

    Args:
        root: the course's folder; made where it is missing.
        assignments: the folder of the sources, yours or the book's.
        name: what nbgrader calls the course; the folder's name when not given.
        db: the gradebook's address, such as ``postgresql://user:word@host/name``; a file in the
            course's folder when not given.

    Raises:
        CourseError: when `assignments` holds none, or nbgrader refuses them.
    """
    folders = source.find(assignments)
    if not folders:
        raise CourseError(f"from: {assignments} holds no folder with a {SOURCE}")
    if root.exists() and not root.is_dir():
        raise CourseError(f"folder: {root} is a file; it should be the course's folder")
    if db and not re.match(r"(postgresql|sqlite)(\+\w+)?://", db):
        raise CourseError(
            f"db: {db!r} is no gradebook's address; it should begin with postgresql:// or sqlite://"
        )
    root.mkdir(parents=True, exist_ok=True)
    old = opened(root) if (root / _SETTINGS).exists() else None
    course = Course(
        root.resolve(),
        name or (old.name if old else root.resolve().name),
        db or (old.db if old else ""),
    )
    # Hidden tests lie here, and perhaps the gradebook's password.
    os.chmod(root, 0o700)
    settings = json.dumps({"name": course.name, "db": course.db}, indent=1) + "\n"
    write_file(root / _SETTINGS, settings)
    os.chmod(root / _SETTINGS, 0o600)
    write_file(root / "nbgrader_config.py", _CONFIG)
    for folder in folders:
        add(course, folder)
    return course


def add(course: Course, folder: Path) -> None:
    """Take an assignment into a course, or its new text into one that has it.

    Raises:
        CourseError: when nbgrader refuses it.
    """
    assignment = source.read(folder)
    name = assignment.name
    notebook = f"{name}.ipynb"
    write_file(
        course.root / "assignments" / name / SOURCE, (folder / SOURCE).read_text(encoding="utf-8")
    )
    write_file(course.root / "source" / name / notebook, text(release.complete(assignment)))
    done = api(course).generate_assignment(name, force=True, create=True)
    if not done["success"]:
        last = (done.get("error") or done.get("log") or "no reason").strip().splitlines()[-1]
        raise CourseError(f"nbgrader could not take {name} into its gradebook: {last}")
    write_file(course.root / "release" / name / notebook, text(release.student(assignment)))


def api(course: Course, extra: Config | None = None) -> Any:
    """The programming interface of nbgrader for a course.

    Args:
        course: the course.
        extra: more of nbgrader's configuration.
    """
    # nbgrader calls alembic by its name, which lies beside this Python.
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])
    from nbgrader.apps.api import NbGraderAPI

    config = course.config()
    config.merge(extra or Config())
    return NbGraderAPI(config=config)
