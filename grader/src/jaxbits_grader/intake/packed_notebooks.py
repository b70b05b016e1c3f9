"""Find notebooks in zip files, in nested folders, and under names such as `answers.ipynb.txt`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from jaxbits_grader.intake.zip_files import BadZip, list_files
from jaxbits_grader.running.limits import MEGABYTE

MAX_MB = 50
# macOS and Windows add these files to folders and archives.
SYSTEM_FILES = {"__MACOSX", "Thumbs.db", "desktop.ini"}
# Browsers and mail programs add the second extension, because they see text or JSON.
_NOTEBOOKS = (".ipynb", ".ipynb.txt", ".ipynb.json")
_MAX_FILES = 1000  # The maximum number of files in a student's folder.


@dataclass(frozen=True)
class PackedNotebook:
    """A notebook that a student did not hand in directly.

    Attributes:
        path: The path of the notebook or of the zip file that contains it.
        member: The name of the notebook in the zip file, or None if `path` is the notebook.
        label: A printable name for the results, such as `answers.zip/final/nans.ipynb`.
    """

    path: Path
    member: str | None
    label: str


def is_packed(name: str) -> bool:
    """Return whether a file may contain a notebook although its extension is not `.ipynb`.

    Example:
        >>> [is_packed(name) for name in ("nans.ipynb.txt", "nans.ZIP", "nans.ipynb", "nans.txt")]
        [True, True, False, False]
    """
    return name.lower().endswith((*_NOTEBOOKS[1:], ".zip"))


def find_packed_notebooks(place: Path) -> tuple[list[PackedNotebook], list[str]]:
    """Return the notebooks in a folder or a file, and the reasons why some files cannot be read.

    The search includes nested folders and zip files, but not zip files inside zip files. It ignores
    links, hidden files, and files that the operating system adds.

    Args:
        place: A student's folder, or a file for which `is_packed` is true.
    """
    found: list[PackedNotebook] = []
    problems: list[str] = []
    for number, path in enumerate(_files(place)):
        if number >= _MAX_FILES:
            return [], [f"the folder contains over {_MAX_FILES} files"]
        inside = path.relative_to(place) if path != place else Path(path.name)
        label = _printable(str(inside))
        if path.suffix.lower() != ".zip":
            if path.name.lower().endswith(_NOTEBOOKS):
                found.append(PackedNotebook(path, None, label))
        elif reason := unreadable_reason(path):
            problems.append(reason)
        else:
            try:
                names = [name for name in list_files(path) if _is_listed(name)]
            except BadZip as error:
                problems.append(f"{label} cannot be unpacked: {error}")
                continue
            notebooks = [name for name in names if name.lower().endswith(_NOTEBOOKS)]
            found += [PackedNotebook(path, n, f"{label}/{_printable(n)}") for n in notebooks]
            if not notebooks:
                others = ", ".join(sorted(map(_printable, names)))[:100]
                only = f", only {others}" if others else ""
                problems.append(f"{label} contains no notebook{only}")
    return found, problems


def _files(place: Path) -> Iterator[Path]:
    """Yield the files in a folder and its subfolders, or the file itself."""
    if not place.is_dir():
        yield place
    for folder, inner, names in os.walk(place):
        inner[:] = sorted(name for name in inner if _is_listed(name))
        paths = (Path(folder, name) for name in sorted(names) if _is_listed(name))
        yield from (path for path in paths if not path.is_symlink())


def _is_listed(name: str) -> bool:
    """Return whether a file is neither hidden nor added by the operating system."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    hidden = (part.startswith(".") and part not in (".", "..") for part in parts)
    return not any(hidden) and not SYSTEM_FILES & set(parts)


def _printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def display_name(path: Path) -> str:
    """Return a file's name as a printable string, even if its bytes are not valid UTF-8."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")


def unreadable_reason(path: Path) -> str | None:
    """Without opening a file, return why it cannot be a notebook, or None if it may be one."""
    name = display_name(path)
    try:
        status = path.lstat()
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    if stat.S_ISLNK(status.st_mode):
        return f"{name} is a link, not a file"
    if not stat.S_ISREG(status.st_mode):
        return f"{name} is not a file"
    if status.st_size == 0:
        return f"{name} is empty"
    if status.st_size > MAX_MB * MEGABYTE:
        return f"{name} is larger than {MAX_MB} MB"
    return None
