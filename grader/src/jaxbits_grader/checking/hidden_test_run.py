"""The graded run: the notebook with its hidden tests, watched for tests that cannot fail."""

from __future__ import annotations

import ast
import builtins
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nbformat import NotebookNode

from jaxbits_grader.authoring import release_notebook as release
from jaxbits_grader.authoring.assignment_source import Assignment, Task, marks
from jaxbits_grader.authoring.variants import without_ranges
from jaxbits_grader.checking.private_test_names import Apart
from jaxbits_grader.reporting.grade_records import Mark
from jaxbits_grader.running.kernel_client import Cell, Kernel, RunEnded
from jaxbits_grader.running.kernel_launcher import started
from jaxbits_grader.running.limits import Limits

_NAME = re.compile(r"[A-Za-z_.' ]{1,40}")
_FROM = "__import__('jaxbits_grader.checking.{}', fromlist=['x'])"
# Nobody sees a traceback of this run, and a long one takes its time.
_QUICK = ("--InteractiveShell.xmode=Minimal",)


@dataclass
class Graded:
    """What the graded run found.

    Attributes:
        marks: points and messages of the test cells, in order.
        ended: why the run broke off, if it did.
        tampered: what shows that tests were made to pass.
        slow: the cells that were interrupted.
        odd: what a person should see, and takes no points.
    """

    marks: list[Mark] = field(default_factory=list)
    ended: str | None = None
    tampered: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)


def messages(source: str) -> set[str]:
    """The messages of a test cell that are plain text: what a student may be told of it.

    Example:
        >>> sorted(messages("assert x, 'too large'; testing.assert_close(x, 1, 'not one')"))
        ['not one', 'too large']
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        said: list[ast.expr] = []
        if isinstance(node, ast.Assert) and node.msg is not None:
            said = [node.msg]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("testing."):
            said = [*node.args, *(k.value for k in node.keywords if k.arg == "says")]
        for value in said:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.add(" ".join(value.value.split()))
    return found


def run(
    notebook: NotebookNode, assignment: Assignment, limits: Limits, *, unsafe: bool = False
) -> Graded:
    """Run a repaired notebook whose test cells are the teacher's.

    Args:
        notebook: the student's cells; solution and test cells carry nbgrader's marks.
        assignment: the source.
        limits: what it may use.
        unsafe: without the sandbox.
    """
    graded, apart = Graded(), Apart(assignment)
    try:
        with started(limits, _QUICK, unsafe=unsafe) as kernel:
            for number, cell in enumerate(notebook.cells, 1):
                if cell.cell_type != "code":
                    continue
                mark = marks(cell)
                if mark.get("grade"):
                    _test(kernel, apart, cell.source, mark, assignment, graded)
                else:
                    _cell(kernel, apart, cell, mark.get("grade_id") or f"cell {number}", graded)
            said = (kernel.ask(apart.redefined()) or "").split(", ")
            if anew := [name for name in said if name in apart.given]:
                graded.odd.append(f"defines anew what was given: {', '.join(anew)}")
    except RunEnded as reason:
        graded.ended = str(reason)
    done = {mark.id for mark in graded.marks}
    for task in assignment.tasks:
        graded.marks += [Mark(id, None, of) for id, of in task.points.items() if id not in done]
    order = [id for task in assignment.tasks for id in task.points]
    graded.marks.sort(key=lambda m: order.index(m.id))
    return graded


def _cell(kernel: Kernel, apart: Apart, cell: NotebookNode, name: str, graded: Graded) -> None:
    """Run a cell that is no test: a given one, an answer, or one of the student's own."""
    done = kernel.run(cell.source)
    if done.interrupted:
        graded.slow.append(name)
    if done.error and done.error[0] == "ModuleNotFoundError":
        graded.odd.append(f"a module that is not here, in {name}")
    mark = marks(cell)
    if mark and not mark["solution"]:
        kernel.run(apart.keeping(cell.source), kept=False)


