"""What is made of an assignment's source: the student's notebook, the solution, the stub."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import nbformat
from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment_source import Assignment, marks
from jaxbits_grader.authoring.variants import without_ranges

_SOLUTION = re.compile(
    r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION[^\n]*\n?", re.M | re.S
)
_HIDDEN = re.compile(
    r"^[ \t]*### BEGIN HIDDEN TESTS\n(.*?)^[ \t]*### END HIDDEN TESTS[^\n]*\n?", re.M | re.S
)
BAR = r"\|"  # a bar within a table
STUB = "# YOUR CODE HERE\nraise NotImplementedError()\n"


def stub(source: str) -> str:
    r"""The text of a solution cell as the student gets it.

    Example:
        >>> print(stub("def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION"))
        def f():
            # YOUR CODE HERE
            raise NotImplementedError()
    """
    replaced = _SOLUTION.sub(lambda m: _indented(STUB, m[1]), source + "\n")
    return replaced.rstrip("\n")


def solved(source: str) -> str:
    """The text of a solution cell without the lines that mark the solution."""
    replaced = _SOLUTION.sub(lambda m: m[2], source + "\n")
    return replaced.rstrip("\n")


def shown(source: str) -> str:
    """The text of a test cell as the student gets it: without the hidden tests."""
    return _HIDDEN.sub("", source + "\n").rstrip("\n")


def hidden(source: str) -> list[str]:
    """The hidden parts of a test cell."""
    return _HIDDEN.findall(source + "\n")


def _indented(text: str, indent: str) -> str:
    return "".join(indent + line for line in text.splitlines(keepends=True))


def introduction(assignment: Assignment) -> NotebookNode:
    """The first cell: title, goals, time, and what each task is marked for."""
    rows = "\n".join(
        f"| {number} | {task.total} | {task.rubric.replace('|', BAR)} |"
        for number, task in enumerate(assignment.tasks, 1)
    )
    goals = "\n".join(f"- {goal}" for goal in assignment.goals)
    text = f"""# {assignment.title}: assignment

**Points**: {assignment.points}. **Time**: about {assignment.minutes} minutes.

When you are through, you can

{goals}

| task | points | full marks |
|---:|---:|:---|
{rows}

Write your answers where `# YOUR CODE HERE` stands, in place of the line that raises. You may add \
cells of your own; leave the other cells as they are. Under each task are tests that you can run; \
more tests, of the same properties, run when your notebook is graded. Before you hand it in, \
restart the kernel and run all cells from the top."""
    return nbformat.v4.new_markdown_cell(text, id="introduction")


def complete(assignment: Assignment) -> NotebookNode:
    """The teacher's notebook: solutions and hidden tests, marked as nbgrader wants its source."""
    notebook = copy.deepcopy(assignment.notebook)
    for cell in notebook.cells:
        cell.source = without_ranges(cell.source)
    notebook.cells.insert(0, introduction(assignment))
    return notebook


def student(assignment: Assignment) -> NotebookNode:
    """The notebook that is handed out: stubs, and the tests that may be seen.

    Cells that are not answers are locked, as nbgrader does it.
    """
    notebook = complete(assignment)
    for cell in notebook.cells:
        mark = marks(cell)
        if mark.get("solution"):
            cell.source = stub(cell.source)
            cell.metadata["deletable"] = False
        elif mark:
            cell.source = shown(cell.source)
            cell.metadata["deletable"] = cell.metadata["editable"] = False
    return notebook


def solution(assignment: Assignment, answers: dict[str, str] | None = None) -> NotebookNode:
    """The student's notebook with the solutions filled in, or with other answers for some tasks.

    Args:
        assignment: the source.
        answers: source of the answer cell by task; the solution where it has none.
    """
    notebook = student(assignment)
    for cell in notebook.cells:
        mark = marks(cell)
        if mark.get("solution"):
            own = solved(without_ranges(assignment.cell(cell.id).source))
            cell.source = (answers or {}).get(cell.id, own)
    return notebook


def leaks(assignment: Assignment, released: NotebookNode) -> list[str]:
    """What a released notebook holds of solutions and hidden tests, line by line.

    A line counts when it says something of its own: one that also stands in the text, in a given
    cell or in a test that may be seen, gives nothing away.
    """
    public = {
        line.strip()
        for cell in assignment.notebook.cells
        for line in stub(shown(without_ranges(cell.source))).splitlines()
    }
    secret = set()
    for cell in assignment.notebook.cells:
        source = without_ranges(cell.source)
        parts = hidden(source) + [m[1] for m in _SOLUTION.findall(source + "\n")]
        secret |= {line.strip() for part in parts for line in part.splitlines()}
    # What the release has to say is public, and what the introduction is made of.
    public |= {line.strip() for line in introduction(assignment).source.splitlines()}
    own = {line.strip() for text in _strings(released) for line in text.splitlines()} - public
    secret -= public | {""}
    found = [s for s in sorted(secret) if s in own or (len(s) > 8 and any(s in o for o in own))]
    text = nbformat.writes(released)
    found += [word for word in ("HIDDEN TESTS", "BEGIN SOLUTION", "variant:") if word in text]
    return found


def _strings(part: Any) -> Iterator[str]:
    """Every text in a notebook: sources, outputs, metadata."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _strings(inner)
