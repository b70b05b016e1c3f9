"""What a test plants on the grading machine, and how it sees that nothing came of the attacks."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

# Every child that a submission leaves is a `sleep` of this length, by which it is found.
LEFT = "77777.7"
# Every file that a submission writes where it has no business is called so.
STRAY = "jaxbits-corpus-was-here"
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/", "~")


@dataclass(frozen=True)
class Secrets:
    """What the test has put on the grading machine, for the submissions to go after.

    Attributes:
        course: the folder with the assignments' sources.
        gradebook: the gradebook's file.
        other: another student's submission; best the entry of `NEIGHBOUR` in `submissions`.
        other_text: words that stand in it and nowhere else.
        file: a file outside of all of these.
        text: what it holds.
        variable: a variable of the environment that the grader is started with.
        value: what it holds.
        port: where the test listens, on 127.0.0.1, over TCP and UDP.
        submissions: the folder with all submissions.
    """

    course: Path
    gradebook: Path
    other: Path
    other_text: str
    file: Path
    text: str
    variable: str
    value: str
    port: int
    submissions: Path


def forms(secret: str) -> tuple[str, ...]:
    """A secret as it is, backwards, as hexadecimal digits, and in base 64."""
    data = secret.encode()
    return secret, secret[::-1], data.hex(), base64.b64encode(data).decode().rstrip("=")


def snapshot(*places: Path) -> dict[str, str]:
    """What stands in files and folders, to be compared with what stands there afterwards."""
    found = {}
    for place in places:
        for path in [place, *sorted(place.rglob("*"))] if place.is_dir() else [place]:
            found[str(path)] = _state(path)
    return found


def _state(path: Path) -> str:
    try:
        about = path.lstat()
    except FileNotFoundError:
        return "nothing"
    kind = f"{stat.filemode(about.st_mode)} {about.st_size if path.is_file() else ''}"
    if stat.S_ISLNK(about.st_mode):
        return f"{kind} to {os.readlink(path)}"
    # Neither a pipe, which has no end, nor a sparse file of gigabytes is read.
    if not stat.S_ISREG(about.st_mode) or about.st_size > 2**28:
        return kind
    return f"{kind} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def left_behind() -> list[int]:
    """The processes that submissions started and that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes().split(b"\0")
        except OSError:  # it has ended by now
            continue
        if LEFT.encode() in arguments:
            found.append(int(path.parent.name))
    return found


def strays() -> list[Path]:
    """The files that submissions wrote where they have no business."""
    places = [Path(place).expanduser() for place in PLACES]
    return [place / STRAY for place in places if (place / STRAY).exists()]


def own_namespaces() -> dict[str, str]:
    """The namespaces of this process: what could harm a machine refuses to run in the same ones."""
    try:
        return {name: os.readlink(f"/proc/self/ns/{name}") for name in ("pid", "mnt")}
    except OSError:
        return {}
