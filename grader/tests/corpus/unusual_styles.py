"""Honest notebooks with right answers in unusual styles, one for each of the book's assignments.

Each file in `styles` contains the cells that a student wrote, as Python blocks. The word after
``python`` says where a block goes:

- The id of a task: The block is the answer to this task.
- ``own``: The block is a new cell below the tests of the task above, or above the first answer.
- ``top``: The block is a new cell at the top of the notebook.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.notebook_versions import solution_notebook
from jaxbits_grader.notebook import nbgrader_metadata
from nbformat import NotebookNode

FOLDER = Path(__file__).parent / "styles"
_BLOCK = re.compile(r"^```python (?P<place>[\w-]+)\n(?P<source>.*?)^```$", re.M | re.S)


def read_blocks(name: str) -> list[tuple[str, str]]:
    """Return the blocks for an assignment, each with the word that says where it goes."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    return [(block["place"], block["source"].rstrip("\n")) for block in _BLOCK.finditer(text)]


def unusual_notebook(assignment: Assignment) -> NotebookNode:
    """Return a notebook with right answers to all tasks, and with cells that a student added.

    Raises:
        ValueError: If the blocks do not answer each task exactly once.
    """
    blocks = read_blocks(assignment.name)
    answers = {place: source for place, source in blocks if place not in ("own", "top")}
    tasks = [task.id for task in assignment.tasks]
    if [place for place, _ in blocks if place not in ("own", "top")] != tasks:
        raise ValueError(f"the blocks must answer {', '.join(tasks)}, got {', '.join(answers)}")
    notebook = solution_notebook(assignment, answers)
    # Below the tests of a task, and above the first answer.
    ids = [nbgrader_metadata(cell).get("grade_id") for cell in notebook.cells]
    ends = {t.id: max(i for i, id in enumerate(ids) if id in t.points) for t in assignment.tasks}
    added: dict[int, list[NotebookNode]] = {}
    index = ids.index(tasks[0]) - 1
    for number, (place, source) in enumerate(blocks):
        if place in ends:
            index = ends[place]
        else:
            cell = nbformat.v4.new_code_cell(source, id=f"own-{number:02}")
            added.setdefault(-1 if place == "top" else index, []).append(cell)
    cells = added.get(-1, [])
    for index, cell in enumerate(notebook.cells):
        cells += [cell, *added.get(index, [])]
    notebook.cells = cells
    return notebook
