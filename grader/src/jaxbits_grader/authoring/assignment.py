"""Define the classes that represent an assignment and its tasks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from nbformat import NotebookNode

from jaxbits_grader.authoring.input_limits import InputLimits
from jaxbits_grader.authoring.new_inputs import NewInputs
from jaxbits_grader.notebook import nbgrader_metadata


@dataclass(frozen=True)
class Task:
    """A task in an assignment.

    Attributes:
        id: The grade_id of the task's answer cell.
        rubric: What an answer must do to earn full credit.
        points: The number of points for each test cell, keyed by grade_id.
    """

    id: str
    rubric: str
    points: dict[str, int]

    @property
    def total(self) -> int:
        """The total number of points for the task."""
        return sum(self.points.values())


_DEFINITION = re.compile(r"\b(?:def|class)[ \t]+(\w+)|\b(\w+)[ \t]*=[ \t]*lambda\b")


@dataclass(frozen=True)
class Assignment:
    """An assignment with its solutions and hidden tests.

    Its cells have no `# variant:` comments.
    """

    name: str
    title: str
    chapter: str
    minutes: int
    goals: tuple[str, ...]
    tasks: tuple[Task, ...]
    notebook: NotebookNode
    # Why a test has to run in the student's process, keyed by grade_id.
    together: dict[str, str] = field(default_factory=dict)
    # Why a test's values may differ between right answers, keyed by grade_id.
    varies: dict[str, str] = field(default_factory=dict)
    # The names that an answer must not use, keyed by the grade_id of the answer cell.
    forbidden: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # The source of each test that has `# variant:` comments, with them, keyed by grade_id.
    variable_tests: dict[str, str] = field(default_factory=dict)
    # What the tasks allow as inputs.
    limits: tuple[InputLimits, ...] = ()
    # Which arguments the grader may draw anew, keyed by the name of the function.
    new_inputs: dict[str, NewInputs] = field(default_factory=dict)
    # Right answers other than the solution, keyed by the id of the task.
    right_answers: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def points(self) -> int:
        """The total number of points for all tasks."""
        return sum(task.total for task in self.tasks)

    @cached_property
    def test_points(self) -> dict[str, int]:
        """The number of points for each test cell, keyed by grade_id, in task order."""
        return {test: points for task in self.tasks for test, points in task.points.items()}

    @cached_property
    def function_names(self) -> frozenset[str]:
        """The names of all functions in the cells, including those inside other functions."""
        code = [cell.source for cell in self.notebook.cells if cell.cell_type == "code"]
        return frozenset(
            match[1] or match[2] for source in code for match in _DEFINITION.finditer(source)
        )

    @cached_property
    def _cells(self) -> dict[str, NotebookNode]:
        cells = self.notebook.cells
        return {nbgrader_metadata(c)["grade_id"]: c for c in cells if nbgrader_metadata(c)}

    @cached_property
    def _tasks(self) -> dict[str, Task]:
        return {cell: task for task in self.tasks for cell in (task.id, *task.points)}

    def tasks_above(self, task: Task) -> tuple[Task, ...]:
        """Return the tasks above another one."""
        return self.tasks[: self.tasks.index(task)]

    def task_of(self, grade_id: str) -> Task | None:
        """Return the task that an answer or test cell belongs to, or None for any other cell."""
        return self._tasks.get(grade_id)

    def cell(self, grade_id: str) -> NotebookNode:
        """Return the cell with the given grade_id, including its solution or hidden tests."""
        return self._cells[grade_id]
