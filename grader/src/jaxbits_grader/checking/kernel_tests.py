"""Run tests in the student's kernel, next to the answer, and look for attempts to cheat."""

from __future__ import annotations

import builtins
import secrets

from jaxbits_grader.authoring.assignment import Task
from jaxbits_grader.authoring.cell_markers import solution_source, stub_source
from jaxbits_grader.authoring.private_names import PrivateNames
from jaxbits_grader.cell_names import bound_names
from jaxbits_grader.checking.kernel_checks import (
    Census,
    altered_checks,
    failure_message,
    start_comparisons,
    take_comparisons,
    watch_detectors,
)
from jaxbits_grader.checking.run_notes import describe_library_class
from jaxbits_grader.checking.run_record import RunRecord
from jaxbits_grader.judging.expected_values import (
    Comparison,
    NotComparable,
    ValuesUnavailable,
    compared_tests,
    find_difference,
)
from jaxbits_grader.running.kernel_client import CellResult, Kernel


class KernelTests:
    """Runs tests in a kernel and records their results.

    Args:
        kernel: The kernel.
        names: The private names that the tests use.
        record: Where the results go.
        expected: What each test compares with the solution, keyed by grade_id, or why this is not
            known.
    """

    def __init__(
        self,
        kernel: Kernel,
        names: PrivateNames,
        record: RunRecord,
        expected: dict[str, list[Comparison]] | ValuesUnavailable,
    ) -> None:
        self._kernel, self._names, self._record, self._expected = kernel, names, record, expected
        self._assignment = record.assignment
        self._census: Census | None = None

    @property
    def started(self) -> bool:
        """Whether the first census has been taken, so a student's cell may have run."""
        return self._census is not None

    def start(self) -> None:
        """Take the first census, before any student's cell runs. Later calls do nothing."""
        if self._census is None:
            given = self._names.saved_given_names
            self._census = Census(self._kernel, given, self._record.imported)

    @property
    def census(self) -> Census:
        """The census, which is taken now if there is none yet."""
        self.start()
        assert self._census is not None
        return self._census

    def check(self, when: str) -> bool:
        """Record each sign that tests in this kernel cannot be trusted.

        Args:
            when: The end of the message, such as ``"before scale-pure"``.

        Returns:
            Whether there is such a sign.
        """
        found = [f"{what}, {when}" for what in altered_checks(self._kernel, self.census)]
        self._record.tampering += found
        return bool(found)

    def run(self, id: str, source: str | None = None) -> None:
        """Run a test and record its result.

        Args:
            id: The grade_id of the test cell.
            source: Its source, if some values in it are new.
        """
        source, record = source or self._assignment.cell(id).source, self._record
        task = self._assignment.task_of(id)
        assert task is not None
        altered = self.check(f"before {id}")
        renamed, nonce = self._rename(source)
        start_comparisons(self._kernel)
        with watch_detectors(self._kernel) as partial:
            done, finished = self._try(renamed, nonce)
            # Ask first, because each further query replaces Python's last traceback.
            failure = failure_message(self._kernel, done, renamed) if done.error else None
        if done.interrupted:
            record.slow.append(id)
        if done.error and done.error[0] == "UntrustedType":
            message = describe_library_class(done.error[1])
            if message is None:
                record.tampering.append(
                    f"in {id}, the answer's class could make it equal to anything"
                )
            record.give(id, passed=False, message=message)
        elif done.error or done.interrupted:
            record.give(id, passed=False)
            module = record.note_missing_module(done, task.id)
            message = f"the grader does not have the module {module}" if module else None
            message = message or failure or failure_message(self._kernel, done, renamed)
            if done.error and done.error[0] == "NameError":
                # The answer is probably undefined, because its own cell failed.
                message = record.failed_answers.get(task.id, message)
            record.give(id, passed=False, message=message)
        elif not finished:
            record.tampering.append(f"the test {id} did not run to completion but reported success")
            record.give(id, passed=False)
        else:
            # Record the points now, because they have been earned but the next check may end the
            # run.
            record.give(id, passed=True)
            if id in compared_tests(self._assignment):
                self._compare_with_solution(id)
            if not altered:
                self._check_changes(id, source)
            if partial:
                names = ", ".join(partial)
                record.odd.append(f"detectors could not examine everything in {id}: {names}")
            if not altered and self._passes_with_stub(source, task):
                record.tampering.append(f"the test {id} also passes without the answer")

    def _compare_with_solution(self, id: str) -> None:
        """Take the points back if the values of the test differ from those with the solution."""
        if isinstance(self._expected, ValuesUnavailable):
            self._record.odd.append(f"the values of {id} could not be compared: {self._expected}")
            return
        try:
            message = find_difference(take_comparisons(self._kernel), self._expected[id])
        except NotComparable:
            self._record.odd.append(f"{id} does not make the same comparisons as with the solution")
        else:
            if message is not None:
                self._record.give(id, passed=False, message=message)
                note = f"{id} passes, but its values differ from those with the solution"
                self._record.odd.append(note)

    def _check_changes(self, id: str, source: str) -> None:
        """Record what has changed while a test ran."""
        changes, for_a_time = self.census.changes_in_test(self._kernel, source)
        self._record.tampering += [f"it changed {name} during {id}" for name in changes[:3]]
        if for_a_time:
            names = ", ".join(for_a_time[:3])
            note = f"temporarily changes {names} or imports submodules, in {id}"
            self._record.odd.append(note)

    def _rename(self, source: str) -> tuple[str, str]:
        """Return a test cell with private names, and the value that shows that it has finished."""
        nonce = secrets.token_hex(8)
        return self._names.rename_test(source, nonce), nonce

    def _try(self, renamed: str, nonce: str) -> tuple[CellResult, bool]:
        """Run a test cell, and return its result and whether it ran to completion."""
        done = self._kernel.run_cell(renamed, in_history=False)
        if done.error or done.interrupted:
            return done, False
        return done, self._kernel.evaluate(self._names.finished_name) == nonce

    def _passes_with_stub(self, source: str, task: Task) -> bool:
        """Return whether a test passes with the stub in place of the answer.

        This method restores the answer afterward.
        """
        cell = self._assignment.cell(task.id).source
        bound = sorted(bound_names(solution_source(cell)))
        names = [name for name in bound if not hasattr(builtins, name)]
        saved = f"_{secrets.token_hex(6)}"
        save = f"{saved} = {{n: globals().pop(n) for n in {names!r} if n in globals()}}"
        self._kernel.run_cell(save, in_history=False)
        self._kernel.run_cell(stub_source(cell), in_history=False)
        _, finished = self._try(*self._rename(source))
        self._kernel.run_cell(f"globals().update({saved})\ndel {saved}", in_history=False)
        return finished
