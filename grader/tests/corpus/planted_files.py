"""The secrets on the grading machine, and checks that no attack had an effect."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

# Every process that a submission leaves behind is a `sleep` with this argument.
SLEEP_SECONDS = "77777.7"
# Every file that a submission writes outside its folder has this name.
STRAY = "jaxbits-corpus-was-here"
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/", "~")


@dataclass(frozen=True)
class Secrets:
    """The targets that a test plants on the grading machine.

    Attributes:
        course: The course folder.
        gradebook: The gradebook file.
        other: Another student's submission in `submissions`. The student is `NEIGHBOR`.
        other_text: A string that appears only in `other`.
        file: A file outside the course and the submissions.
        text: The content of `file`.
        variable: The name of an environment variable that is set for the grader.
        value: The value of `variable`.
        port: The port on 127.0.0.1 on which the test listens over TCP and UDP.
        submissions: The folder that contains all submissions.
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


def encodings(secret: str) -> tuple[str, ...]:
    """Return a secret unchanged, reversed, in hexadecimal, and in base64."""
    data = secret.encode()
    return secret, secret[::-1], data.hex(), base64.b64encode(data).decode().rstrip("=")


def snapshot(*places: Path) -> dict[str, str]:
    """Return the state of files and folders, which a test compares before and after a run."""
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
    # Pipes have no end, and sparse files can be huge, so neither is read.
    if not stat.S_ISREG(about.st_mode) or about.st_size > 2**28:
        return kind
    return f"{kind} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def leftover_processes() -> list[int]:
    """Return the ids of processes that submissions have left behind."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes().split(b"\0")
        except OSError:  # The process has ended in the meantime.
            continue
        if SLEEP_SECONDS.encode() in arguments:
            found.append(int(path.parent.name))
    return found


def stray_files() -> list[Path]:
    """Return the files that submissions have written outside their folders."""
    places = [Path(place).expanduser() for place in PLACES]
    return [place / STRAY for place in places if (place / STRAY).exists()]


def own_namespaces() -> dict[str, str]:
    """Return the namespaces of this process, in which harmful code refuses to run."""
    try:
        return {name: os.readlink(f"/proc/self/ns/{name}") for name in ("pid", "mnt")}
    except OSError:
        return {}
