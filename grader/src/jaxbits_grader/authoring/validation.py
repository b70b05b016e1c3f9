"""Prove an assignment: its solutions get full marks, its stubs none, its wrong answers fail."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxbits_grader.authoring import answer_runner
from jaxbits_grader.authoring import assignment_source as source
from jaxbits_grader.authoring import reference_answers as answers_file
from jaxbits_grader.authoring import release_notebook as release
from jaxbits_grader.authoring.assignment_source import Assignment, SourceError, marks
from jaxbits_grader.authoring.reference_answers import Answer
from jaxbits_grader.authoring.variants import ranges, vary, without_ranges
from jaxbits_grader.checking.private_test_names import Apart

SECONDS = 900
WRONG_ANSWERS = 3
# A wrong answer that fails by one of these was not tried at all.
STUB = "the stub"
_SLIPS = (
    "NameError",
    "SyntaxError",
    "IndentationError",
    "TabError",
    "ImportError",
    "ModuleNotFoundError",
)


@dataclass(frozen=True)
class Try:
    """One answer, tried: points got and to be had, and what each failed test cell said."""

    task: str
    kind: str
    what: str
    points: int
    of: int
    failed: dict[str, dict[str, str]]
    problem: str | None

    def line(self) -> str:
        """The try in a line."""
        mark = "✗" if self.problem else "✓"
        says = next((f["says"] for f in self.failed.values()), "")
        error = next((f["error"] for f in self.failed.values()), "")
        text = f"{mark} {self.task:24} {self.kind:8} {self.points}/{self.of}  {self.what}"
        if error:
            text += f"  [{error}: {says.splitlines()[0] if says else ''}]"
        return text + (f"\n    {self.problem}" if self.problem else "")


def prove(
    folder: Path,
    *,
    seed: int | str | None = None,
    python: str = sys.executable,
    seconds: float = SECONDS,
) -> list[Try]:
    """Try an assignment's solution, its stub, and every answer that stands beside its source.

    Args:
        folder: the assignment's folder.
        seed: try a variant, its numbers drawn with this seed.
        python: the interpreter to try it with; it needs jaxbits and IPython.
        seconds: for all answers together.

    Returns:
        What was tried; a `problem` says what is wrong with the assignment.

    Raises:
        SourceError: when the source or the answers break a rule, or the trial does not end.
    """
    assignment = source.read(folder)
    text = (folder / source.SOURCE).read_text(encoding="utf-8")
    ranges(text)
    # Also without a seed: a range that cannot be drawn from is found here.
    varied = vary(text, f"{seed} {assignment.name}")
    if seed is not None:
        assignment = source.parse(varied, assignment.name)
    given = answers_file.read(folder, assignment)
    if missing := [
        f"{task.id} ({kind})"
        for task in assignment.tasks
        for kind, right, least in (("wrong", False, WRONG_ANSWERS), ("right", True, 1))
        if sum(a.task == task.id and a.right is right for a in given) < least
    ]:
        raise SourceError(
            f"{assignment.name}: too few answers for {', '.join(missing)}; {WRONG_ANSWERS} wrong "
            "ones a task and a right one besides the solution should be there"
        )
    if found := release.leaks(assignment, release.student(assignment)):
        raise SourceError(f"{assignment.name}: the release gives away {found[:3]}")
    stubs = [
        Answer(task.id, False, STUB, release.stub(assignment.cell(task.id).source))
        for task in assignment.tasks
    ]
    tried = _trial(assignment, [*stubs, *given], python, seconds)
    return [*_solutions(assignment, tried[0]), *_answers(assignment, stubs, given, tried[1:])]


def solved(folder: Path, *, python: str = sys.executable) -> list[Try]:
    """Try an assignment's solution alone.

    Args:
        folder: the assignment's folder.
        python: the interpreter to try it with; it needs jaxbits and IPython.

    Raises:
        SourceError: when the source breaks a rule, or the trial does not end.
    """
    assignment = source.read(folder)
    return list(_solutions(assignment, _trial(assignment, [], python, SECONDS)[0]))


def _cells(assignment: Assignment) -> list[dict[str, Any]]:
    """The code cells as they are run when a submission is graded, the solutions in their places."""
    apart = Apart(assignment)
    cells = []
    for cell in assignment.notebook.cells:
        if cell.cell_type != "code":
            continue
        mark = marks(cell)
        task = assignment.task_of(mark["grade_id"]) if mark else None
        text = without_ranges(cell.source)
        if mark.get("solution"):
            text = release.solved(text)
        elif mark.get("grade"):
            text = apart.test(text, "through")
        elif mark:
            text = f"{text}\n{apart.keeping(text)}"
        solution = bool(mark.get("solution"))
        cells.append(
            {"id": cell.id, "source": text, "task": task and task.id, "solution": solution}
        )
    return cells


def _trial(
    assignment: Assignment, answers: list[Answer], python: str, seconds: float
) -> list[dict[str, Any]]:
    trial = {
        "cells": _cells(assignment),
        "answers": [
            {"task": a.task, "source": a.source, "wrong": not a.right and a.what != STUB}
            for a in answers
        ],
    }
    with tempfile.TemporaryDirectory() as scratch:
        outcome = Path(scratch) / "outcome.json"
        command = [python, "-P", answer_runner.__file__, str(outcome)]
        try:
            done = subprocess.run(
                command,
                input=json.dumps(trial),
                text=True,
                capture_output=True,
                timeout=seconds,
                cwd=scratch,
            )
        except subprocess.TimeoutExpired as error:
            at = _at(answers, error.stdout)
            raise SourceError(
                f"{assignment.name}: its answers took over {seconds:g} s, the last was {at}"
            ) from None
        if done.returncode or not outcome.exists():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            at = _at(answers, done.stdout)
            raise SourceError(f"{assignment.name}: its trial broke off at {at}: {last}")
        results: list[dict[str, Any]] = json.loads(outcome.read_text(encoding="utf-8"))
    return results


def _at(answers: list[Answer], said: str | bytes | None) -> str:
    """Which answer a trial had come to: it says the number of each as it begins."""
    text = said.decode(errors="replace") if isinstance(said, bytes) else said or ""
    begun = [line for line in text.splitlines() if line.isdecimal()]
    if not begun:
        return "the solution"
    answer = answers[int(begun[-1])]
    return f"{answer.task}, {answer.what}"


def _solutions(assignment: Assignment, outcomes: dict[str, Any]) -> Iterator[Try]:
    others = {
        cell: outcome
        for cell, outcome in outcomes.items()
        if outcome and assignment.task_of(cell) is None
    }
    for cell, outcome in others.items():
        loud = "a given cell fails or writes to stderr: " + json.dumps(outcome)
        yield Try(cell, "given", "a cell of the assignment", 0, 0, {}, loud)
    for task in assignment.tasks:
        failed = {id: outcomes[id] for id in task.points if "error" in (outcomes[id] or {})}
        wrong = outcomes[task.id] or {i: outcomes[i] for i in task.points if outcomes[i]}
        problem = f"the solution should get all points: {wrong}" if wrong else None
        points = sum(p for id, p in task.points.items() if id not in failed)
        yield Try(task.id, "solution", "the solution", points, task.total, failed, problem)


def _answers(
    assignment: Assignment,
    stubs: list[Answer],
    given: list[Answer],
    tried: list[dict[str, Any]],
) -> Iterator[Try]:
    tasks = {task.id: task for task in assignment.tasks}
    for answer, outcomes in zip([*stubs, *given], tried, strict=True):
        task = tasks[answer.task]
        failed = {i: outcomes[i] for i in task.points if "error" in (outcomes.get(i) or {})}
        points = sum(p for i, p in task.points.items() if i in outcomes and i not in failed)
        kind = "stub" if answer in stubs else "right" if answer.right else "wrong"
        yield Try(
            task.id,
            kind,
            answer.what,
            points,
            task.total,
            failed,
            _problem(kind, points, task.total, outcomes, failed),
        )


def _problem(
    kind: str, points: int, of: int, outcomes: dict[str, Any], failed: dict[str, dict[str, str]]
) -> str | None:
    slip = next((o for o in outcomes.values() if o and o.get("error") in _SLIPS), None)
    if kind == "right":
        return None if points == of else f"a right answer should get all points: {failed}"
    if kind == "stub":
        return None if points == 0 else f"a stub should get no point: it passes {points}"
    if points == of:
        return "a wrong answer should lose points: it gets all"
    return f"it fails by a slip, not by its mistake: {slip}" if slip else None
