"""Sort the files in a bulk download from Canvas or Moodle into one folder per student.

Canvas gives a file a name such as ``doejane_4521_98765_nans.ipynb``. Its parts are the student's
name, ``_LATE`` if the file was late, the user's number, the file's number, and the name that the
student gave the file. Later versions have ``-1``, ``-2``, and so on before the extension.
If Canvas hides the students' names, the file is called ``anon_AbC12_98765_nans.ipynb``. See
https://github.com/instructure/canvas-lms/blob/master/lib/content_zipper.rb. Moodle writes
``Jane Doe_4521_assignsubmission_file/nans.ipynb`` or joins the same parts into a single file name.
See https://github.com/moodle/moodle/blob/main/mod/assign/classes/downloader.php.
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

from jaxbits_grader.intake.packed_notebooks import SYSTEM_FILES

_CANVAS = re.compile(r"(?P<name>\w+?)(?P<late>_LATE)?_(?P<number>\d+)_\d+_(?P<file>.+)", re.S)
_CANVAS_ANONYMOUS = re.compile(r"(?P<late>LATE_)?(?P<who>anon_[^\W_]+)_\d+_(?P<file>.+)", re.S)
_MOODLE = re.compile(r"(?P<who>.+_\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.S)
_VERSION_NUMBER = re.compile(r"-\d+(?=\.ipynb\Z)")
_MAX_NAME_BYTES = 120  # Most file systems limit the whole name to 255 bytes.


@dataclass(frozen=True)
class ImportedDownload:
    """The result of importing a download.

    Attributes:
        students: The students whose folders the import has written.
        late: The students who handed in files late. Only Canvas labels late files.
        unknown: The files whose names do not identify a student.
    """

    students: list[str]
    late: list[str]
    unknown: list[str]


@dataclass
class _StudentFiles:
    files: dict[str, Callable[[], IO[bytes]]] = field(default_factory=dict)
    late: bool = False


def import_download(download: Path, to: Path) -> ImportedDownload:
    """Copy each student's files into a folder named after the student's name and number.

    Args:
        download: The zip file from Canvas or Moodle, or a folder with its contents.
        to: The folder for the students' folders. This function creates it if it is missing. It
            replaces the existing folders of students who are in the download, but leaves the
            folders of other students alone.

    Returns:
        The names of the students, and the names of any files that do not identify a student.

    Raises:
        ValueError: If the download does not exist, is not a valid zip file, or contains no file
            whose name identifies a student.
    """
    students: dict[str, _StudentFiles] = {}
    unknown = []
    with ExitStack() as stack:
        for name, open_file in _files(download, stack):
            if not (parsed := _parse_name(name)):
                unknown.append(str(name))
                continue
            who, file, late = parsed
            student = students.setdefault(who, _StudentFiles())
            student.late |= late
            student.files[_unused_name(file, student.files)] = open_file
        if not students:
            raise ValueError(
                "download: file names must look like Canvas's doejane_4521_98765_nans.ipynb or "
                "Moodle's 'Jane Doe_4521_assignsubmission_file/nans.ipynb', "
                f"but none in {download} do"
            )
        to.mkdir(parents=True, exist_ok=True)
        for who, student in students.items():
            _write_folder(to / who, student)
    too_late = [who for who in sorted(students) if students[who].late]
    return ImportedDownload(sorted(students), too_late, unknown)


def _files(
    download: Path, stack: ExitStack
) -> Iterator[tuple[PurePosixPath, Callable[[], IO[bytes]]]]:
    """Yield the name of each file in a download, together with a function that opens the file."""
    if download.is_dir():
        for folder, _, names in sorted(os.walk(download)):
            for name in sorted(names):
                path = Path(folder, name)
                inside = PurePosixPath(path.relative_to(download))
                if path.is_file() and not path.is_symlink() and _is_submitted(inside):
                    yield inside, partial(_open, path)
        return
    if not download.is_file():
        raise ValueError(f"download: must be a folder or a zip file, got {download}")
    try:
        archive = stack.enter_context(zipfile.ZipFile(download))
    except zipfile.BadZipFile as error:
        raise ValueError(f"download: {download} is not a zip file: {error}") from None
    for info in archive.infolist():
        inside = PurePosixPath(info.filename)
        if not info.is_dir() and _is_submitted(inside):
            yield inside, partial(archive.open, info)


def _open(path: Path) -> IO[bytes]:
    return path.open("rb")


def _is_submitted(name: PurePosixPath) -> bool:
    return not any(part.startswith(".") or part in SYSTEM_FILES for part in name.parts)


def _parse_name(name: PurePosixPath) -> tuple[str, str, bool] | None:
    """Return a student's name, the name that the student gave the file, and whether it was late.

    The result is None if the name does not identify a student.
    """
    for place, part in enumerate(name.parts):
        inside = name.parts[place + 1 :]
        if match := _MOODLE.fullmatch(part):
            file = inside[-1] if inside else match["file"]
            return (match["who"], file, False) if file else None
        if inside:
            continue
        if match := _CANVAS_ANONYMOUS.fullmatch(part):
            return match["who"], _VERSION_NUMBER.sub("", match["file"]), bool(match["late"])
        if match := _CANVAS.fullmatch(part):
            who = f"{match['name']}_{match['number']}"
            return who, _VERSION_NUMBER.sub("", match["file"]), bool(match["late"])
    return None


def _unused_name(file: str, taken: Iterable[str]) -> str:
    """Return a valid file name, based on `file`, that is not among the taken names."""
    path, number = PurePosixPath(file if file.strip(".") else "file"), 1
    stem, suffix = (
        os.fsencode(part)[:_MAX_NAME_BYTES].decode(errors="ignore")
        for part in (path.stem, path.suffix)
    )
    name = stem + suffix
    while name in taken:
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name


def _write_folder(folder: Path, student: _StudentFiles) -> None:
    """Write a student's folder under a temporary name, and then swap it with the existing one."""
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
