"""A submission, what must become of it, and what is wrong with what did."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

Score = float | tuple[float, float] | None
Place = Callable[[Path, str], None]
# A notebook; a file's bytes; the files of a student's folder; what writes the entry itself.
Content = NotebookNode | bytes | Mapping[str, bytes] | Place
GRADED = frozenset({"graded"})
FINE = frozenset({"graded", "flagged"})
ENDED = frozenset({"partial"})
STOPPED = frozenset({"partial", "flagged"})
SCORED = RAN = frozenset({"graded", "flagged", "partial"})
LOOKED_AT = RAN | {"tampered"}


@dataclass(frozen=True)
class Expected:
    """What must become of a submission.

    Attributes:
        statuses: the statuses that are right.
        score: the score, or the least and the most of it, if the status is one with a score; None
            if no status with a score is right. A status without a score has a blank one.
        notes: regular expressions, each of which the notes must match.
        forbidden: what may stand nowhere in the feedback or the CSV, also not between tags.
        live: regular expressions of markup that may not stand in the feedback as it is.
        family: the kind of submission.
        slow: whether it ends only at the limit of time or memory.
        core: whether it is one of those that stand for all.
        what: what it tries.
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
        """What is not as it must be; `shown` is the text of the feedback and the CSV."""
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
    """One student's entry, and what must become of it."""

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
