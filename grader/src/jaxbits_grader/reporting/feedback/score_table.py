"""What grading found, as HTML: the score, the notes, the points of each task and test cell."""

from __future__ import annotations

from collections.abc import Iterator

from jaxbits_grader.authoring.assignment_source import Assignment
from jaxbits_grader.reporting.feedback.text_rendering import cut, shown
from jaxbits_grader.reporting.grade_records import SCORED, Mark, Record

NOTES = 200

STATUS = {
    "graded": "Graded.",
    "flagged": "Graded; see the notes.",
    "partial": "Graded as far as your notebook ran; see the notes.",
    "tampered": "Not scored yet: a person has to look at your notebook first.",
    "unreadable": "Not graded: the file could not be read as a notebook.",
    "failed": "Not graded: the grader did not get through. This says nothing of your answers.",
}


def score(record: Record) -> str:
    """The score in a few words."""
    if record.score is None:
        return "There is no score."
    return f"{record.score:g} of {record.max_score:g} points"


def notes(record: Record) -> Iterator[str]:
    """What grading noticed, if anything; not what it takes for tampering, which a person judges."""
    noted = [note for note in record.notes if not note.startswith("tampered: ")]
    if noted:
        said = [cut(note) for note in noted[:NOTES]]
        if len(noted) > NOTES:
            said.append(f"There are {len(noted) - NOTES} more.")
        items = "".join(f"<li>{shown(note)}</li>" for note in said)
        yield f"<h2>Notes</h2><ul>{items}</ul>"


def tasks(assignment: Assignment, record: Record) -> str:
    """A table of the tasks, the points for each, and what full marks mean."""
    points = {mark.id: mark.points or 0.0 for mark in record.marks}
    scored = record.status in SCORED
    rows = []
    for number, task in enumerate(assignment.tasks, 1):
        got = f"{sum(points.get(id, 0.0) for id in task.points):g}" if scored else "–"
        rows.append(
            f"<tr><td>{number}</td><td>{got} of {task.total}</td><td>{shown(task.rubric)}</td></tr>"
        )
    return (
        "<h2>Points by task</h2><table tabindex='0'><thead><tr><th>Task</th><th>Points</th>"
        f"<th>What full marks mean</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def marked(mark: Mark) -> str:
    """The word under a test cell: its points, its id, and what was found wrong."""
    id = f"<code>{shown(mark.id)}</code>"
    if mark.points is None:
        return f'<div class="marks lost"><p>These tests were not reached. {id}</p></div>'
    if mark.points >= mark.of:
        of = f"{mark.points:g} of {mark.of:g} points"
        return f'<div class="marks full"><p>✓ {of} {id}</p></div>'
    says = f"What the hidden tests found: {shown(mark.says)}" if mark.says else None
    return (
        f'<div class="marks lost"><p>✗ {mark.points:g} of {mark.of:g} points {id}</p>'
        f"<p>{says or 'A test of this property failed.'}</p></div>"
    )
