"""Try the answers to an assignment in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Container
from pathlib import Path
from typing import Any

from jaxbits_grader.authoring import answer_runner
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import SourceError
from jaxbits_grader.authoring.cell_markers import solution_source, visible_tests
from jaxbits_grader.authoring.private_names import PrivateNames
from jaxbits_grader.authoring.reference_answers import Answer
from jaxbits_grader.notebook import nbgrader_metadata

STUB = "the stub"  # Answers with this description are stubs.
# Make JAX store every compiled program, however small. Most answers compile the same programs,
# because they pass through the same tests. See
# https://docs.jax.dev/en/latest/persistent_compilation_cache.html.
STORE_ALL_PROGRAMS = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    # The sandbox turns the cache off unless it has programs to read.
    "JAX_ENABLE_COMPILATION_CACHE": "true",
    # These caches, for GPUs, would make the names of programs depend on the path of the folder.
    "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",
}
Outcomes = dict[str, Any]


def cells_to_run(
    assignment: Assignment, private: PrivateNames, complete: Container[str] | None = None
) -> list[dict[str, Any]]:
    """Return the code cells, including solutions, in the form in which the grader runs them.

    Args:
        assignment: The assignment.
        private: The private names that the tests use.
        complete: The grade_ids of the tests to include with their hidden parts. By default, all.

    Returns:
        A dictionary for each cell, which `jaxbits_grader.authoring.answer_runner.run_answers`
        describes.
    """
    cells = []
    for cell in assignment.notebook.cells:
        if cell.cell_type != "code":
            continue
        metadata = nbgrader_metadata(cell)
        task = assignment.task_of(metadata["grade_id"]) if metadata else None
        source = cell.source
        is_solution = bool(metadata.get("solution"))
        if is_solution:
            source = solution_source(source)
        elif metadata.get("grade"):
            if complete is not None and metadata["grade_id"] not in complete:
                source = visible_tests(source)
            source = private.rename_test(source, "finished")
        elif metadata:
            source = f"{source}\n{private.save_given_names(source)}"
        cells.append(
            {"id": cell.id, "source": source, "task": task and task.id, "solution": is_solution}
        )
    return cells


def try_answers(
    assignment: Assignment,
    answers: list[Answer],
    python: str,
    timeout: float,
    cache: Path | None = None,
) -> list[Outcomes]:
    """Run an assignment's tests on its solution and on other answers.

    Args:
        assignment: The assignment.
        answers: The answers to try after the solution.
        python: The Python interpreter to use, which must have jaxbits and IPython installed.
        timeout: The combined time limit for all answers, in seconds.
        cache: A folder in which JAX keeps compiled programs. By default, they are kept only until
            all answers have been tried.

    Returns:
        A list of dictionaries that map cell ids to outcomes: one for the solution, followed by one
        for each answer. `jaxbits_grader.authoring.answer_runner.run_answers` describes the
        outcomes.

    Raises:
        SourceError: If the process times out or ends early. The message names the answer that was
            running.
    """
    request = {
        "cells": cells_to_run(assignment, PrivateNames(assignment, copies_modules=False)),
        "answers": [
            {
                "task": answer.task,
                "source": answer.source,
                "wrong": not answer.is_right and answer.description != STUB,
            }
            for answer in answers
        ],
    }
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "outcomes.json"
        cache_folder = str(cache or Path(scratch) / "compiled")
        cache_settings = {"JAX_COMPILATION_CACHE_DIR": cache_folder, **STORE_ALL_PROGRAMS}
        # With -P, modules next to the script cannot shadow installed ones.
        command = [python, "-P", answer_runner.__file__, str(path)]
        try:
            done = subprocess.run(
                command,
                input=json.dumps(request),
                text=True,
                capture_output=True,
                timeout=timeout,
                cwd=scratch,
                # Settings of the user's own take precedence.
                env={**cache_settings, **os.environ},
            )
        except subprocess.TimeoutExpired as error:
            where = _last_answer(answers, error.stdout)
            raise SourceError(
                f"{assignment.name}: timed out after {timeout:g} s while running {where}"
            ) from None
        if done.returncode or not path.exists():
            last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
            where = _last_answer(answers, done.stdout)
            raise SourceError(
                f"{assignment.name}: the process ended while running {where}: {last_line}"
            )
        outcomes: list[Outcomes] = json.loads(path.read_text(encoding="utf-8"))
    return outcomes


def _last_answer(answers: list[Answer], stdout: str | bytes | None) -> str:
    """Return a description of the answer whose number the process printed last."""
    text = stdout.decode(errors="replace") if isinstance(stdout, bytes) else stdout or ""
    numbers = [line for line in text.splitlines() if line.isdecimal()]
    if not numbers:
        return "the solution"
    answer = answers[int(numbers[-1])]
    return f"{answer.task}, {answer.description}"
