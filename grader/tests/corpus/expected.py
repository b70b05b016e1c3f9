"""A submission, its expected result, and the complaints about an actual result."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

Score = float | tuple[float, float] | None
Place = Callable[[Path, str], None]
# A notebook, the bytes of a file, the files of a folder, or a function that writes the entry.
Content = NotebookNode | bytes | Mapping[str, bytes] | Place
GRADED = frozenset({"graded"})
FINE = frozenset({"graded", "flagged"})
ENDED = frozenset({"partial"})
STOPPED = frozenset({"partial", "flagged"})
SCORED = RAN = frozenset({"graded", "flagged", "partial"})
LOOKED_AT = RAN | {"tampered"}


@dataclass(frozen=True)
class Expected:
    """The expected result of a submission.

    Attributes:
        statuses: The acceptable statuses.
        score: The score, or its minimum and maximum, if the status has a score. None if no
            acceptable status has one.
        notes: Regular expressions, each of which the notes must match.
        forbidden: Strings that neither the page nor the table may show, not even between tags.
        live: Regular expressions of markup that may not be on the page unescaped.
        family: The kind of submission.
        slow: Whether it ends only at the limit of time or memory.
        core: Whether it is representative of its family.
        what: What it tries.
    """

    statuses: frozenset[str]
    score: Score
    notes: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
    family: str = ""
    slow: bool = False
    core: bool = False
    what: str = ""

    def complaints(
        self, status: str, score: float | None, notes: str, shown: str = ""
    ) -> list[str]:
        """Return what differs from the expectation. `shown` is the text of the page and table."""
        found = []
        if status not in self.statuses:
            found.append(f"the status is {status}, not one of {sorted(self.statuses)}")
        if status not in SCORED:
            if score is not None:
                found.append(f"the score is {score}, and should be blank")
        elif self.score is not None:
            low, high = self.score if isinstance(self.score, tuple) else (self.score, self.score)
            if score is None or not low - 1e-9 <= score <= high + 1e-9:
                found.append(f"the score is {score}, not {self.score}")
        found += [f"no note says {r!r}: {notes!r}" for r in self.notes if not re.search(r, notes)]
        plain = html.unescape(re.sub(r"<[^>]*>", "", shown))
        found += [f"shows {text[:80]!r}" for text in self.forbidden if text in shown + plain]
        found += [f"would run {regex!r}" for regex in self.live if re.search(regex, shown)]
        return found


@dataclass(frozen=True)
class Submission:
    """One student's entry, and its expected result."""

    student: str
    family: str
    what: str
    content: Content
    statuses: frozenset[str]
    score: Score
    notes: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
    slow: bool = False
    core: bool = False
