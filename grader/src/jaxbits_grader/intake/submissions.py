"""The submissions in a folder: one notebook, or one sub-folder, for each student."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from jaxbits_grader.running.limits import MEGABYTE

LARGEST_MB = 50
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_@-]{0,59}\Z")
# As the end of a name that had to be made another: a student may be called so, too.
_DIGEST = re.compile(r"-[0-9a-f]{8}\Z")
NOT_THEIRS = {"__MACOSX", "Thumbs.db", "desktop.ini"}


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    Attributes:
        student: as the file or the folder is called.
        path: the notebook, None where there is none to be read.
        problem: why there is none.
        note: what is odd about the file, said in the results.
    """

    student: str
    path: Path | None
    problem: str | None = None
    note: str | None = None

    @property
    def id(self) -> str:
        """The student's name in nbgrader and in file names: the same where that can be one."""
        if _SAFE.match(self.student) and not _DIGEST.search(self.student):
            return self.student
        plain = re.sub(r"[^A-Za-z0-9]+", "-", self.student).strip("-")[:40]
        digest = hashlib.sha256(self.student.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        return f"{plain or 'student'}-{digest}"

    @property
    def digest(self) -> str:
        """Of the notebook's bytes; empty where there is none to be read."""
        return digest(self.path) if self.path else ""


def digest(path: Path) -> str:
    """Of a file's bytes; empty where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def find(folder: Path, assignment: str) -> list[Submission]:
    """The submissions in a folder, one for each student, in the order of their names.

    Everything in the folder but hidden files is somebody's: what cannot be graded has a `problem`.

    Args:
        folder: holds ``STUDENT.ipynb`` or ``STUDENT/anything.ipynb``, also nbgrader's own
            ``STUDENT/ASSIGNMENT/anything.ipynb``.
        assignment: the assignment's name; of several notebooks the one of this name is taken.

    Raises:
        ValueError: when there is no such folder, or nothing in it.
    """
    if not folder.is_dir():
        raise ValueError(
            f"submissions: {folder} is not a folder; it should be one with a notebook or a folder "
            "for each student"
        )
    found: dict[str, Submission] = {}
    entries = sorted(os.scandir(folder), key=lambda e: (not _is_notebook(Path(e.name)), e.name))
    for entry in entries:
        if entry.name.startswith(".") or entry.name in NOT_THEIRS:
            continue
        one = _one(Path(entry.path), assignment)
        if one.student not in found:
            found[one.student] = one
        elif one.path is not None:
            which = "two notebooks" if _is_notebook(Path(entry.name)) else "a notebook and a folder"
            both = f"there are two submissions of {one.student}: {which}"
            found[one.student] = Submission(one.student, None, both)
    if not found:
        raise ValueError(
            f"submissions: {folder} is empty; it should hold a notebook or a folder "
            "for each student"
        )
    return [found[student] for student in sorted(found)]


def shown(path: Path) -> str:
    """A file's name as text, whatever bytes it is made of."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")


def _is_notebook(path: Path) -> bool:
    return path.suffix.lower() == ".ipynb"  # Windows knows no difference


def _one(path: Path, assignment: str) -> Submission:
    if path.is_dir() and not path.is_symlink():
        try:
            return _in_folder(path, assignment)
        except OSError as error:
            return Submission(shown(path), None, f"the folder cannot be read: {error.strerror}")
    student = shown(path).removesuffix(path.suffix)
    if not _is_notebook(path):
        return Submission(student, None, f"{shown(path)} is not a notebook")
    problem = unreadable(path)
    return Submission(student, None if problem else path, problem)


def _in_folder(folder: Path, assignment: str) -> Submission:
    student = shown(folder)
    for place in (folder, folder / assignment):
        if not place.is_dir() or place.is_symlink():
            continue
        notebooks = sorted(p for p in place.iterdir() if _is_notebook(p) and p.name[0] != ".")
        own = [p for p in notebooks if p.stem == assignment]
        if not notebooks:
            continue
        if not own and len(notebooks) > 1:
            names = ", ".join(shown(p) for p in notebooks)[:200]
            return Submission(student, None, f"which notebook is it? there are {names}")
        path = (own or notebooks)[0]
        problem = unreadable(path)
        note = None if own else f"the file was called {shown(path)[:100]!r}"
        if len(notebooks) > 1:
            others = ", ".join(p.name for p in notebooks if p != path)[:200]
            note = f"of several notebooks {path.name!r} was taken; beside it: {others}"
        return Submission(student, None if problem else path, problem, note)
    there = ", ".join(sorted(shown(p) for p in folder.iterdir()))[:200]
    why = f"there is no notebook in the folder, but {there}" if there else "the folder is empty"
    return Submission(student, None, why)


def unreadable(path: Path) -> str | None:
    """Why a file cannot be taken for a notebook before it is opened; None when it can."""
    try:
        status = path.lstat()
    except OSError as error:
        return f"{shown(path)} cannot be read: {error.strerror}"
    if stat.S_ISLNK(status.st_mode):
        return f"{shown(path)} is a link, not a file"
    if not stat.S_ISREG(status.st_mode):
        return f"{shown(path)} is not a file"
    if status.st_size == 0:
        return f"{shown(path)} is empty"
    if status.st_size > LARGEST_MB * MEGABYTE:
        return f"{shown(path)} has over {LARGEST_MB} MB"
    return None
