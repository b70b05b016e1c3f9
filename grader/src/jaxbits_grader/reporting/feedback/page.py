"""Render a student's feedback page."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader
from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.grade_records import SCORED_STATUSES, GradeRecord
from jaxbits_grader.reporting.feedback.notebook_cells import render_cells
from jaxbits_grader.reporting.feedback.text import clean_line, truncate

MAX_PAGE_CHARACTERS = 12_000_000
MAX_NOTES = 200

_STATUS_TEXTS = {
    "graded": "Graded.",
    "flagged": "Graded. Please read the notes.",
    "partial": "Graded, but not all of your notebook ran to the end. Please read the notes.",
    "tampered": "Not scored yet, because your teacher has to look at your notebook first.",
    "unreadable": (
        "Not graded, because no notebook could be graded. The notes say why. "
        "Hand in the .ipynb file that contains your answers to this assignment."
    ),
    "failed": "Not graded yet. The notes say why. This says nothing about your answers.",
}


def _format_number(value: float) -> str:
    return f"{value:g}"


_ENVIRONMENT = Environment(
    loader=PackageLoader("jaxbits_grader.reporting", "feedback"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {"line": clean_line, "number": _format_number}


def render_page(assignment: Assignment, record: GradeRecord, notebook: NotebookNode) -> str:
    """Render a feedback page as an HTML document that loads no other files.

    Args:
        assignment: The assignment. The page shows its title and rubrics, but neither solutions nor
            hidden tests.
        record: The result of grading the student's submission.
        notebook: The student's notebook, executed without hidden tests.
    """
    points = {cell.id: cell for cell in record.cells if record.status in SCORED_STATUSES}
    parts, placed = render_cells(notebook, points, MAX_PAGE_CHARACTERS)
    page = _ENVIRONMENT.get_template("page.html.j2").render(
        title=clean_line(f"{assignment.title}: feedback"),
        student=clean_line(record.student[:200]),
        status=_STATUS_TEXTS.get(record.status, record.status),
        score=_score_text(record),
        notes=[clean_line(note) for note in _visible_notes(record)],
        tasks=_task_rows(assignment, record),
        has_exception=any(" before this check: " in (c.message or "") for c in points.values()),
        unplaced=[cell for id, cell in points.items() if id not in placed],
        parts=parts,
    )
    # Replace lone surrogates, which JSON can contain, because they cannot be encoded as UTF-8.
    return page.encode("utf-8", "replace").decode("utf-8")


def _score_text(record: GradeRecord) -> str:
    if record.score is None:
        return "There is no score."
    return f"{record.score:g} of {record.max_score:g} points"


def _visible_notes(record: GradeRecord) -> list[str]:
    """Return the notes that a student may see.

    The result omits signs of tampering, because a person has to judge them first.
    """
    notes = [note for note in record.notes if not note.startswith("tampered: ")]
    visible = [truncate(note) for note in notes[:MAX_NOTES]]
    if len(notes) > MAX_NOTES:
        visible.append(f"There are {len(notes) - MAX_NOTES} more notes.")
    return visible


def _task_rows(assignment: Assignment, record: GradeRecord) -> list[dict[str, object]]:
    points = {cell.id: cell.points or 0.0 for cell in record.cells}
    has_score = record.status in SCORED_STATUSES
    return [
        {
            "points": f"{sum(points.get(t, 0.0) for t in task.points):g}" if has_score else "–",
            "total": task.total,
            "rubric": clean_line(task.rubric),
        }
        for task in assignment.tasks
    ]
