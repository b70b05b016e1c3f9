"""A submission, its expected result, and the comparison with an actual result."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

Score = float | tuple[float, float] | None
Place = Callable[[Path, str], None]
# A notebook, the bytes of a file, the files in a folder, or a function that writes the entry.
Content = NotebookNode | bytes | Mapping[str, bytes] | Place
GRADED = frozenset({"graded"})
GRADED_OR_FLAGGED = frozenset({"graded", "flagged"})
PARTIAL = frozenset({"partial"})
PARTIAL_OR_FLAGGED = frozenset({"partial", "flagged"})
SCORED = RAN = frozenset({"graded", "flagged", "partial"})
RAN_OR_TAMPERED = RAN | {"tampered"}


@dataclass(frozen=True)
class Expected:
    """The expected result of a submission.

    Attributes:
        statuses: The acceptable statuses.
        score: The score, or a pair of its minimum and maximum. It is None if no acceptable status
            has a score.
        notes: Regular expressions, each of which must match the notes.
        forbidden: Strings that neither the page nor the table may show, even if tags split them.
        live: Regular expressions for markup that must not appear on the page unescaped.
        family: The kind of submission.
        slow: Whether the submission runs until it reaches the time or memory limit.
        core: Whether the submission is representative of its family.
        page: Regular expressions, each of which must match the text of the page or the table.
        summary: What the submission contains or tries to do.
    """

    statuses: frozenset[str]
    score: Score
    notes: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
    family: str = ""
    slow: bool = False
    core: bool = False
    page: tuple[str, ...] = ()
    summary: str = ""

    def mismatches(
        self, status: str, score: float | None, notes: str, shown: str = ""
    ) -> list[str]:
        """Return descriptions of how the actual result differs from the expected one.

        `shown` is the text of the feedback page and the results table.
        """
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
        found += [f"the page does not say {r!r}" for r in self.page if not re.search(r, plain)]
        found += [f"would run {regex!r}" for regex in self.live if re.search(regex, shown)]
        return found


@dataclass(frozen=True)
class Submission:
    """One student's entry with its expected result."""

    student: str
    family: str
    summary: str
    content: Content
    statuses: frozenset[str]
    score: Score
    notes: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
    slow: bool = False
    core: bool = False
    page: tuple[str, ...] = ()
