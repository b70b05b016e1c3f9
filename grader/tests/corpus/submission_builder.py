"""Build submissions from an assignment's notebooks and code snippets."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import Any

import nbformat
from jaxbits_grader.authoring.assignment import Assignment, Task
from jaxbits_grader.authoring.cell_markers import stub_source
from jaxbits_grader.authoring.notebook_versions import solution_notebook, student_notebook
from jaxbits_grader.notebook import nbgrader_metadata
from nbformat import NotebookNode

from corpus.planted_files import Secrets, own_namespaces


def description(code: str) -> str:
    """Return the first comment in a snippet, which describes the snippet."""
    return next(line for line in code.splitlines() if line.startswith("# "))[2:]


@dataclass(frozen=True)
class SubmissionBuilder:
    """Builds notebooks for an assignment."""

    assignment: Assignment
    secrets: Secrets

    @property
    def full_score(self) -> float:
        """The total points for all tasks."""
        return float(self.assignment.points)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, in order."""
        return self.assignment.tasks

    def points_before(self, task: Task) -> float:
        """Return the total points for the test cells above the answer to a task."""
        points = 0.0
        for cell in self.assignment.notebook.cells:
            if nbgrader_metadata(cell).get("grade_id") == task.id:
                break
            points += nbgrader_metadata(cell).get("points", 0)
        return points

    def points_through(self, task: Task) -> float:
        """Return the total points for the test cells up to and including a task's last one."""
        cells = self.assignment.notebook.cells
        ends = [
            i for i, c in enumerate(cells) if nbgrader_metadata(c).get("grade_id") in task.points
        ]
        return float(sum(nbgrader_metadata(c).get("points", 0) for c in cells[: max(ends) + 1]))

    def right(self) -> NotebookNode:
        """Return a notebook with right answers to all tasks."""
        return solution_notebook(self.assignment)

    def blank(self) -> NotebookNode:
        """Return a notebook without answers."""
        return student_notebook(self.assignment)

    def wrong(self) -> NotebookNode:
        """Return a notebook in which every answer returns None and so earns no points."""
        return solution_notebook(
            self.assignment, {t.id: self.stub_returning_none(t) for t in self.tasks}
        )

    def stub_returning_none(self, task: Task) -> str:
        """Return a task's stub with `return None` or `pass` instead of `raise`."""
        text = stub_source(self.assignment.cell(task.id).source)
        for word in ("return None", "pass"):
            given = text.replace("raise NotImplementedError()", word)
            try:
                compile(given, task.id, "exec")
            except SyntaxError:
                continue
            return given
        return text

    def first_function(self) -> tuple[Task, str]:
        """Return the first task whose answer is a function, and the function's name."""
        for task in self.tasks:
            for node in ast.parse(stub_source(self.assignment.cell(task.id).source)).body:
                if isinstance(node, ast.FunctionDef):
                    return task, node.name
        raise LookupError(f"{self.assignment.name}: no task is answered by a function")

    def insert(self, notebook: NotebookNode, code: str, at: str = "end", kind: str = "code") -> Any:
        """Insert a cell at the "start" (above the first task), at the "end", or below a task.

        `at` is "start", "end", or the id of a task.
        """
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
        """Append code to the answer to a task."""
        cell = cell_by_grade_id(notebook, task.id)
        cell.source += "\n\n\n" + code
        return notebook

    def with_code_in_answer(self, code: str) -> NotebookNode:
        """Return right answers in which every call to the first function also runs `code`."""
        task, name = self.first_function()
        body = "".join(f"        {line}\n" if line else "\n" for line in code.splitlines())
        return self.extend(
            self.right(),
            task,
            f"def _around(right):\n    import functools\n\n    @functools.wraps(right)\n"
            f"    def answer(*args, **kwargs):\n{body}        return right(*args, **kwargs)\n\n"
            f"    return answer\n\n\n{name} = _around({name})",
        )

    def only_in_sandbox(self, code: str) -> str:
        """Return harmful code that refuses to run outside a sandbox."""
        here = repr(own_namespaces())
        return (
            f"{code.splitlines()[0]}\nimport os\n\n"
            f"for _name, _here in {here}.items():\n"
            "    if os.readlink(f'/proc/self/ns/{_name}') == _here:\n"
            "        raise RuntimeError('not in a sandbox: not tried')\n"
            + "\n".join(code.splitlines()[1:])
        )


def cell_by_grade_id(notebook: NotebookNode, grade_id: str) -> Any:
    """Return the cell with the given grade_id."""
    return next(c for c in notebook.cells if nbgrader_metadata(c).get("grade_id") == grade_id)


def graded_cells(notebook: NotebookNode) -> list[Any]:
    """Return the test cells."""
    return [cell for cell in notebook.cells if nbgrader_metadata(cell).get("grade")]


def pasted_copy(cell: Any, grade_id: str | None = None) -> Any:
    """Return a copy of a cell with a different id, as if a student had pasted the cell."""
    copied = copy.deepcopy(cell)
    copied["id"] = f"{cell['id']}-copy"[-64:]
    if grade_id:
        copied.metadata.nbgrader.grade_id = grade_id
    return copied


def dedent(text: str) -> str:
    """Return a snippet without its indentation."""
    lines = text.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines).rstrip()
