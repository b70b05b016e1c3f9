"""Format the results of an assignment as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping

from jaxbits_grader.grade_records import SCORED_STATUSES, GradeRecord
from jaxbits_grader.intake.submissions import Submission


def results_table(records: Iterable[GradeRecord], tasks: Mapping[str, Iterable[str]]) -> str:
    """Return the results as CSV, sorted by student.

    The columns are ``student,status,score,max_score,notes``, one column per task, and ``feedback``,
    the name of the student's feedback page. The score columns are empty if submissions with the
    student's status get no score.

    Args:
        records: The grade records, one per student.
        tasks: The grade_ids of each task's test cells, in assignment order.
    """
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["student", "status", "score", "max_score", "notes", *tasks, "feedback"])
    for record in sorted(records, key=lambda r: r.student):
        notes = ["UNSAFE: graded without a sandbox"] * record.unsafe + list(record.notes)
        points = {cell.id: cell.points for cell in record.cells}
        has_score = record.status in SCORED_STATUSES
        totals = [
            sum(points.get(cell) or 0.0 for cell in cells) if has_score else None
            for cells in tasks.values()
        ]
        numbers = _format_number(record.score), _format_number(record.max_score)
        student, all_notes = _plain_text(record.student), _plain_text("; ".join(notes))
        page = f"{Submission(record.student, None).id}.html"
        points_of_tasks = map(_format_number, totals)
        rows.writerow([student, record.status, *numbers, all_notes, *points_of_tasks, page])
    return out.getvalue()


def _format_number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _plain_text(text: str) -> str:
    """Return the text as a single line that no spreadsheet program treats as a formula."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", text).split())
    return f"'{line}" if line[:1] in ("=", "+", "-", "@") else line
