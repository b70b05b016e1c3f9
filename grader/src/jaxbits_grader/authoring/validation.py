"""Check that solutions get full credit, stubs get no points, and wrong answers lose points."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxbits_grader.authoring.answer_trials import STUB, Outcomes, try_answers
from jaxbits_grader.authoring.assignment import Assignment, Task
from jaxbits_grader.authoring.assignment_source import (
    SOURCE_FILE,
    SourceError,
    parse_assignment,
    read_assignment,
)
from jaxbits_grader.authoring.cell_markers import stub_source
from jaxbits_grader.authoring.input_limits import LimitError
from jaxbits_grader.authoring.limit_answers import answers_at_limits
from jaxbits_grader.authoring.notebook_versions import find_leaks, student_notebook
from jaxbits_grader.authoring.private_names import find_rebound_given_names
from jaxbits_grader.authoring.reference_answers import Answer, read_answers
from jaxbits_grader.authoring.variants import (
    count_variable_values,
    draw_variant,
)

TIMEOUT_SECONDS = 1800
MIN_WRONG_ANSWERS = 3
# If a wrong answer fails with one of these errors, its intended mistake was never tested.
_SLIPS = {
    "NameError",
    "SyntaxError",
    "IndentationError",
    "TabError",
    "ImportError",
    "ModuleNotFoundError",
}


@dataclass(frozen=True)
class Attempt:
    """The result of trying one answer.

    Attributes:
        task: The id of the task, or of the given cell that failed.
        kind: "given", "solution", "stub", "right", or "wrong".
        description: A short description of what the answer does.
        points: The number of points that the answer earned.
        max_points: The maximum number of points for the task.
        failures: The outcomes of the test cells that failed, keyed by grade_id.
        problem: The problem with the assignment that the attempt reveals, or None if there is none.
    """

    task: str
    kind: str
    description: str
    points: int
    max_points: int
    failures: dict[str, dict[str, str]]
    problem: str | None

    def line(self) -> str:
        """Return a one-line summary, followed by the problem on a second line if there is one."""
        mark = "✗" if self.problem else "✓"
        points = f"{self.points}/{self.max_points}"
        text = f"{mark} {self.task:24} {self.kind:8} {points}  {self.description}"
        if failure := next(iter(self.failures.values()), None):
            first_line = (failure["message"].splitlines() or [""])[0]
            text += f"  [{failure['error']}: {first_line}]"
        return text + (f"\n    {self.problem}" if self.problem else "")


def validate(
    folder: Path,
    *,
    seed: int | str | None = None,
    python: str = sys.executable,
    timeout: float = TIMEOUT_SECONDS,
    cache: Path | None = None,
    limits_step: int = 1,
    quick: bool = False,
) -> list[Attempt]:
    """Try an assignment's solution, its stubs, its reference answers, and those at its limits.

    Args:
        folder: The assignment's folder.
        seed: The seed for the variant to try, or None to try the assignment as it is.
        python: The Python interpreter to use, which must have jaxbits and IPython installed.
        timeout: The combined time limit for all answers, in seconds.
        cache: A folder for compiled programs, which several assignments can share.
        limits_step: Which of the answers that are derived from limits to try: all if it is 1, every
            second one if it is 2, and so on.
        quick: Whether to try only the solution, the stubs, the right answers, and the first three
            wrong answers to each task, without those that are derived from limits.

    Returns:
        One attempt for each answer, and one for each given cell that fails. If the assignment is
        valid, no attempt has a `problem`.

    Raises:
        SourceError: If the source or the answers break a rule, if the released notebook would
            reveal a solution or a hidden test, or if the attempts do not finish.
    """
    assignment = read_variant(folder, seed)
    given = read_answers(folder, assignment)
    _check_enough_answers(assignment, given)
    _check_given_names(assignment)
    if leaks := find_leaks(assignment, student_notebook(assignment)):
        raise SourceError(f"{assignment.name}: the released notebook reveals {leaks[:3]}")
    stubs = [
        Answer(task.id, False, STUB, stub_source(assignment.cell(task.id).source))
        for task in assignment.tasks
    ]
    try:
        at_limits = answers_at_limits(assignment)
    except LimitError as error:
        raise SourceError(f"{assignment.name}: {error}") from None
    given = _first_answers(given) if quick else [*given, *at_limits[::limits_step]]
    own, *outcomes = try_answers(assignment, [*stubs, *given], python, timeout, cache)
    kinds = ["stub"] * len(stubs) + ["right" if answer.is_right else "wrong" for answer in given]
    answers = zip([*stubs, *given], kinds, outcomes, strict=True)
    return [*_judge_solutions(assignment, own), *(_judge(assignment, *one) for one in answers)]


def _first_answers(answers: Sequence[Answer]) -> list[Answer]:
    """Return all right answers and the first `MIN_WRONG_ANSWERS` wrong answers to each task."""
    wrong: Counter[str] = Counter()
    first = []
    for answer in answers:
        wrong[answer.task] += not answer.is_right
        if answer.is_right or wrong[answer.task] <= MIN_WRONG_ANSWERS:
            first.append(answer)
    return first


def read_variant(folder: Path, seed: int | str | None) -> Assignment:
    """Return an assignment, or the variant of it that belongs to a seed.

    Raises:
        SourceError: If the source breaks a rule.
    """
    assignment = read_assignment(folder)
    text = (folder / SOURCE_FILE).read_text(encoding="utf-8")
    count_variable_values(text)
    # Draw a variant even without a seed, because doing so detects invalid ranges.
    variant = draw_variant(text, f"{seed} {assignment.name}")
    return assignment if seed is None else parse_assignment(variant, assignment.name)


def validate_solution(folder: Path, *, python: str = sys.executable) -> list[Attempt]:
    """Try only an assignment's solution, and return one attempt per task.

    Args:
        folder: The assignment's folder.
        python: The Python interpreter to use, which must have jaxbits and IPython installed.

    Raises:
        SourceError: If the source breaks a rule or the attempt does not finish.
    """
    assignment = read_assignment(folder)
    (own,) = try_answers(assignment, [], python, TIMEOUT_SECONDS)
    return list(_judge_solutions(assignment, own))


def _check_enough_answers(assignment: Assignment, answers: Sequence[Answer]) -> None:
    missing = [
        f"{task.id} ({kind})"
        for task in assignment.tasks
        for kind, is_right, least in (("wrong", False, MIN_WRONG_ANSWERS), ("right", True, 1))
        if sum(a.task == task.id and a.is_right is is_right for a in answers) < least
    ]
    if missing:
        raise SourceError(
            f"{assignment.name}: too few answers for {', '.join(missing)}; each task needs "
            f"{MIN_WRONG_ANSWERS} wrong answers and a right answer that is not the solution"
        )


def _check_given_names(assignment: Assignment) -> None:
    if rebound := find_rebound_given_names(assignment):
        where = "; ".join(f"{test} binds {', '.join(names)}" for test, names in rebound.items())
        raise SourceError(
            f"{assignment.name}: a test must not bind a name that a given cell defines, because "
            f"the cells below it would use the new value; {where}"
        )


def _failures(task: Task, outcomes: Outcomes) -> dict[str, dict[str, str]]:
    return {test: outcomes[test] for test in task.points if "error" in (outcomes.get(test) or {})}


def _judge_solutions(assignment: Assignment, outcomes: Outcomes) -> Iterator[Attempt]:
    for cell, outcome in outcomes.items():
        if outcome and assignment.task_of(cell) is None:
            failure = f"a given cell fails or writes to stderr: {json.dumps(outcome)}"
            yield Attempt(cell, "given", "a cell of the assignment", 0, 0, {}, failure)
    for task in assignment.tasks:
        failures = _failures(task, outcomes)
        noise = outcomes[task.id] or {i: outcomes[i] for i in task.points if outcomes[i]}
        problem = f"the solution must get all points: {noise}" if noise else None
        points = sum(p for test, p in task.points.items() if test not in failures)
        yield Attempt(task.id, "solution", "the solution", points, task.total, failures, problem)


def _judge(assignment: Assignment, answer: Answer, kind: str, outcomes: Outcomes) -> Attempt:
    task = assignment.task_of(answer.task)
    assert task is not None
    failures = _failures(task, outcomes)
    passed = (test for test in task.points if test in outcomes and test not in failures)
    points = sum(task.points[test] for test in passed)
    slip = next((o for o in outcomes.values() if o and o.get("error") in _SLIPS), None)
    problem = None
    if kind == "right" and points < task.total:
        problem = f"a right answer must get all points: {failures}"
    elif kind == "stub" and points:
        problem = f"a stub must get no points, got {points}"
    elif kind == "wrong" and points == task.total:
        problem = "a wrong answer must lose points, got all of them"
    elif kind == "wrong" and slip:
        problem = f"the answer fails with an unrelated error before its mistake: {slip}"
    return Attempt(task.id, kind, answer.description, points, task.total, failures, problem)