def _test(
    kernel: Kernel,
    apart: Apart,
    source: str,
    mark: dict[str, Any],
    assignment: Assignment,
    graded: Graded,
) -> None:
    id, of = mark["grade_id"], float(mark["points"])
    task = assignment.task_of(id)
    assert task is not None
    before = len(graded.tampered)
    graded.tampered += [f"{what}, before {id}" for what in _means_altered(kernel)]
    cell, passed = _tried(kernel, apart, source)
    if cell.interrupted:
        graded.slow.append(id)
    if cell.error and cell.error[0] == "UntrustedType":
        graded.tampered.append(f"the answer could agree with anything, in {id}")
        graded.marks.append(Mark(id, 0.0, of))
    elif cell.error or cell.interrupted:
        graded.marks.append(Mark(id, 0.0, of, _says(cell, source)))
    elif not passed:
        graded.tampered.append(f"the test {id} was not run to its end, and says it was")
        graded.marks.append(Mark(id, 0.0, of))
    else:
        # Kept first: what follows may end the run, and these points are earned.
        graded.marks.append(Mark(id, of, of))
        whole = len(graded.tampered) == before
        if whole and _passes_without_answer(kernel, apart, source, task, assignment):
            graded.tampered.append(f"the test {id} passes without the answer, too")


def _tried(kernel: Kernel, apart: Apart, source: str) -> tuple[Cell, bool]:
    """Run a test cell; what came of it, and whether it was run to its last line."""
    nonce = secrets.token_hex(8)
    cell = kernel.run(apart.test(source, nonce), kept=False)
    if cell.error or cell.interrupted:
        return cell, False
    return cell, kernel.ask(apart.passed) == nonce


def _says(cell: Cell, source: str) -> str | None:
    if cell.error is None:
        return None
    said = " ".join(cell.error[1].split())
    return said if said in messages(source) else None


def _means_altered(kernel: Kernel) -> Iterator[str]:
    """What is wrong with the means of testing: what was replaced, what does not fail."""
    for what, asked in (
        ("replaced", f"{_FROM.format('integrity_check')}.replaced()"),
        ("has something pass that must fail:", f"{_FROM.format('canary_checks')}.passing()"),
    ):
        answer = kernel.ask(asked)
        if answer is None:
            yield "it does not say whether its means of testing are whole"
        elif answer:
            # What it names may be chosen by the submission: a name, and no text.
            said = [line for line in answer.splitlines() if _NAME.fullmatch(line)]
            yield f"it {what} {', '.join(said[:3]) or 'something'}"
    nonce = secrets.token_hex(8)
    if kernel.run(f"assert False, {nonce!r}").error is None:
        yield "an assertion that must fail passes"


def bound(source: str) -> list[str]:
    r"""The names that a cell binds at its top level.

    Example:
        >>> bound("import numpy as np\nx, y = 1, 2\ndef f(): z = 3")
        ['np', 'x', 'y', 'f']
    """
    names: list[str] = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += [(a.asname or a.name).split(".")[0] for a in node.names]
        else:
            stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
            names += [n.id for n in stored if isinstance(n.ctx, ast.Store)]
    return list(dict.fromkeys(names))


def _passes_without_answer(
    kernel: Kernel, apart: Apart, source: str, task: Task, assignment: Assignment
) -> bool:
    """Whether a test passes with the stub in the answer's place; the answer is put back."""
    text = without_ranges(assignment.cell(task.id).source)
    names = [name for name in bound(release.solved(text)) if not hasattr(builtins, name)]
    kept = f"_{secrets.token_hex(6)}"
    taking = f"{kept} = {{n: globals().pop(n) for n in {names!r} if n in globals()}}"
    kernel.run(taking, kept=False)
    kernel.run(release.stub(text), kept=False)
    _, passed = _tried(kernel, apart, source)
    kernel.run(f"globals().update({kept})\ndel {kept}", kept=False)
    return passed
