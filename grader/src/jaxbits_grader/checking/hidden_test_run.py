"""Run a submission with the hidden tests, and look for attempts to get around them."""

from __future__ import annotations

import builtins
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jaxbits_grader.authoring.assignment import Assignment, Task
from jaxbits_grader.authoring.cell_markers import solution_source, stub_source, visible_tests
from jaxbits_grader.authoring.private_names import PrivateNames
from jaxbits_grader.cell_names import bound_names
from jaxbits_grader.checking.failure_messages import describe_failure
from jaxbits_grader.checking.kernel_checks import (
    KERNEL_OPTIONS,
    Census,
    altered_checks,
    failure_message,
    watch_detectors,
    written_modules,
)
from jaxbits_grader.checking.run_notes import (
    describe_library_class,
    missing_package,
    note_settings,
)
from jaxbits_grader.grade_records import CellPoints
from jaxbits_grader.judging.judge_session import JudgeSession, open_session
from jaxbits_grader.notebook import Cell, ParsedNotebook, Role
from jaxbits_grader.running.kernel_client import CellResult, Kernel, KernelNotStarted, RunEnded
from jaxbits_grader.running.kernel_launcher import launch_kernel
from jaxbits_grader.running.limits import Limits


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


def run_hidden_tests(
    notebook: ParsedNotebook,
    assignment: Assignment,
    limits: Limits,
    *,
    unsafe: bool = False,
    cache: Path | None = None,
) -> RunResult:
    """Run a repaired notebook with the teacher's test cells in place of the visible ones.

    Args:
        notebook: The repaired notebook.
        assignment: The assignment, which provides the teacher's test cells.
        limits: The resources that the run may use.
        unsafe: Whether to run the notebook outside the sandbox.
        cache: A folder in which judges keep compiled programs, or None. The kernel can read those
            of JAX's own operations.

    Raises:
        KernelNotStarted: If no kernel could be started, or if a given cell takes too long before
            any student's cell has run.
    """
    run = _Run(assignment)
    try:
        with (
            # The judge starts while the kernel does.
            open_session(assignment, run.names.prefix, limits, unsafe=unsafe, cache=cache) as judge,
            launch_kernel(
                limits,
                KERNEL_OPTIONS,
                unsafe=unsafe,
                cache=cache,
                own_names=assignment.function_names,
            ) as kernel,
        ):
            run.all_cells(kernel, judge, notebook)
    except RunEnded as reason:
        run.ended = str(reason)
    return run.result()


