"""Run a submission with the hidden tests, and look for attempts to get around them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from jaxbits_grader.authoring.assignment import Assignment, Task
from jaxbits_grader.authoring.cell_markers import solution_source, visible_tests
from jaxbits_grader.authoring.private_names import PrivateNames
from jaxbits_grader.cell_names import bound_names
from jaxbits_grader.checking.failure_messages import (
    ANSWER_TOO_SLOW,
    TEST_ENDED,
    describe_failed_cell,
    describe_failure,
)
from jaxbits_grader.checking.kernel_checks import (
    KERNEL_OPTIONS,
    watch_answer_state,
    watch_background_work,
    written_modules,
)
from jaxbits_grader.checking.kernel_tests import KernelTests
from jaxbits_grader.checking.run_notes import describe_changed_argument, note_settings
from jaxbits_grader.checking.run_record import RunRecord, RunResult
from jaxbits_grader.checking.unsettled_tests import UnsettledTests
from jaxbits_grader.judging.expected_values import (
    Comparison,
    ValuesUnavailable,
    read_expected_values,
)
from jaxbits_grader.judging.judge_session import JudgeSession, open_session
from jaxbits_grader.notebook import Cell, ParsedNotebook, Role
from jaxbits_grader.running.kernel_client import Kernel, KernelNotStarted, RunEnded
from jaxbits_grader.running.kernel_launcher import launch_kernel
from jaxbits_grader.running.limits import Limits


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
        cache: A folder in which judges keep compiled programs and expected values, or None. The
            kernel can read only the programs for JAX's own operations.

    Raises:
        KernelNotStarted: If no kernel could be started, or if a given cell takes too long before
            any student's cell has run.
    """
    imported = frozenset().union(*(cell.imported_modules for cell in notebook.cells))
    record = RunRecord(assignment, imported)
    names = PrivateNames(assignment)
    # Before the kernel starts, because from then on the time limit of the notebook counts.
    expected = _expected_values(assignment, cache)
    try:
        with (
            # The judge starts while the kernel does.
            open_session(assignment, names.prefix, limits, unsafe=unsafe, cache=cache) as judge,
            launch_kernel(
                limits,
                KERNEL_OPTIONS,
                unsafe=unsafe,
                cache=cache,
                own_names=assignment.function_names,
            ) as kernel,
        ):
            _Run(kernel, judge, names, record, expected).all_cells(notebook)
    except RunEnded as reason:
        record.ended = str(reason)
    return record.result()


def _expected_values(
    assignment: Assignment, cache: Path | None
) -> dict[str, list[Comparison]] | ValuesUnavailable:
    try:
        return read_expected_values(assignment, cache)
    except ValuesUnavailable as reason:
        return reason


