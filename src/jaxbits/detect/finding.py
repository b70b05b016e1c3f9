"""What a detector reports: a finding, with the place it is about."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sysconfig
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Literal

from jaxbits import catalogue, compat

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

READ = {
    "control_flow": "value-needed-while-tracing",
    "out_of_bounds": "out-of-bounds-read",
    "leak": "side-effect-vanishes",
    "side_effect": "side-effect-vanishes",
    "recompile": "retrace-on-new-shape",
    "key_reuse": "one-key-for-two-draws",
}
"""The entry of the catalogue on which a check's findings link to the book."""

_paths = sysconfig.get_paths()
_LIBRARIES = tuple(
    {os.path.realpath(_paths[key]) + os.sep for key in ("purelib", "platlib", "stdlib")}
)
_HERE = os.path.dirname(os.path.realpath(__file__)) + os.sep


@functools.lru_cache(maxsize=8192)
def is_users(file: str) -> bool:
    """Whether a file is the user's: not a library's, not Python's own, not of this package.

    >>> is_users("<ipython-input-1>"), is_users(os.__file__)
    (True, False)
    """
    if not file or file.startswith(("<frozen", "<string>", "<__array_function__")):
        return False
    return not os.path.realpath(file).startswith((*_LIBRARIES, _HERE))


@dataclass(frozen=True)
class Place:
    """A line of code.

    Attributes:
        file: the file's path, or the name that a notebook gives to a cell.
        line: its number, from 1.
        function: the function that it stands in.
    """

    file: str
    line: int
    function: str = ""

    @property
    def text(self) -> str:
        """The line itself, without the white space around it; empty where it cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def ignores(self, check: str) -> bool:
        """Whether the line carries ``# jaxbits: ignore[check]``; several, separated by commas."""
        marked = re.search(r"#\s*jaxbits:\s*ignore\[([\w\s,]+)\]", self.text)
        return bool(marked) and check in re.split(r"[\s,]+", marked[1].strip()) if marked else False

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


def place_of(equation: Any) -> Place | None:
    """Return the innermost line of the user's code that made an equation, None where unknown."""
    for function, file, line in compat.frames(equation):
        if is_users(file):
            return Place(file, line, function)
    return None


def place_of_error(traceback: TracebackType | None) -> Place | None:
    """Return the last line of the user's code that an error passed through."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code.co_filename):
            found = Place(code.co_filename, traceback.tb_lineno, code.co_name)
        traceback = traceback.tb_next
    return found


@dataclass(frozen=True)
class Finding:
    """One sharp bit in the function that was checked.

    Attributes:
        check: the detector's name.
        severity: ``"error"``, ``"warning"`` or ``"note"``.
        message: what is wrong, in one line.
        evidence: what was seen, in numbers.
        fix: what to do, in one line.
        place: the line of code, None where it is not known.
    """

    check: str
    severity: Severity
    message: str
    evidence: str
    fix: str
    place: Place | None = None

    @property
    def link(self) -> str:
        """The section of the book on it; empty where the book has none yet."""
        entry = catalogue.load().get(READ.get(self.check, ""))
        return entry.link if entry else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as what JSON can hold."""
        place = self.place and {**asdict(self.place), "text": self.place.text}
        return {**asdict(self), "place": place, "link": self.link}

    def __str__(self) -> str:
        mark = {"error": "✗", "warning": "!", "note": "·"}[self.severity]
        lines = [f"{mark} {self.check}: {self.message}"]
        if self.place:
            lines.append(f"    {self.place}  {self.place.text}")
        lines += [f"    {word}: {text}" for word, text in self._details() if text]
        return "\n".join(lines)

    def _details(self) -> list[tuple[str, str]]:
        return [("seen", self.evidence), ("fix", self.fix), ("read", self.link)]
