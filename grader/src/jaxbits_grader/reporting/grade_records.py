"""What grading found, a record for each student, and the tables made of the records."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jaxbits_grader.files import write_file

# graded: the mark stands. flagged: it stands, something was mended or looks odd. partial: what was
# earned until the notebook broke off. tampered: a person has to look. unreadable: there is nothing
# to grade. failed: the grader itself did not get through.
STATUSES = ("graded", "flagged", "partial", "tampered", "unreadable", "failed")
SCORED = ("graded", "flagged", "partial")


@dataclass(frozen=True)
class Mark:
    """The points of one test cell, and what the student may be told of it."""

    id: str
    points: float | None
    of: float
    says: str | None = None


@dataclass(frozen=True)
class Record:
    """What grading found for one student.

    Attributes:
        student: the student's name, as the submission's file or folder gives it.
        status: one of `STATUSES`.
        notes: why, and what was mended, a sentence each.
        marks: the points by test cell, in the assignment's order; empty where there are none.
        max_score: the points to be had.
        digest: of everything the result depends on: the submission, the assignment, the limits.
        unsafe: graded without a sandbox.
        seconds: how long it took.
        submission: the digest of the submission alone.
        source: the digest of the assignment's source.
    """

    student: str
    status: str
    notes: tuple[str, ...]
    marks: tuple[Mark, ...]
    max_score: float
    digest: str = ""
    unsafe: bool = False
    seconds: float = 0.0
    submission: str = ""
    source: str = ""

    @property
    def score(self) -> float | None:
        """The sum of the points, None where there is no mark that stands."""
        if self.status not in SCORED:
            return None
        return sum(mark.points or 0.0 for mark in self.marks)


def write(path: Path, record: Record) -> None:
    """Write a record in one step."""
    write_file(path, json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n")


def read(path: Path) -> Record | None:
    """Read a record; None where there is none that can be read."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        marks = tuple(Mark(**mark) for mark in found.pop("marks"))
        return Record(**{**found, "notes": tuple(found["notes"])}, marks=marks)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _plain(text: str) -> str:
    """Text that is one line, and that no spreadsheet takes for a formula."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", text).split())
    return f"'{line}" if line[:1] in ("=", "+", "-", "@") else line


def table(records: Iterable[Record], tasks: Mapping[str, Iterable[str]]) -> str:
    """The results as CSV: ``student,status,score,max_score,notes``, then a column for each task.

    Args:
        records: what grading found.
        tasks: the ids of the test cells of each task, in the assignment's order.

    Returns:
        A line for each student, in the order of their names; an empty score where there is none.
    """
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["student", "status", "score", "max_score", "notes", *tasks])
    for record in sorted(records, key=lambda r: r.student):
        notes = ["UNSAFE: graded without a sandbox"] * record.unsafe + list(record.notes)
        points = {mark.id: mark.points for mark in record.marks}
        rows.writerow(
            [
                _plain(record.student),
                record.status,
                _number(record.score),
                _number(record.max_score),
                _plain("; ".join(notes)),
                *(_number(_of_task(record, points, cells)) for cells in tasks.values()),
            ]
        )
    return out.getvalue()


def _of_task(
    record: Record, points: Mapping[str, float | None], cells: Iterable[str]
) -> float | None:
    if record.status not in SCORED:
        return None
    return sum(points.get(cell) or 0.0 for cell in cells)
