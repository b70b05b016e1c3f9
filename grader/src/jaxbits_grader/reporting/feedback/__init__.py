"""What a student gets back: one page, of which nothing runs, loads, or gives a test away.

All of a notebook's text, code and outputs is taken for hostile. It comes onto the page escaped, or
through bleach's allow-list; the page's own policy forbids scripts and requests besides.
"""

from __future__ import annotations

from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment_source import Assignment
from jaxbits_grader.reporting.feedback import notebook_cells as cells
from jaxbits_grader.reporting.feedback import score_table as points
from jaxbits_grader.reporting.feedback.cell_outputs import OUTPUTS
from jaxbits_grader.reporting.feedback.page_template import FRAME
from jaxbits_grader.reporting.feedback.text_rendering import CHARACTERS, LINES, shown
from jaxbits_grader.reporting.grade_records import SCORED, Record

__all__ = ["CHARACTERS", "LINES", "OUTPUTS", "PAGE_CHARACTERS", "page"]

PAGE_CHARACTERS = 12_000_000


def page(assignment: Assignment, record: Record, notebook: NotebookNode) -> str:
    """Make the page that one student gets.

    Args:
        assignment: the source; of it come the title and the tasks, no solution and no test.
        record: what grading found.
        notebook: the student's notebook, run without hidden tests.

    Returns:
        An HTML document that needs nothing besides itself.
    """
    title, student = f"{assignment.title}: feedback", record.student[:200]
    by_id = {mark.id: mark for mark in record.marks} if record.status in SCORED else {}
    ran, placed = cells.rendered(notebook, by_id, PAGE_CHARACTERS)
    body = [
        f"<header><h1>{shown(title)}</h1><p>{shown(student)}</p></header>",
        f"<p>{shown(points.STATUS.get(record.status, record.status))}</p>",
        f'<p class="score">{points.score(record)}</p>',
        *points.notes(record),
        points.tasks(assignment, record),
        *(points.marked(mark) for id, mark in by_id.items() if id not in placed),
        *(["<h2>Your notebook, as it ran</h2>", *ran] if ran else []),
    ]
    document = FRAME.format(title=shown(f"{title}, {student}"), body="\n".join(body))
    # Half a character, as JSON can hold it, cannot be written to a file.
    return document.encode("utf-8", "replace").decode("utf-8")
