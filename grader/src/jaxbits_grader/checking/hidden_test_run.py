"""Run a submission with the hidden tests, and look for attempts to get around them."""

from __future__ import annotations

import ast
import builtins
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from jaxbits_grader.authoring.assignment import Assignment, Task
from jaxbits_grader.authoring.cell_markers import solution_source, stub_source
from jaxbits_grader.authoring.private_names import PrivateNames
from jaxbits_grader.cell_names import bound_names
from jaxbits_grader.grade_records import CellPoints
from jaxbits_grader.notebook import Cell, ParsedNotebook, Role
from jaxbits_grader.running.kernel_client import CellResult, Kernel, RunEnded
from jaxbits_grader.running.kernel_launcher import launch_kernel
from jaxbits_grader.running.limits import Limits

_SAFE_NAME = re.compile(r"[A-Za-z_.' ]{1,40}")
_IMPORT = "__import__('jaxbits_grader.checking.{}', fromlist=['x'])"
_REPLACED = _IMPORT.format("integrity_check") + ".find_replaced()"
_CANARIES = _IMPORT.format("canary_checks") + ".failed_canaries()"
# Keep tracebacks minimal, because nobody sees them and IPython takes a long time to format full
# ones.
_IPYTHON_OPTIONS = ("--InteractiveShell.xmode=Minimal",)


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


def literal_messages(source: str) -> set[str]:
    """Return the messages in a test cell that are string literals.

    A student may see these messages, but no other error message from a hidden test.

    Example:
        >>> source = "assert x, 'too large'; testing.assert_close(x, 1, 'not one', rtol=0.1)"
        >>> sorted(literal_messages(source))
        ['not one', 'too large']
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        candidates: list[ast.expr] = []
        if isinstance(node, ast.Assert) and node.msg is not None:
            candidates = [node.msg]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("testing."):
            candidates = [*node.args, *(k.value for k in node.keywords if k.arg == "message")]
        for value in candidates:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.add(" ".join(value.value.split()))
    return found


def run_hidden_tests(
    notebook: ParsedNotebook, assignment: Assignment, limits: Limits, *, unsafe: bool = False
) -> RunResult:
    """Run a repaired notebook with the teacher's test cells in place of the visible ones.

    Args:
        notebook: The repaired notebook.
        assignment: The assignment, which provides the teacher's test cells.
        limits: The resources that the run may use.
        unsafe: Whether to run the notebook outside the sandbox.

    Raises:
        KernelNotStarted: If no kernel could be started.
    """
    run = _Run(assignment)
    try:
        with launch_kernel(limits, _IPYTHON_OPTIONS, unsafe=unsafe) as kernel:
            run.all_cells(kernel, notebook)
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

    def result(self) -> RunResult:
        tests = self.assignment.test_points.items()
        points = (self.points.get(id) or CellPoints(id, None, most) for id, most in tests)
        found = (tuple(found) for found in (self.tampering, self.slow, self.odd))
        return RunResult(tuple(points), self.ended, *found)

    def all_cells(self, kernel: Kernel, notebook: ParsedNotebook) -> None:
        for number, cell in enumerate(notebook.cells, 1):
            if cell.cell_type != "code":
                continue
            if cell.role is Role.TEST:
                self._run_test(kernel, str(cell.grade_id))
            else:
                self._run_cell(kernel, cell, number)
        answer = (kernel.evaluate(self.names.redefinition_query()) or "").split(", ")
        if redefined := [name for name in answer if name in self.names.given]:
            self.odd.append(f"redefines given functions: {', '.join(redefined)}")

    def _run_cell(self, kernel: Kernel, cell: Cell, number: int) -> None:
        name = cell.grade_id or f"cell {number}"
        done = kernel.run_cell(cell.source)
        if done.interrupted:
            self.slow.append(name)
        if done.error and done.error[0] == "ModuleNotFoundError":
            self.odd.append(f"imports a module that is not installed here, in {name}")
        if cell.role is Role.GIVEN:
            kernel.run_cell(self.names.save_given_names(cell.source), in_history=False)

    def _run_test(self, kernel: Kernel, id: str) -> None:
        source, most = self.assignment.cell(id).source, self.assignment.test_points[id]
        task = self.assignment.task_of(id)
        assert task is not None
        altered = [f"{what}, before {id}" for what in _altered_checks(kernel)]
        self.tampering += altered
        done, finished = self._try_test(kernel, source)
        if done.interrupted:
            self.slow.append(id)
        if done.error and done.error[0] == "UntrustedType":
            self.tampering.append(f"the answer could compare equal to anything, in {id}")
            self.points[id] = CellPoints(id, 0.0, most)
        elif done.error or done.interrupted:
            self.points[id] = CellPoints(id, 0.0, most, _message(done, source))
        elif not finished:
            self.tampering.append(f"the test {id} did not run to completion but reported success")
            self.points[id] = CellPoints(id, 0.0, most)
        else:
            # Record the points now, because they have been earned but the next check may end the
            # run.
            self.points[id] = CellPoints(id, most, most)
            if not altered and self._passes_with_stub(kernel, source, task):
                self.tampering.append(f"the test {id} also passes without the answer")

    def _try_test(self, kernel: Kernel, source: str) -> tuple[CellResult, bool]:
        """Run a test cell, and return its result and whether it ran to completion."""
        nonce = secrets.token_hex(8)
        done = kernel.run_cell(self.names.rename_test(source, nonce), in_history=False)
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
        _, finished = self._try_test(kernel, source)
        kernel.run_cell(f"globals().update({saved})\ndel {saved}", in_history=False)
        return finished


def _message(done: CellResult, source: str) -> str | None:
    """Return the message of a failed test, or None if the student may not see it."""
    message = " ".join(done.error[1].split()) if done.error else None
    return message if message in literal_messages(source) else None


def _altered_checks(kernel: Kernel) -> Iterator[str]:
    """Yield a description of each sign that tests in this kernel cannot be trusted."""
    for what, query in (
        ("replaced", _REPLACED),
        ("made something pass that must fail:", _CANARIES),
    ):
        answer = kernel.evaluate(query)
        if answer is None:
            yield "it does not answer whether the functions that tests use are intact"
        elif answer:
            # A submission can make up these names, so repeat only plausible ones.
            names = [line for line in answer.splitlines() if _SAFE_NAME.fullmatch(line)]
            yield f"it {what} {', '.join(names[:3]) or 'something'}"
    nonce = secrets.token_hex(8)
    if kernel.run_cell(f"assert False, {nonce!r}").error is None:
        yield "an assertion that must fail passes"
