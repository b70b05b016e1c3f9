"""Create the teacher, student, and solution versions of an assignment's notebook."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import nbformat
from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.cell_markers import (
    HIDDEN_TESTS,
    SOLUTION,
    block_texts,
    solution_source,
    stub_source,
    visible_tests,
)
from jaxbits_grader.notebook import nbgrader_metadata

_ESCAPED_BAR = r"\|"


def introduction_cell(assignment: Assignment) -> NotebookNode:
    """Return the first cell, which shows the title, time, and goals, and each task's rubric."""
    rows = "\n".join(
        f"| {number} | {task.total} | {task.rubric.replace('|', _ESCAPED_BAR)} |"
        for number, task in enumerate(assignment.tasks, 1)
    )
    goals = "\n".join(f"- {goal}" for goal in assignment.goals)
    text = f"""# {assignment.title}: assignment

**Points:** {assignment.points} · **Time:** about {assignment.minutes} minutes

After this assignment, you can

{goals}

| task | points | full marks |
|---:|---:|:---|
{rows}

Write your answers where it says `# YOUR CODE HERE`, and replace the line that raises an error. \
You may add your own cells, but do not change any other cell. Each task is followed by tests that \
you can run. Hidden tests check the same properties when your notebook is graded. Before you hand \
in the notebook, restart the kernel and run all cells."""
    return nbformat.v4.new_markdown_cell(text, id="introduction")


def teacher_notebook(assignment: Assignment) -> NotebookNode:
    """Return the notebook with solutions and hidden tests, in the form that nbgrader expects."""
    notebook = copy.deepcopy(assignment.notebook)
    notebook.cells.insert(0, introduction_cell(assignment))
    return notebook


def student_notebook(assignment: Assignment) -> NotebookNode:
    """Return the notebook to hand out to students.

    It contains stubs in place of the solutions, and only the visible tests. Its cells are locked
    just as nbgrader would lock them.
    """
    notebook = teacher_notebook(assignment)
    for cell in notebook.cells:
        metadata = nbgrader_metadata(cell)
        if metadata.get("solution"):
            cell.source = stub_source(cell.source)
            cell.metadata["deletable"] = False
        elif metadata:
            cell.source = visible_tests(cell.source)
            cell.metadata["deletable"] = cell.metadata["editable"] = False
    return notebook


def solution_notebook(
    assignment: Assignment, answers: Mapping[str, str] | None = None
) -> NotebookNode:
    """Return the student's notebook with every task answered.

    Args:
        assignment: The assignment.
        answers: The sources of the answer cells, keyed by task id. Other tasks get their solutions.
    """
    notebook = student_notebook(assignment)
    for cell in notebook.cells:
        if nbgrader_metadata(cell).get("solution"):
            solution = solution_source(assignment.cell(cell.id).source)
            cell.source = (answers or {}).get(cell.id, solution)
    return notebook


def find_leaks(assignment: Assignment, released: NotebookNode) -> list[str]:
    """Return the lines from solutions and hidden tests that appear in a released notebook.

    A line that also appears in a text cell, in a given cell, or in a visible test does not count,
    because it reveals nothing.

    Args:
        assignment: The assignment.
        released: The notebook to search, including its outputs and metadata.
    """
    public, secret = set(), set()
    for cell in assignment.notebook.cells:
        source = cell.source
        public |= _stripped_lines(stub_source(visible_tests(source)))
        for kind in (HIDDEN_TESTS, SOLUTION):
            secret |= _stripped_lines("\n".join(block_texts(source, kind)))
    public |= _stripped_lines(introduction_cell(assignment).source)
    own = {line for text in _strings(released) for line in _stripped_lines(text)} - public
    secret -= public | {""}
    found = [s for s in sorted(secret) if s in own or (len(s) > 8 and any(s in o for o in own))]
    text = nbformat.writes(released)
    return found + [
        word for word in (HIDDEN_TESTS, f"BEGIN {SOLUTION}", "variant:") if word in text
    ]


def _stripped_lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()}


def _strings(part: Any) -> Iterator[str]:
    """Yield every string in a notebook."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _strings(inner)
