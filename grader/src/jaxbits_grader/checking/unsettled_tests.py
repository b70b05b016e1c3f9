"""Find tests whose result may depend on a student's cell that stands below them."""

from __future__ import annotations

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.notebook import ParsedNotebook, Role


class UnsettledTests:
    """Remembers the tests that ran before a student's cell, but not as the last of their task.

    Such a cell may redefine the answer or what it uses, so each test could see a different answer.

    Args:
        assignment: The assignment, which has the tasks and their tests.
        notebook: The repaired notebook, which has the tests in the order in which they run.
    """

    def __init__(self, assignment: Assignment, notebook: ParsedNotebook) -> None:
        tasks = {test: task.id for task in assignment.tasks for test in task.points}
        self._tasks = tasks
        order = [str(cell.grade_id) for cell in notebook.cells if cell.role is Role.TEST]
        self._last = {tasks[id]: id for id in order if id in tasks}
        self._ran: dict[str, None] = {}
        self._unsettled: dict[str, None] = {}

    def note_student_cell(self) -> None:
        """Note that a student's cell has run."""
        self._unsettled |= self._ran

    def note_test(self, id: str) -> list[str]:
        """Note that a test has run, and return the tests of its task that must run again.

        Args:
            id: The grade_id of the test.
        """
        task = self._tasks.get(id)
        if task is None or self._last[task] != id:
            self._ran[id] = None
            return []
        found = [test for test in self._unsettled if self._tasks[test] == task]
        self._ran = {test: None for test in self._ran if self._tasks[test] != task}
        self._unsettled = {test: None for test in self._unsettled if test not in found}
        return found
