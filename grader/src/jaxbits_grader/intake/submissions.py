"""Find the submissions in a folder that contains one notebook or folder per student."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from jaxbits_grader.intake.packed_notebooks import (
    SYSTEM_FILES,
    PackedNotebook,
    display_name,
    find_packed_notebooks,
    is_packed,
    unreadable_reason,
)

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_@-]{0,59}\Z")
# A student's real name may look like an id that `Submission.id` generates.
_LOOKS_MADE_UP = re.compile(r"-[0-9a-f]{8}\Z")


@dataclass(frozen=True)
class Submission:
    """The file that a student handed in.

    Attributes:
        student: The student's name, taken from the file or folder.
        path: The path of the notebook or of the zip file that contains it, or None if there is no
            notebook to read.
        problem: Why there is no notebook to read, or None if there is one.
        note: A remark for the results about something unusual in the submission, or None.
        member: The name of the notebook in the zip file, or None if `path` is the notebook.
    """

    student: str
    path: Path | None
    problem: str | None = None
    note: str | None = None
    member: str | None = None

    @property
    def id(self) -> str:
        """The student's id in nbgrader and in file names.

        The id is the student's name if the name is safe to use. Otherwise, it is generated from the
        name.
        """
        if _SAFE_ID.match(self.student) and not _LOOKS_MADE_UP.search(self.student):
            return self.student
        plain = re.sub(r"[^A-Za-z0-9]+", "-", self.student).strip("-")[:40]
        digest = hashlib.sha256(self.student.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        return f"{plain or 'student'}-{digest}"

    @property
    def digest(self) -> str:
        """The hash of the notebook file, or an empty string if there is no notebook to read."""
        return file_digest(self.path) if self.path else ""


def file_digest(path: Path) -> str:
    """Return the SHA-256 hash of a file, or an empty string if the file cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def find_submissions(folder: Path, assignment: str) -> list[Submission]:
    """Return the submissions in a folder, one per student, sorted by name.

    Everything in the folder counts as a student's submission, except for hidden files and files
    that the operating system adds. A submission that cannot be graded has a `problem`.

    Args:
        folder: The folder that contains ``STUDENT.ipynb``, ``STUDENT/anything.ipynb``, or
            ``STUDENT/ASSIGNMENT/anything.ipynb`` (as nbgrader stores it) for each student. If a
            student has no such notebook, `find_packed_notebooks` looks for others, for example in
            a zip file.
        assignment: The name of the assignment. If a student handed in several notebooks, the one
            with this name counts.

    Raises:
        ValueError: If the folder does not exist or is empty.
    """
    if not folder.is_dir():
        raise ValueError(
            "submissions: must be a folder with one notebook or one folder per student, but "
            f"{folder} is not a folder"
        )
    found: dict[str, Submission] = {}
    for entry in sorted(os.scandir(folder), key=_order):
        if entry.name.startswith(".") or entry.name in SYSTEM_FILES:
            continue
        submission = _from_entry(Path(entry.path), assignment)
        student = submission.student
        if student not in found:
            found[student] = submission
        elif submission.path is not None:
            other = "a folder" if entry.is_dir() else f"the file {display_name(Path(entry.name))}"
            which = "two notebooks" if _is_notebook(Path(entry.name)) else f"a notebook and {other}"
            problem = f"there are two submissions from {student}: {which}"
            found[student] = Submission(student, None, problem)
    if not found:
        raise ValueError(
            "submissions: must be a folder with one notebook or one folder per student, but "
            f"{folder} is empty"
        )
    return [found[student] for student in sorted(found)]


def _order(entry: os.DirEntry[str]) -> tuple[int, str]:
    """Return a key that sorts notebooks first, and then what may contain a notebook."""
    path = Path(entry.name)
    return 0 if _is_notebook(path) else 1 if entry.is_dir() or is_packed(
        path.name
    ) else 2, path.name


def _is_notebook(path: Path) -> bool:
    return path.suffix.lower() == ".ipynb"  # File names on Windows are case-insensitive.


def _from_entry(path: Path, assignment: str) -> Submission:
    if path.is_dir() and not path.is_symlink():
        try:
            return _from_folder(path, assignment)
        except OSError as error:
            problem = f"the folder cannot be read: {error.strerror}"
            return Submission(display_name(path), None, problem)
    name = display_name(path)
    student = name.removesuffix(path.suffix)
    unreadable = unreadable_reason(path)
    if is_packed(name):
        student = re.sub(r"\.ipynb\Z", "", student, flags=re.I)
        if unreadable is None:
            packed, problems = find_packed_notebooks(path)
            return _from_packed(student, packed, problems or [f"{name} contains no notebook"])
    elif not _is_notebook(path):
        return Submission(student, None, f"{name} is not a notebook")
    return Submission(student, None if unreadable else path, unreadable)


def _from_folder(folder: Path, assignment: str) -> Submission:
    student = display_name(folder)
    for place in (folder, folder / assignment):
        if not place.is_dir() or place.is_symlink():
            continue
        notebooks = sorted(p for p in place.iterdir() if _is_notebook(p) and p.name[0] != ".")
        if notebooks:
            return _from_notebooks(student, notebooks, assignment)
    packed, problems = find_packed_notebooks(folder)
    if packed or problems:
        return _from_packed(student, packed, problems)
    present = ", ".join(sorted(map(display_name, folder.iterdir())))[:200]
    problem = f"the folder contains no notebook, only {present}"
    return Submission(student, None, problem if present else "the folder is empty")


def _from_packed(student: str, packed: list[PackedNotebook], problems: list[str]) -> Submission:
    """Return a submission with the only notebook that was found, or with the reason for none."""
    if len(packed) > 1:
        names = ", ".join(notebook.label for notebook in packed)[:200]
        return Submission(student, None, f"it is unclear which notebook to grade: {names}")
    if not packed:
        return Submission(student, None, "; ".join(problems)[:200])
    (notebook,) = packed
    if unreadable := unreadable_reason(notebook.path):
        return Submission(student, None, unreadable)
    note = f"the notebook was found in {notebook.label[:100]!r}"
    return Submission(student, notebook.path, None, note, notebook.member)


def _from_notebooks(student: str, notebooks: list[Path], assignment: str) -> Submission:
    """Return a submission with whichever notebook in a student's folder counts."""
    named = [path for path in notebooks if path.stem == assignment]
    if not named and len(notebooks) > 1:
        names = ", ".join(map(display_name, notebooks))[:200]
        return Submission(student, None, f"it is unclear which notebook to grade: {names}")
    path = (named or notebooks)[0]
    unreadable = unreadable_reason(path)
    note = None
    if len(notebooks) > 1:
        others = ", ".join(p.name for p in notebooks if p != path)[:200]
        note = f"of several notebooks, {path.name!r} was graded, not {others}"
    return Submission(student, None if unreadable else path, unreadable, note)
