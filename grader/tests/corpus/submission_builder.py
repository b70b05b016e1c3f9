"""Where submissions are made: an assignment's notebooks, and code put into them."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import Any

import nbformat
from jaxbits_grader.authoring.assignment_source import Assignment, Task
from jaxbits_grader.authoring.cell_markers import stub_source
from jaxbits_grader.authoring.notebook_versions import solution_notebook, student_notebook
from jaxbits_grader.notebook import nbgrader_metadata
from nbformat import NotebookNode

from corpus.planted_files import Secrets, own_namespaces


def says(code: str) -> str:
    """What a piece of code says of itself: its first comment."""
    return next(line for line in code.splitlines() if line.startswith("# "))[2:]


@dataclass(frozen=True)
class Desk:
    """An assignment and the secrets, and notebooks made of them."""

    assignment: Assignment
    secrets: Secrets

    @property
    def full(self) -> float:
        """The points of all tasks."""
        return float(self.assignment.points)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, in order."""
        return self.assignment.tasks

    def before(self, task: Task) -> float:
        """The points to be had from the test cells above the answer to a task."""
        points = 0.0
        for cell in self.assignment.notebook.cells:
            if nbgrader_metadata(cell).get("grade_id") == task.id:
                break
            points += nbgrader_metadata(cell).get("points", 0)
        return points

    def until(self, task: Task) -> float:
        """The points to be had from the test cells down to a task's last one."""
        cells = self.assignment.notebook.cells
        ends = [
            i for i, c in enumerate(cells) if nbgrader_metadata(c).get("grade_id") in task.points
        ]
        return float(sum(nbgrader_metadata(c).get("points", 0) for c in cells[: max(ends) + 1]))

    def right(self) -> NotebookNode:
        """All tasks answered rightly."""
        return solution_notebook(self.assignment)

    def blank(self) -> NotebookNode:
        """Nothing answered."""
        return student_notebook(self.assignment)

    def wrong(self) -> NotebookNode:
        """All tasks answered by a function that returns nothing: no point is due."""
        return solution_notebook(self.assignment, {t.id: self.nothing(t) for t in self.tasks})

    def nothing(self, task: Task) -> str:
        """The stub of a task, returning where it raises."""
        text = stub_source(self.assignment.cell(task.id).source)
        for word in ("return None", "pass"):
            given = text.replace("raise NotImplementedError()", word)
            try:
                compile(given, task.id, "exec")
            except SyntaxError:
                continue
            return given
        return text

    def function(self) -> tuple[Task, str]:
        """The first task that is answered by a function, and the function's name."""
        for task in self.tasks:
            for node in ast.parse(stub_source(self.assignment.cell(task.id).source)).body:
                if isinstance(node, ast.FunctionDef):
                    return task, node.name
        raise LookupError(f"{self.assignment.name}: no task is answered by a function")

    def insert(self, notebook: NotebookNode, code: str, at: str = "end", kind: str = "code") -> Any:
        """Add a cell: at the "start" (below what is given), at the "end", or below a task."""
        new: Any = getattr(nbformat.v4, f"new_{kind}_cell")(code)
        ids = [nbgrader_metadata(cell).get("grade_id") for cell in notebook.cells]
        if at == "start":
            index = ids.index(self.tasks[0].id)
        elif at == "end":
            index = len(ids)
        else:
            task = next(task for task in self.tasks if task.id == at)
            index = max(i for i, grade_id in enumerate(ids) if grade_id in task.points) + 1
        new["id"] = f"own-{index:02}-{len(ids):02}"
        notebook.cells.insert(index, new)
        return notebook

    def extend(self, notebook: NotebookNode, task: Task, code: str) -> NotebookNode:
        """Add lines to the answer to a task."""
        cell = by_id(notebook, task.id)
        cell.source += "\n\n\n" + code
        return notebook

    def called(self, code: str) -> NotebookNode:
        """All answers right, and the code run whenever the first function that is one is called."""
        task, name = self.function()
        body = "".join(f"        {line}\n" if line else "\n" for line in code.splitlines())
        return self.extend(
            self.right(),
            task,
            f"def _around(right):\n    import functools\n\n    @functools.wraps(right)\n"
            f"    def answer(*args, **kwargs):\n{body}        return right(*args, **kwargs)\n\n"
            f"    return answer\n\n\n{name} = _around({name})",
        )

    def apart(self, code: str) -> str:
        """Code that runs only in other namespaces than this process's: it would do harm here."""
        here = repr(own_namespaces())
        return (
            f"{code.splitlines()[0]}\nimport os\n\n"
            f"for _name, _here in {here}.items():\n"
            "    if os.readlink(f'/proc/self/ns/{_name}') == _here:\n"
            "        raise RuntimeError('not in a sandbox: not tried')\n"
            + "\n".join(code.splitlines()[1:])
        )


def by_id(notebook: NotebookNode, grade_id: str) -> Any:
    """The cell with this grade_id."""
    return next(c for c in notebook.cells if nbgrader_metadata(c).get("grade_id") == grade_id)


def graded_cells(notebook: NotebookNode) -> list[Any]:
    """The test cells."""
    return [cell for cell in notebook.cells if nbgrader_metadata(cell).get("grade")]


def twice(cell: Any, grade_id: str | None = None) -> Any:
    """A copy of a cell, as pasting makes one: with an id of its own."""
    copied = copy.deepcopy(cell)
    copied["id"] = f"{cell['id']}-copy"[-64:]
    if grade_id:
        copied.metadata.nbgrader.grade_id = grade_id
    return copied


def clean(text: str) -> str:
    """A snippet as a cell's text."""
    lines = text.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines).rstrip()
