"""Check that an assignment's own solution passes when it is graded like a submission."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import SOURCE_FILE, SourceError
from jaxbits_grader.authoring.cell_markers import solution_source
from jaxbits_grader.authoring.notebook_versions import solution_notebook, student_notebook
from jaxbits_grader.authoring.reference_answers import Answer
from jaxbits_grader.checking.failure_messages import literal_messages
from jaxbits_grader.checking.hidden_test_run import run_hidden_tests
from jaxbits_grader.checking.scan.forbidden_names import forbidden_uses
from jaxbits_grader.notebook import Cell, ParsedNotebook
from jaxbits_grader.running.limits import Limits

_CHECKS = {f"testing.assert_{name}" for name in ("accuracy", "array", "close", "raises")}
_LIMITS = Limits(cell_seconds=120, notebook_seconds=900)


def find_solution_problems(
    assignment: Assignment, cache: Path | None = None, answers: Mapping[str, str] | None = None
) -> list[str]:
    """Grade an assignment's solution, and return the problems that this reveals.

    The result is empty if the solution gets all points, the metadata of every test that has to run
    in the student's process says so, and nothing looks unusual.

    Args:
        assignment: The assignment.
        cache: A folder in which judges keep compiled programs, or None.
        answers: Other right answers to grade instead, keyed by the id of the task.

    Raises:
        SandboxUnavailable: If bubblewrap is not installed.
        KernelNotStarted: If no kernel could be started.
    """
    solved = solution_notebook(assignment)
    for cell in solved.cells:
        cell.source = (answers or {}).get(cell.id, cell.source)
    notebook = ParsedNotebook.from_nbformat(solved)
    result = run_hidden_tests(notebook, assignment, _LIMITS, cache=cache)
    problems = [
        f"the grader gives the solution {cell.points or 0:g} of {cell.max_points:g} points for "
        f"{cell.id}: {cell.message or 'no message'}"
        for cell in result.points
        if cell.points != cell.max_points
    ]
    problems += [
        f"{note}; if it must run there, add 'together' to its metadata"
        if note.startswith("the judge could not run")
        else note
        for note in result.odd
    ]
    problems += result.tampering
    return [*problems, *([result.ended] if result.ended else [])]


def check_forbidden_names(assignment: Assignment, answers: Sequence[Answer]) -> None:
    """Check that tasks forbid only names that exist, and none that a right answer uses.

    A name exists if a given cell defines it, or if it is the name of an installed module. A name
    that begins with a period, such as `.trace`, stands for the attribute of any object. If a task
    forbids such an attribute, it may also forbid the name without the period.

    Args:
        assignment: The assignment, whose solutions are checked, too.
        answers: Its other answers.

    Raises:
        SourceError: If a task forbids an unknown name, or if a right answer uses a forbidden name.
    """
    released = ParsedNotebook.from_nbformat(student_notebook(assignment))
    given = frozenset[str]().union(*(cell.names for cell in released.cells))
    for task, names in assignment.forbidden.items():
        attributes = {name for name in names if name.startswith(".")}
        known = {*given, *attributes, *(name[1:] for name in attributes)}
        unknown = [name for name in sorted(set(names) - known) if not find_spec(name)]
        if unknown:
            raise SourceError(
                f"{assignment.name}: {task} forbids {unknown}, but no given cell defines "
                f"{unknown[0]!r}, and no installed module has this name; correct 'forbids' in "
                f"{SOURCE_FILE}"
            )
        solution = solution_source(assignment.cell(task).source)
        right = [answer for answer in answers if answer.task == task and answer.is_right]
        for answer in (Answer(task, True, "the solution", solution), *right):
            notebook = ParsedNotebook((Cell("code", answer.source),))
            for use in forbidden_uses(notebook, released, {task: names}):
                raise SourceError(
                    f"{assignment.name}: {task} forbids {use.name}, but a right answer uses it: "
                    f"{answer.description}"
                )


def check_messages(assignment: Assignment) -> None:
    """Check that every check in a test has a message that students may read.

    From a hidden test, students see only messages that are string literals, because a computed
    message could reveal what the test expects.

    Raises:
        SourceError: If a check has no message, or if its message is computed.
    """
    for test in assignment.test_points:
        for node in ast.walk(ast.parse(assignment.cell(test).source)):
            is_check = isinstance(node, ast.Assert) or (
                isinstance(node, ast.Call) and ast.unparse(node.func) in _CHECKS
            )
            if is_check and not literal_messages(ast.unparse(node)):
                raise SourceError(
                    f"{assignment.name}: every check in {test} must have a message that is a plain "
                    "string (not an f-string), because students see no other message, got "
                    f"{ast.unparse(node)}"
                )
