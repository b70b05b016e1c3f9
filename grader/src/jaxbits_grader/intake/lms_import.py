"""A learning platform's bulk download, sorted into a folder for each student.

What the platforms call the files stands in their sources. Canvas
(https://github.com/instructure/canvas-lms/blob/master/lib/content_zipper.rb) writes
``doejane_4521_98765_nans.ipynb``: the name, ``_LATE`` where it was, the number of the user, that of
the file, and what the student called it, with ``-1`` and so on for what was handed in again; with
names hidden, ``anon_AbC12_98765_nans.ipynb``. Moodle
(https://github.com/moodle/moodle/blob/main/mod/assign/classes/downloader.php) writes
``Jane Doe_4521_assignsubmission_file/nans.ipynb``, or the same as one name.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from jaxbits_grader.intake.submissions import NOT_THEIRS

_CANVAS = re.compile(r"(?P<name>\w+?)(?P<late>_LATE)?_(?P<number>\d+)_\d+_(?P<file>.+)", re.S)
_CANVAS_NAMELESS = re.compile(r"(?P<late>LATE_)?(?P<who>anon_[^\W_]+)_\d+_(?P<file>.+)", re.S)
_MOODLE = re.compile(r"(?P<who>.+_\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.S)
_AGAIN = re.compile(r"-\d+(?=\.ipynb\Z)")
_BYTES = 120  # a name here may have 255 of them


@dataclass(frozen=True)
class Collected:
    """What became of a download.

    Attributes:
        students: who has a folder now.
        late: who was late, as Canvas says; Moodle does not.
        unknown: the files whose names say of nobody.
    """

    students: list[str]
    late: list[str]
    unknown: list[str]


@dataclass
class _Student:
    files: dict[str, Callable[[], IO[bytes]]] = field(default_factory=dict)
    late: bool = False


def collect(download: Path, to: Path) -> Collected:
    """Copy each student's files into a folder of their own, called by name and number.

    Args:
        download: the zip file as it came from Canvas or Moodle, or what was unpacked of it.
        to: the folder for the students' folders; it is made if need be. The folder of a student
            who is in the download is replaced as a whole, others stay.

    Raises:
        ValueError: when there is no such download, when it is no zip file, or when no name in it
            says whose it is.
    """
    students: dict[str, _Student] = {}
    unknown = []
    with ExitStack() as stack:
        for name, open_file in _files(download, stack):
            if not (whose := _whose(name)):
                unknown.append(str(name))
                continue
            who, file, late = whose
            student = students.setdefault(who, _Student())
            student.late |= late
            student.files[_free(file, student.files)] = open_file
        if not students:
            raise ValueError(
                f"download: no name of a file in {download} says whose it is, such as Canvas's "
                "doejane_4521_98765_nans.ipynb or Moodle's "
                "'Jane Doe_4521_assignsubmission_file/nans.ipynb'"
            )
        to.mkdir(parents=True, exist_ok=True)
        for who, student in students.items():
            _put(to / who, student)
    too_late = [who for who in sorted(students) if students[who].late]
    return Collected(sorted(students), too_late, unknown)


def _files(
    download: Path, stack: ExitStack
) -> Iterator[tuple[PurePosixPath, Callable[[], IO[bytes]]]]:
    """The names of the files in a download, and how each is opened."""
    if download.is_dir():
        for folder, _, names in sorted(os.walk(download)):
            for name in sorted(names):
                path = Path(folder, name)
                inside = PurePosixPath(path.relative_to(download))
                if path.is_file() and not path.is_symlink() and _is_theirs(inside):
                    yield inside, partial(_opened, path)
        return
    if not download.is_file():
        raise ValueError(f"download: {download} is neither a folder nor a zip file")
    try:
        archive = stack.enter_context(zipfile.ZipFile(download))
    except zipfile.BadZipFile as error:
        raise ValueError(f"download: {download} is no zip file: {error}") from None
    for info in archive.infolist():
        inside = PurePosixPath(info.filename)
        if not info.is_dir() and _is_theirs(inside):
            yield inside, partial(archive.open, info)


def _opened(path: Path) -> IO[bytes]:
    return path.open("rb")


def _is_theirs(name: PurePosixPath) -> bool:
    return not any(part.startswith(".") or part in NOT_THEIRS for part in name.parts)


def _whose(name: PurePosixPath) -> tuple[str, str, bool] | None:
    """Who handed a file in, what they called it, and whether late; None where no name says so."""
    for place, part in enumerate(name.parts):
        inside = name.parts[place + 1 :]
        if match := _MOODLE.fullmatch(part):
            file = inside[-1] if inside else match["file"]
            return (match["who"], file, False) if file else None
        if inside:
            continue
        if match := _CANVAS_NAMELESS.fullmatch(part):
            return match["who"], _AGAIN.sub("", match["file"]), bool(match["late"])
        if match := _CANVAS.fullmatch(part):
            who = f"{match['name']}_{match['number']}"
            return who, _AGAIN.sub("", match["file"]), bool(match["late"])
    return None


def _free(file: str, taken: Iterable[str]) -> str:
    """A name that a file can have here, and that none of the student's has yet."""
    path, number = PurePosixPath(file if file.strip(".") else "file"), 1
    stem, suffix = (
        os.fsencode(part)[:_BYTES].decode(errors="ignore") for part in (path.stem, path.suffix)
    )
    name = stem + suffix
    while name in taken:
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name


def _put(folder: Path, student: _Student) -> None:
    """Make the folder beside where it goes, then let it take the place of what is there."""
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".collected-"))
    try:
        new, old = made / "new", made / "old"
        new.mkdir()
        for name, open_file in student.files.items():
            with open_file() as source, (new / name).open("wb") as target:
                shutil.copyfileobj(source, target)
        if folder.exists():
            folder.rename(old)
        try:
            new.rename(folder)
        except BaseException:
            if old.exists():
                old.rename(folder)
            raise
    except zipfile.BadZipFile as error:
        raise ValueError(f"download: the zip file is damaged: {error}") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
