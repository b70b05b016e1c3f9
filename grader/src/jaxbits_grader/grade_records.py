"""The result of grading a student, and how it is stored."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jaxbits_grader.files import write_atomically

# graded: the score counts. flagged: it counts, but something was repaired or looks odd. partial:
# it counts up to where the notebook ended early. tampered: a person has to look. unreadable: there
# is nothing to grade. failed: the grader itself failed.
STATUSES = ("graded", "flagged", "partial", "tampered", "unreadable", "failed")
SCORED_STATUSES = ("graded", "flagged", "partial")


@dataclass(frozen=True)
class CellPoints:
    """The points of one test cell.

    Attributes:
        id: The grade_id of the cell.
        points: The points, None if the cell did not run.
        max_points: The maximum.
        message: What the student may be shown of a failed test.
    """

    id: str
    points: float | None
    max_points: float
    message: str | None = None


@dataclass(frozen=True)
class GradeRecord:
    """The result of grading one student.

    Attributes:
        student: The student, named after the file or folder of the submission.
        status: One of `STATUSES`.
        notes: The reasons for the status, and what was repaired.
        cells: The points of the test cells in order, empty if there are none.
        max_score: The points of all tasks.
        digest: A hash of everything the result depends on: submission, assignment, and limits.
        unsafe: Whether the submission was graded without a sandbox.
        seconds: How long grading took.
        submission: The hash of the submission alone.
        source: The hash of the assignment's source.
    """

    student: str
    status: str
    notes: tuple[str, ...]
    cells: tuple[CellPoints, ...]
    max_score: float
    digest: str = ""
    unsafe: bool = False
    seconds: float = 0.0
    submission: str = ""
    source: str = ""

    @property
    def score(self) -> float | None:
        """The sum of the points, None if the status has no score."""
        if self.status not in SCORED_STATUSES:
            return None
        return sum(cell.points or 0.0 for cell in self.cells)


def write_record(path: Path, record: GradeRecord) -> None:
    """Write a record as JSON, atomically.

    Args:
        path: The file.
        record: The record.
    """
    write_atomically(path, json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n")


def read_record(path: Path) -> GradeRecord | None:
    """Read a record, None if the file is missing or cannot be read."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        cells = tuple(CellPoints(**cell) for cell in found.pop("cells"))
        return GradeRecord(**{**found, "notes": tuple(found["notes"])}, cells=cells)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