class _Run:
    """Runs a notebook once with the hidden tests and collects the results."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.names = PrivateNames(assignment)
        self.points: dict[str, CellPoints] = {}
        self.ended: str | None = None
        self.tampering: list[str] = []
        self.slow: list[str] = []
        self.odd: list[str] = []
        self.census: Census | None = None  # What tests rely on, once a student's cell has run.
        self.imported: set[str] = set()  # The packages that the student's cells import.

    def result(self) -> RunResult:
        tests = self.assignment.test_points.items()
        points = (self.points.get(id) or CellPoints(id, None, most) for id, most in tests)
        found = (tuple(found) for found in (self.tampering, self.slow, self.odd))
        return RunResult(tuple(points), self.ended, *found)

    def all_cells(self, kernel: Kernel, judge: JudgeSession, notebook: ParsedNotebook) -> None:
        self.imported = set().union(*(cell.imported_packages for cell in notebook.cells))
        for number, cell in enumerate(notebook.cells, 1):
            if cell.cell_type != "code":
                continue
            if cell.role is Role.TEST:
                self._run_test(kernel, judge, str(cell.grade_id))
                continue
            if cell.role is Role.GIVEN:
                judge.run_given(str(cell.grade_id))
                if self.census is None:
                    self._run_first_given_cell(kernel, cell, number)
                    continue
                self.tampering += self._altered_before_given_cell(kernel, cell)
            self.census = self.census or Census(kernel, self.names.saved_given_names)
            self._run_cell(kernel, cell, number)
        answer = (kernel.evaluate(self.names.redefinition_query()) or "").split(", ")
        if redefined := [name for name in answer if name in self.names.given]:
            self.odd.append(f"redefines given functions: {', '.join(redefined)}")
        if written := written_modules(kernel):
            self.odd.append(written)
        if any((found.points or 0) < found.max_points for found in self.result().points):
            self.odd += note_settings(notebook)

    def _altered_before_given_cell(self, kernel: Kernel, cell: Cell) -> list[str]:
        """Return what the submission has changed so far.

        After a given cell, the census could not tell this from what the given cell changes. Before
        the cell that imports the tests' modules, every check counts, because the run copies them.
        """
        assert self.census is not None
        if "jaxbits" in cell.source:
            altered = list(altered_checks(kernel, self.census))
        else:
            altered = [f"it changed {name}" for name in self.census.changes(kernel)[:3]]
        return [f"{what}, before {cell.grade_id}" for what in altered]

    def _run_first_given_cell(self, kernel: Kernel, cell: Cell, number: int) -> None:
        """Run a given cell that no student's cell can have slowed down.

        Raises:
            KernelNotStarted: If the cell takes too long, as on a busy machine.
        """
        try:
            self._run_cell(kernel, cell, number)
        except RunEnded as reason:
            raise KernelNotStarted(
                f"the given cell {cell.grade_id} did not finish: {reason}"
            ) from None
        if self.slow:
            raise KernelNotStarted(
                f"the given cell {cell.grade_id} took too long, so the machine may be too busy"
            )

    def _run_cell(self, kernel: Kernel, cell: Cell, number: int) -> None:
        name = cell.grade_id or f"cell {number}"
        done = kernel.run_cell(cell.source)
        if done.interrupted:
            self.slow.append(name)
        self._note_missing_module(done, name)
        if cell.role is Role.GIVEN:
            kernel.run_cell(self.names.save_given_names(cell.source), in_history=False)
            if self.census is not None:
                self.census.extend(kernel)

    def _note_missing_module(self, done: CellResult, name: str) -> str | None:
        """Note that a cell imports a module that is not installed, and return the module's name."""
        if done.error is None or done.error[0] != "ModuleNotFoundError":
            return None
        package = missing_package(done.error[1], self.imported)
        what = f"the module {package}" if package else "a module"
        note = f"{what} is not installed here, but {name} imports it"
        if note not in self.odd:
            self.odd.append(note)
        return package

    def _run_test(self, kernel: Kernel, judge: JudgeSession, id: str) -> None:
        """Let the judge run a test, and run it in the kernel if the judge cannot decide alone."""
        source, most = self.assignment.cell(id).source, self.assignment.test_points[id]
        # Count compilations first, because an answer could cache what it computes for the judge.
        counts = "count_compilations" in source and id not in self.assignment.together
        if counts:
            self._run_test_in_kernel(kernel, id)
            if not self.points[id].points:
                return
        verdict = judge.run_test(kernel, id, with_new_values=counts)
        if verdict.ended:
            self.slow.append(id)
            self.points[id] = CellPoints(id, 0.0, most, "the test took too long")
        elif verdict.error and verdict.error[0] == "ChangedArgument":
            kind = verdict.error[1]
            message = f"the answer must not change the {kind} that it is given"
            if kind == "JAX array":  # Nothing else can happen to one.
                message = f"the answer must not delete the {kind} that it is given, by donating it"
            self.points[id] = CellPoints(id, 0.0, most, message)
        elif verdict.cannot or verdict.skipped or verdict.error:
            if verdict.cannot and id not in self.assignment.together:
                self.odd.append(f"the judge could not run {id}, so it ran in the student's process")
            if not counts:
                self._run_test_in_kernel(kernel, id)
            if verdict.error and self.points[id].points:
                message = describe_failure(verdict.error, source, verdict.line)
                self.tampering.append(
                    f"the test {id} passes only in the student's process; outside it, {message}"
                )
                self.points[id] = CellPoints(id, 0.0, most, message)
        else:
            self.tampering += [f"{what}, before {id}" for what in self._altered_checks(kernel)]
            self.points[id] = CellPoints(id, most, most)
            # Cells below may use what the visible part of the test defines.
            kernel.run_cell(visible_tests(source), in_history=False)

    def _run_test_in_kernel(self, kernel: Kernel, id: str) -> None:
        source, most = self.assignment.cell(id).source, self.assignment.test_points[id]
        task = self.assignment.task_of(id)
        assert task is not None
        altered = [f"{what}, before {id}" for what in self._altered_checks(kernel)]
        self.tampering += altered
        renamed, nonce = self._rename_test(source)
        with watch_detectors(kernel) as partial:
            done, finished = self._try_test(kernel, renamed, nonce)
            # Ask first, because each further query replaces Python's last traceback.
            failure = failure_message(kernel, done, renamed) if done.error else None
        if done.interrupted:
            self.slow.append(id)
        if done.error and done.error[0] == "UntrustedType":
            message = describe_library_class(done.error[1])
            if message is None:
                self.tampering.append(f"the answer could compare equal to anything, in {id}")
            self.points[id] = CellPoints(id, 0.0, most, message)
        elif done.error or done.interrupted:
            self.points[id] = CellPoints(id, 0.0, most)
            module = self._note_missing_module(done, task.id)
            message = f"the module {module} is not installed here" if module else None
            message = message or failure or failure_message(kernel, done, renamed)
            self.points[id] = CellPoints(id, 0.0, most, message)
        elif not finished:
            self.tampering.append(f"the test {id} did not run to completion but reported success")
            self.points[id] = CellPoints(id, 0.0, most)
        else:
            # Record the points now, because they have been earned but the next check may end the
            # run.
            self.points[id] = CellPoints(id, most, most)
            if self.census and not altered:
                changes, for_a_time = self.census.changes_in_test(kernel, source)
                self.tampering += [f"it changed {name}, in {id}" for name in changes[:3]]
                if for_a_time:
                    names = ", ".join(for_a_time[:3])
                    self.odd.append(f"changes {names} for a time, or imports a part of it, in {id}")
            if partial:
                self.odd.append(f"in {id}, {', '.join(partial)} could not examine everything")
            if not altered and self._passes_with_stub(kernel, source, task):
                self.tampering.append(f"the test {id} also passes without the answer")

    def _altered_checks(self, kernel: Kernel) -> Iterator[str]:
        self.census = self.census or Census(kernel, self.names.saved_given_names)
        return altered_checks(kernel, self.census)

    def _rename_test(self, source: str) -> tuple[str, str]:
        """Return a test cell with private names, and the value that shows that it has finished."""
        nonce = secrets.token_hex(8)
        return self.names.rename_test(source, nonce), nonce

    def _try_test(self, kernel: Kernel, renamed: str, nonce: str) -> tuple[CellResult, bool]:
        """Run a test cell, and return its result and whether it ran to completion."""
        done = kernel.run_cell(renamed, in_history=False)
        if done.error or done.interrupted:
            return done, False
        return done, kernel.evaluate(self.names.finished_name) == nonce

    def _passes_with_stub(self, kernel: Kernel, source: str, task: Task) -> bool:
        """Return whether a test passes with the stub in place of the answer.

        This method restores the answer afterward.
        """
        cell = self.assignment.cell(task.id).source
        bound = sorted(bound_names(solution_source(cell)))
        names = [name for name in bound if not hasattr(builtins, name)]
        saved = f"_{secrets.token_hex(6)}"
        save = f"{saved} = {{n: globals().pop(n) for n in {names!r} if n in globals()}}"
        kernel.run_cell(save, in_history=False)
        kernel.run_cell(stub_source(cell), in_history=False)
        _, finished = self._try_test(kernel, *self._rename_test(source))
        kernel.run_cell(f"globals().update({saved})\ndel {saved}", in_history=False)
        return finished
