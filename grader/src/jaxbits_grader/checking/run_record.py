"""Record what a run with hidden tests has found."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from jaxbits_grader.authoring.assignment import Assignment, Task
from jaxbits_grader.checking.run_notes import missing_package
from jaxbits_grader.grade_records import CellPoints
from jaxbits_grader.running.kernel_client import CellResult


@dataclass(frozen=True)
class RunResult:
    """The results of the run with hidden tests.

    Attributes:
        points: The points and message for each test cell, in task order.
        ended: Why the run ended early, or None if it ran to completion.
        tampering: Signs that tests passed for some reason other than a correct answer.
        slow: The cells that were interrupted because they took too long.
        odd: Notes that a person should read, although they do not affect the points.
    """

    points: tuple[CellPoints, ...]
    ended: str | None = None
    tampering: tuple[str, ...] = ()
    slow: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()


@dataclass
class RunRecord:
    """What a run has found so far.

    Attributes:
        assignment: The assignment, which has the test cells.
        imported: The modules that the notebook's cells import.
        points: The points and message for each test cell that has run, keyed by its grade_id.
        failed_answers: What a student may read about each answer's cell that did not run to its
            end, keyed by its grade_id.
        ended, tampering, slow, odd: See `RunResult`.
    """

    assignment: Assignment
    imported: Set[str] = frozenset()
    points: dict[str, CellPoints] = field(default_factory=dict)
    failed_answers: dict[str, str] = field(default_factory=dict)
    ended: str | None = None
    tampering: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)

    def give(self, id: str, *, passed: bool, message: str | None = None) -> None:
        """Record the result of a test cell.

        Args:
            id: The grade_id of the test cell.
            passed: Whether the test gives all of its points.
            message: What the student may read about a failed test.
        """
        most = self.assignment.test_points[id]
        self.points[id] = CellPoints(id, most if passed else 0.0, most, message)

    def has_all_points(self, task: Task) -> bool:
        """Return whether all tests of a task have run and passed."""
        return all((p := self.points.get(id)) and p.points == p.max_points for id in task.points)

    def note_missing_module(self, done: CellResult, name: str) -> str | None:
        """Note that a cell imports a module that is not installed, and return the module's name.

        Args:
            done: The result of the cell.
            name: What the note calls the cell.
        """
        if done.error is None or done.error[0] != "ModuleNotFoundError":
            return None
        packages = {name.partition(".")[0] for name in self.imported}
        package = missing_package(done.error[1], packages)
        what = f"the module {package}" if package else "a module"
        note = f"the grader does not have {what}, but {name} imports it"
        if note not in self.odd:
            self.odd.append(note)
        return package

    def result(self) -> RunResult:
        """Return the results, with no points (None) for tests that have not run."""
        tests = self.assignment.test_points.items()
        points = (self.points.get(id) or CellPoints(id, None, most) for id, most in tests)
        # A test that runs again may cause the same notes.
        found = (tuple(dict.fromkeys(notes)) for notes in (self.tampering, self.slow, self.odd))
        return RunResult(tuple(points), self.ended, *found)
