"""What a detector reports: a finding, with the place it is about."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any, Literal

from jaxbits import catalogue, compat

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

_paths = sysconfig.get_paths()
_LIBRARIES = tuple(
    {os.path.realpath(_paths[key]) + os.sep for key in ("purelib", "platlib", "stdlib")}
)
_HERE = os.path.dirname(os.path.realpath(__file__)) + os.sep
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))
_OURS = (_HERE, *(os.path.join(_PACKAGE, f"{name}.py") for name in ("audit", "command")))


_INSTALLED = {"site-packages", "dist-packages"}


@functools.lru_cache(maxsize=8192)
def is_users(file: str) -> bool:
    """Whether a file is the user's: not a library's, not Python's own, not of this package.

    Packages in another environment that this one reaches are libraries too.

    >>> is_users("<ipython-input-1>"), is_users(os.__file__)
    (True, False)
    """
    if not file or file.startswith(("<frozen", "<string>", "<__array_function__")):
        return False
    path = os.path.realpath(file)
    if not _INSTALLED.isdisjoint(path.split(os.sep)):
        return False
    return not path.startswith((*_LIBRARIES, *_OURS))


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
        cell = _cells().get(self.file)
        name = f"In[{cell}]" if cell is not None else os.path.basename(self.file)
        return f"{name}:{self.line}"


def _cells() -> Mapping[str, Any]:
    """Return the numbers of a notebook's cells by the names that IPython gives their files."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython and hasattr(ipython, "get_ipython") else None
    names = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return names if isinstance(names, Mapping) else {}


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
        bit: the entry of the catalogue it is about, where the detector can tell several apart.
        count: how many findings of the check on this line it stands for.
        also: what the others of them say, where they say something else.
    """

    check: str
    severity: Severity
    message: str
    evidence: str
    fix: str
    place: Place | None = None
    bit: str = ""
    count: int = 1
    also: tuple[str, ...] = ()

    @property
    def _known(self) -> catalogue.SharpBit | None:
        """The sharp bit it is about: `bit`, or the one that is most about the check."""
        return catalogue.load().get(self.bit) or catalogue.about(self.check)

    @property
    def link(self) -> str:
        """The address of the section on it; empty if the book has no section or no address."""
        return self._known.link if self._known else ""

    @property
    def reference(self) -> str:
        """The section on it in words, with its chapter; empty if the book has none."""
        return self._known.reference if self._known else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as what JSON can hold."""
        place = self.place and {**asdict(self.place), "text": self.place.text}
        plain = {**asdict(self), "also": list(self.also), "place": place}
        plain |= {"link": self.link, "reference": self.reference}
        del plain["bit"]
        return plain

    @property
    def title(self) -> str:
        """The message, with how often it was found on its line."""
        where = "on this line" if self.place else "like it"
        return f"{self.message} ({self.count} {where})" if self.count > 1 else self.message

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.title} [{self.check}]"]
        if self.place:
            lines.append(f"    {self.place}  {self.place.text}")
        lines += [f"    {word}: {text}" for word, text in self.details() if text]
        return "\n".join(lines)

    def details(self) -> list[tuple[str, str]]:
        """Return what is said below the message, with the word before each."""
        also = [("also", text) for text in self.also]
        return [
            *also,
            ("seen", self.evidence),
            ("fix", self.fix),
            ("read", self.link or self.reference),
        ]


def folded(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings, the gravest first, with those of one check on one line made one.

    >>> here = Place("step.py", 3)
    >>> twice = [Finding("leak", "error", "kept", f"in {n}", "return it", here) for n in "ab"]
    >>> [(f.evidence, f.count) for f in folded(twice)]
    [('in a', 2)]
    """
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: SEVERITIES.index(f.severity)):
        place = finding.place
        where = (place.file, place.line) if place else (finding.message,)
        groups.setdefault((finding.check, *where), []).append(finding)
    made = []
    for first, *others in groups.values():
        said = dict.fromkeys(o.message for o in others if o.message != first.message)
        count = sum(f.count for f in (first, *others))
        made.append(replace(first, count=count, also=(*first.also, *said)))
    return made
