"""Judge the tests of one submission, and start a new judge if the current one ends."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxbits_grader.authoring.assignment import Assignment, Task
from jaxbits_grader.authoring.cell_markers import solution_source
from jaxbits_grader.authoring.variants import draw_variant
from jaxbits_grader.cell_names import bound_names, used_names
from jaxbits_grader.judging.call_log import CallLog
from jaxbits_grader.judging.fuzzing.code_numbers import numbers_in
from jaxbits_grader.judging.fuzzing.reference_comparison import (
    ComparisonResult,
    ReferenceComparison,
)
from jaxbits_grader.judging.judge import Judge, JudgeEnded, JudgeNotStarted, Verdict, launch_judge
from jaxbits_grader.notebook import nbgrader_metadata
from jaxbits_grader.running.kernel_client import Kernel, KernelNotStarted
from jaxbits_grader.running.limits import Limits

_SERVER = "__import__('jaxbits_grader.judging.answer_server', fromlist=['x'])"
# What comparing with right answers may add to each function of a task, in seconds, and what it may
# add if the student's code has numbers that occur nowhere in the assignment.
_COMPARISON_SECONDS, _COMPARISON_SECONDS_WITH_NUMBERS = 0.4, 5.0
# What repeating calls may add to each test. A test usually takes longer than this.
_REPEATED_CALLS, _REPEATED_SECONDS = 2, 0.05


@dataclass(frozen=True)
class _Given:
    source: str
    names: list[str]
    answers: list[str]


class JudgeSession:
    """Judges the tests of a submission.

    Args:
        assignment: The assignment, which provides the given cells and the tests.
        prefix: The prefix of the private names of given values in the student's kernel.
        limits: The resources that the judge may use.
        unsafe: Whether to start the judge outside the sandbox.
        cache: A folder in which judges keep compiled programs, or None.
    """

    def __init__(
        self,
        assignment: Assignment,
        prefix: str,
        limits: Limits,
        *,
        unsafe: bool = False,
        cache: Path | None = None,
    ) -> None:
        self._assignment, self._prefix = assignment, prefix
        self._limits, self._unsafe, self._cache = limits, unsafe, cache
        self._stack = contextlib.ExitStack()
        self._judge: Judge | None = None
        self._given: list[_Given] = []
        self._answers = _answer_names(assignment)
        self._calls = CallLog()
        # The same for everybody, but unknown unless one has the hidden tests of this variant.
        sources = "".join(cell.source for cell in assignment.notebook.cells)
        self._secret = hashlib.sha256(sources.encode()).hexdigest()

    def start(self) -> None:
        """Start a judge, and let it run the given cells so far.

        Raises:
            JudgeEnded: If the judge's process ends.
        """
        self._stack.close()
        self._judge = self._stack.enter_context(
            launch_judge(self._limits, unsafe=self._unsafe, cache=self._cache)
        )
        for given in self._given:
            self._judge.run_given(given.source, given.names, given.answers)

    def close(self) -> None:
        """End the judge's process."""
        self._stack.close()

    def run_given(self, grade_id: str) -> None:
        """Let the judge run a given cell of the assignment."""
        source = self._assignment.cell(grade_id).source
        given = _Given(source, sorted(bound_names(source)), self._used_answers(source))
        self._given.append(given)
        if self._judge is not None:
            try:
                self._judge.run_given(given.source, given.names, given.answers)
            except JudgeEnded:
                self._judge = None  # The next test starts another one.

    def new_values(self, grade_id: str, purpose: str) -> str:
        """Return the source of a test with new values in the lines with a `# variant:` comment.

        Args:
            grade_id: The name of the test.
            purpose: What the source is for. For each purpose, other values are drawn.
        """
        source = self._assignment.cell(grade_id).source
        variable = self._assignment.variable_tests.get(grade_id, source)
        return draw_variant(variable, f"{self._secret} {grade_id} {purpose}")

    def run_test(self, kernel: Kernel, grade_id: str, source: str | None = None) -> Verdict:
        """Return the judge's verdict on a test of the answers in a kernel.

        Args:
            kernel: The kernel.
            grade_id: The name of the test.
            source: Its source, if some values in it are new.

        Raises:
            KernelNotStarted: If no judge could be started, which is not the submission's fault.
            RunEnded: If the kernel died or had to be killed.
        """
        if reason := self._assignment.together.get(grade_id):
            return Verdict(cannot=reason)
        source = source or self._assignment.cell(grade_id).source
        spent = 0.0

        def ask(request: str) -> str | None:
            nonlocal spent
            began = time.monotonic()
            reply = self._ask(kernel, request)
            seconds = time.monotonic() - began
            spent += seconds
            self._calls.note(request, reply, seconds)
            if spent > self._limits.cell_seconds:
                raise JudgeEnded("the test took too long")
            return reply

        try:
            if self._judge is None:
                self.start()
            assert self._judge is not None
            return self._judge.run_test(source, self._used_answers(source), ask)
        except JudgeNotStarted as reason:
            raise KernelNotStarted(str(reason)) from None
        except JudgeEnded as reason:
            self._judge = None
            return Verdict(error=("TimeoutError", str(reason)), ended=True)

    def forget_calls(self) -> None:
        """Forget the calls so far, because another task begins or the answer may change."""
        self._calls.clear()

    def repeat_calls(self, kernel: Kernel) -> bool:
        """Repeat calls that the tests of the task have made, and return whether nothing differs.

        Args:
            kernel: The kernel.

        Raises:
            RunEnded: If the kernel died or had to be killed.
        """
        return self._calls.repeat(
            lambda request: self._ask(kernel, request),
            most=_REPEATED_CALLS,
            seconds=_REPEATED_SECONDS,
        )

    def compare_with_right_answers(self, kernel: Kernel, task: Task, code: str) -> ComparisonResult:
        """Call the answers to a task with new inputs, and compare them with right answers.

        Args:
            kernel: The kernel.
            task: The task.
            code: The student's code for the task, whose numbers some of the inputs contain.

        Raises:
            RunEnded: If the kernel died or had to be killed.
        """
        assignment = self._assignment
        solution = solution_source(assignment.cell(task.id).source)
        functions = {
            name: arguments
            for name, arguments in assignment.new_inputs.items()
            if name in bound_names(solution)
        }
        right = assignment.right_answers.get(task.id, ())
        if self._judge is None or not functions or not right:
            return ComparisonResult()
        unusual = [number for number in numbers_in(code) if number not in self._usual_numbers]
        comparison = ReferenceComparison(
            functions,
            [
                solution_source(assignment.cell(above.id).source)
                for above in assignment.tasks_above(task)
            ],
            [solution, *right],
            assignment.limits,
            unusual,
            _COMPARISON_SECONDS_WITH_NUMBERS if unusual else _COMPARISON_SECONDS,
        )
        try:
            return self._judge.compare(comparison, lambda request: self._ask(kernel, request))
        except JudgeEnded:
            self._judge = None  # The next test starts another one.
            return ComparisonResult()

    @cached_property
    def _usual_numbers(self) -> frozenset[float]:
        """The numbers that occur in the assignment, in its solutions, or in other right answers."""
        cells = self._assignment.notebook.cells
        sources = [cell.source for cell in cells if cell.cell_type == "code"]
        answers = (one for some in self._assignment.right_answers.values() for one in some)
        return frozenset(n for source in (*sources, *answers) for n in numbers_in(source))

    def _ask(self, kernel: Kernel, request: str) -> str | None:
        return kernel.evaluate(f"{_SERVER}.answer({request!r}, {self._prefix!r})")

    def _used_answers(self, source: str) -> list[str]:
        return sorted(used_names(source) & self._answers)


def _answer_names(assignment: Assignment) -> set[str]:
    """Return the names that answers define, and those that only unlocked cells define."""
    answers: set[str] = set()
    unlocked: set[str] = set()
    given: set[str] = set()
    for cell in assignment.notebook.cells:
        if cell.cell_type != "code":
            continue
        metadata = nbgrader_metadata(cell)
        if metadata.get("solution"):
            answers |= bound_names(solution_source(cell.source))
        elif not metadata:
            unlocked |= bound_names(cell.source)
        elif not metadata.get("grade"):
            given |= bound_names(cell.source)
    return answers | (unlocked - given)


@contextlib.contextmanager
def open_session(
    assignment: Assignment,
    prefix: str,
    limits: Limits,
    *,
    unsafe: bool = False,
    cache: Path | None = None,
) -> Iterator[JudgeSession]:
    """Yield a session whose judge has started. When the block ends, end the judge."""
    session = JudgeSession(assignment, prefix, limits, unsafe=unsafe, cache=cache)
    session.start()
    try:
        yield session
    finally:
        session.close()
