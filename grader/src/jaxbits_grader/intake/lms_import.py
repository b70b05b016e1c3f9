"""Sort the files in a bulk download from Canvas or Moodle into one folder per student.

Canvas gives a file a name such as ``doejane_4521_98765_nans.ipynb``. Its parts are the student's
name, ``_LATE`` if the file was late, the user's number, the file's number, and the name that the
student gave the file. Later versions have ``-1``, ``-2``, and so on before the extension.
If Canvas hides the students' names, the file is called ``anon_AbC12_98765_nans.ipynb``. See
https://github.com/instructure/canvas-lms/blob/master/lib/content_zipper.rb. Moodle writes
``Jane Doe_4521_assignsubmission_file/nans.ipynb`` or joins the same parts into a single file name.
See https://github.com/moodle/moodle/blob/main/mod/assign/classes/downloader.php.

The copies have the names that the student gave the files, without a version number. If a student
has several versions of a notebook, the newest one keeps the plain name, because `find_submissions`
chooses the notebook that is named after the assignment. The older ones become
``nans.older-1.ipynb``, ``nans.older-2.ipynb``, and so on, from newer to older. The newest version
is the one with the highest file number or, if these are equal, with the highest version number,
because Canvas numbers all files in the order in which they are uploaded. Moodle's names do not show
which file is newer, so further files with the same name become ``nans-2.ipynb``, ``nans-3.ipynb``,
and so on.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from jaxbits_grader.intake.packed_notebooks import SYSTEM_FILES

_CANVAS = re.compile(
    r"(?P<name>\w+?)(?P<late>_LATE)?_(?P<user>\d+)_(?P<number>\d+)_(?P<file>.+)", re.S
)
_CANVAS_ANONYMOUS = re.compile(
    r"(?P<late>LATE_)?(?P<who>anon_[^\W_]+)_(?P<number>\d+)_(?P<file>.+)", re.S
)
_MOODLE = re.compile(r"(?P<who>.+_\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.S)
_VERSION_NUMBER = re.compile(r"-(\d+)(?=\.ipynb\Z)")
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


@dataclass(frozen=True)
class _ParsedName:
    """What a file's name in a download shows.

    Attributes:
        who: The student's name and number.
        file: The name that the student gave the file.
        late: Whether the file was late.
        version: Canvas's file number and version number, or zeros for a file from Moodle.
    """

    who: str
    file: str
    late: bool = False
    version: tuple[int, int] = (0, 0)


@dataclass
class _StudentFiles:
    files: list[tuple[_ParsedName, Callable[[], IO[bytes]]]] = field(default_factory=list)
    late: bool = False


def import_download(download: Path, to: Path) -> ImportedDownload:
    """Copy each student's files into a folder named after the student's name and number.

    Args:
        download: The zip file from Canvas or Moodle, or a folder with its contents.
        to: The folder for the students' folders. This function creates it if it is missing. It
            replaces the existing folders of students who are in the download, but leaves the
            folders of other students alone. If it creates the folder, only its owner can read it.

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
            student = students.setdefault(parsed.who, _StudentFiles())
            student.late |= parsed.late
            student.files.append((parsed, open_file))
        if not students:
            raise ValueError(
                "download: file names must look like Canvas's doejane_4521_98765_nans.ipynb or "
                "Moodle's 'Jane Doe_4521_assignsubmission_file/nans.ipynb', "
                f"but none in {download} do. If you collected the files without Canvas or Moodle, "
                "you do not need 'collect'. Pass their folder to 'grade --submissions' instead."
            )
        to.mkdir(mode=0o700, parents=True, exist_ok=True)  # Other users must not read submissions.
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


def _parse_name(name: PurePosixPath) -> _ParsedName | None:
    """Return what a file's name shows, or None if the name does not identify a student."""
    for place, part in enumerate(name.parts):
        inside = name.parts[place + 1 :]
        if match := _MOODLE.fullmatch(part):
            file = inside[-1] if inside else match["file"]
            return _ParsedName(match["who"], file) if file else None
        if inside:
            continue
        if match := _CANVAS_ANONYMOUS.fullmatch(part):
            return _from_canvas(match["who"], match)
        if match := _CANVAS.fullmatch(part):
            return _from_canvas(f"{match['name']}_{match['user']}", match)
    return None


def _from_canvas(who: str, match: re.Match[str]) -> _ParsedName:
    version_number = _VERSION_NUMBER.search(match["file"])
    return _ParsedName(
        who,
        _VERSION_NUMBER.sub("", match["file"]),
        bool(match["late"]),
        (int(match["number"]), int(version_number[1]) if version_number else 0),
    )


def _choose_names(student: _StudentFiles) -> dict[str, Callable[[], IO[bytes]]]:
    """Return functions that open a student's files, keyed by a valid and unique name for each."""
    chosen: dict[str, Callable[[], IO[bytes]]] = {}
    versions: dict[str, tuple[int, int]] = {}
    # The newest file comes first and gets the plain name. Files of the same version keep their
    # order, because the sort is stable.
    for parsed, open_file in sorted(student.files, key=lambda f: f[0].version, reverse=True):
        path = PurePosixPath(parsed.file if parsed.file.strip(".") else "file")
        stem, suffix = (
            os.fsencode(part)[:_MAX_NAME_BYTES].decode(errors="ignore")
            for part in (path.stem, path.suffix)
        )
        name = stem + suffix
        is_older = parsed.version < versions.setdefault(name, parsed.version)
        mark, number = (".older-", 1) if is_older else ("-", 2)
        while name in chosen:
            name = f"{stem}{mark}{number}{suffix}"
            number += 1
        chosen[name] = open_file
    return chosen


def _write_folder(folder: Path, student: _StudentFiles) -> None:
    """Write a student's folder under a temporary name, and then swap it with the existing one."""
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".collected-"))
    try:
        new, old = made / "new", made / "old"
        new.mkdir()
        for name, open_file in _choose_names(student).items():
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
