"""Define the record of a graded submission, and read and write it as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jaxbits_grader.files import write_atomically

# The statuses mean the following:
# - graded: The score counts.
# - flagged: The score counts, but something was repaired or looks odd.
# - partial: The score counts, but the notebook ended early or a cell was interrupted.
# - tampered: There is no score until a person has looked at the notebook.
# - unreadable: There is nothing to grade.
# - failed: The grader itself failed.
STATUSES = ("graded", "flagged", "partial", "tampered", "unreadable", "failed")
SCORED_STATUSES = ("graded", "flagged", "partial")


@dataclass(frozen=True)
class CellPoints:
    """The points earned in one test cell.

    Attributes:
        id: The grade_id of the cell.
        points: The number of points earned, or None if the cell did not run.
        max_points: The maximum number of points.
        message: The message of the failed test if the student may see it, or None otherwise.
    """

    id: str
    points: float | None
    max_points: float
    message: str | None = None


@dataclass(frozen=True)
class GradeRecord:
    """The result of grading one student's submission.

    Attributes:
        student: The student's name, taken from the name of the submission's file or folder.
        status: One of `STATUSES`.
        notes: The reasons for the status, and notes on what was repaired.
        cells: The points for the test cells in order, or an empty tuple if no tests were run.
        max_score: The maximum number of points for all tasks.
        digest: A hash of everything that the result depends on, such as the submission, the
            assignment, and the limits.
        unsafe: Whether the submission was graded without a sandbox.
        seconds: How long grading took, in seconds.
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
        """The sum of the points, or None if submissions with this status get no score."""
        if self.status not in SCORED_STATUSES:
            return None
        return sum(cell.points or 0.0 for cell in self.cells)


def write_record(path: Path, record: GradeRecord) -> None:
    """Write a record to a JSON file atomically.

    Args:
        path: The path of the JSON file.
        record: The record to write.
    """
    write_atomically(path, json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n")


def read_record(path: Path) -> GradeRecord | None:
    """Return the record in a file, or None if the file is missing or cannot be parsed."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        cells = tuple(CellPoints(**cell) for cell in found.pop("cells"))
        return GradeRecord(**{**found, "notes": tuple(found["notes"])}, cells=cells)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