class _Run:
    """Runs a notebook once with the hidden tests."""

    def __init__(
        self,
        kernel: Kernel,
        judge: JudgeSession,
        names: PrivateNames,
        record: RunRecord,
        expected: dict[str, list[Comparison]] | ValuesUnavailable,
    ) -> None:
        self.kernel, self.judge, self.names, self.record = kernel, judge, names, record
        self.assignment = record.assignment
        self.tests = KernelTests(kernel, names, record, expected)
        self.task = ""
        self.code: list[Cell] = []  # The student's cells so far.

    def all_cells(self, notebook: ParsedNotebook) -> None:
        unsettled = UnsettledTests(self.assignment, notebook)
        for number, cell in enumerate(notebook.cells, 1):
            if cell.cell_type != "code":
                continue
            if cell.role is Role.TEST:
                self._run_test(str(cell.grade_id))
                for id in unsettled.note_test(str(cell.grade_id)):
                    self._run_test_again(id)
                continue
            if cell.role is Role.GIVEN:
                self.judge.run_given(str(cell.grade_id))
                if not self.tests.started:
                    self._run_first_given_cell(cell, number)
                    continue
                self._check_before_given_cell(cell)
            self.tests.start()
            self._run_cell(cell, number)
            if cell.role is not Role.GIVEN:
                self.code.append(cell)
                unsettled.note_student_cell()
                self.judge.forget_calls()
        self._note_oddities(notebook)

    def _note_oddities(self, notebook: ParsedNotebook) -> None:
        odd = self.record.odd
        answer = (self.kernel.evaluate(self.names.redefinition_query()) or "").split(", ")
        if redefined := [name for name in answer if name in self.names.given]:
            odd.append(f"redefines given functions: {', '.join(redefined)}")
        if written := written_modules(self.kernel):
            odd.append(written)
        if any((found.points or 0) < found.max_points for found in self.record.result().points):
            odd += note_settings(notebook)

    def _check_before_given_cell(self, cell: Cell) -> None:
        """Record what the submission has changed so far.

        After a given cell, the census could not tell this from what the given cell changes. Before
        the cell that imports the tests' modules, every check counts, because the run copies them.
        """
        if "jaxbits" in cell.source:
            self.tests.check(f"before {cell.grade_id}")
        else:
            changes = self.tests.census.changes(self.kernel)[:3]
            self.record.tampering += [f"it changed {n}, before {cell.grade_id}" for n in changes]

    def _run_first_given_cell(self, cell: Cell, number: int) -> None:
        """Run a given cell that no student's cell can have slowed down.

        Raises:
            KernelNotStarted: If the cell takes too long, as on a busy machine.
        """
        try:
            self._run_cell(cell, number)
        except RunEnded as reason:
            raise KernelNotStarted(
                f"the given cell {cell.grade_id} did not finish: {reason}"
            ) from None
        if self.record.slow:
            raise KernelNotStarted(
                f"the given cell {cell.grade_id} took too long, so the machine may be too busy"
            )

    def _run_cell(self, cell: Cell, number: int) -> None:
        name = cell.grade_id or f"cell {number}"
        done = self.kernel.run_cell(cell.source)
        if done.interrupted:
            self.record.slow.append(name)
        if cell.role is Role.SOLUTION and (done.error or done.interrupted):
            error = None if done.interrupted else done.error
            self.record.failed_answers[name] = describe_failed_cell(name, error)
        self.record.note_missing_module(done, name)
        if cell.role is Role.GIVEN:
            self.kernel.run_cell(self.names.save_given_names(cell.source), in_history=False)
            if self.tests.started:
                self.tests.census.extend(self.kernel)

    def _run_test_again(self, id: str) -> None:
        """Run a test of the same task again, and keep the later result."""
        before = self.record.points[id].points
        self._run_test(id)
        if self.record.points[id].points != before:
            self.record.odd.append(
                f"a cell between the tests of the task changed the result of {id}"
            )

    def _run_test(self, id: str) -> None:
        """Run a test, and note whether the answer keeps state from one call to the next."""
        task = self.assignment.task_of(id)
        assert task is not None
        names = bound_names(solution_source(self.assignment.cell(task.id).source))
        if task.id != self.task:
            self.task = task.id
            self.judge.forget_calls()
        with contextlib.ExitStack() as stack:
            changed = stack.enter_context(watch_answer_state(self.kernel, names))
            others: list[str] = []
            if task.id in self.assignment.forbidden:
                others = stack.enter_context(watch_background_work(self.kernel))
            self._judge_test(id)
        if others and self.record.points[id].points:
            what = "which may use what the task forbids"
            self.record.odd.append(f"in {id}, the answer uses {' and '.join(others)}, {what}")
        if changed and self.record.points[id].points:
            what = "the answer changes state, or its state cannot be read"
            self.record.odd.append(f"in {id}, {what}: {', '.join(changed)}")
        if not self.judge.repeat_calls(self.kernel) and self.record.points[id].points:
            self.record.odd.append(
                f"after {id}, the same call of the answer had a different result"
            )
        if id == list(task.points)[-1] and self.record.has_all_points(task):
            self._compare_with_right_answers(task)

    def _compare_with_right_answers(self, task: Task) -> None:
        """Note an input that the tests of a task do not use, and for which the answer is wrong.

        Also note functions of which no result could be compared, for example because the answer
        replies only to the inputs of tests.
        """
        own = (cell.source for cell in self.code if cell.grade_id in (task.id, None))
        found = self.judge.compare_with_right_answers(self.kernel, task, "\n".join(own))
        passes = f"the answer to {task.id} passes the tests, but"
        if found.difference is not None:
            self.record.odd.append(
                f"{passes} its result is wrong for an input that no test uses: {found.difference}"
            )
        elif found.never_compared:
            self.record.odd.append(
                f"{passes} could not be compared with right answers for inputs that no test uses: "
                f"{', '.join(found.never_compared)}"
            )

    def _judge_test(self, id: str) -> None:
        """Let the judge run a test, and run it in the kernel if the judge cannot decide alone."""
        source, record = self.assignment.cell(id).source, self.record
        # Count compilations first, because an answer could cache what it computes for the judge.
        # Neither run uses the values of the notebook, because an answer could compile something
        # only for others.
        counts = "count_compilations" in source and id not in self.assignment.together
        new = None
        if counts:
            self.tests.run(id, self.judge.new_values(id, "compilations"))
            if not record.points[id].points:
                return
            new = self.judge.new_values(id, "judge")
        verdict = self.judge.run_test(self.kernel, id, new)
        if verdict.ended:
            # The verdict also counts as ended if the judge's process died.
            is_late = verdict.error is not None and "too long" in verdict.error[1]
            if is_late:
                record.slow.append(id)
            else:
                record.odd.append(f"the judge's process ended during {id}")
            record.give(id, passed=False, message=ANSWER_TOO_SLOW if is_late else TEST_ENDED)
        elif verdict.error and verdict.error[0] == "ChangedArgument":
            record.give(id, passed=False, message=describe_changed_argument(verdict.error[1]))
        elif verdict.cannot or verdict.skipped or verdict.error:
            if verdict.cannot and id not in self.assignment.together:
                note = f"the judge could not run {id}, so it ran in the student's process"
                record.odd.append(note)
            if not counts:
                self.tests.run(id)
            if verdict.error and record.points[id].points:
                message = describe_failure(verdict.error, source, verdict.line)
                record.tampering.append(
                    f"the test {id} passes only in the student's process. In the judge: {message}"
                )
                record.give(id, passed=False, message=message)
        else:
            self.tests.check(f"before {id}")
            record.give(id, passed=True)
            # Cells below may use what the visible part of the test defines.
            self.kernel.run_cell(visible_tests(source), in_history=False)
