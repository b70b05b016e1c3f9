"""Compare the values in a student's kernel with those that the solution gives in another process.

Some tests have to run next to the answer, where a submission could change what they expect. A
second process, in which no student's code runs, therefore runs these tests with the solution. It
does so once per course and assignment.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import numpy as np

from jaxbits_grader.authoring.answer_trials import STORE_ALL_PROGRAMS, cells_to_run
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.private_names import PrivateNames
from jaxbits_grader.files import write_atomically
from jaxbits_grader.judging.comparisons import decode_numbers
from jaxbits_grader.running import sandbox

_PROGRAM = "jaxbits_grader.judging.solution_values"
_FOLDER = "expected-values"  # Within the folder of compiled programs.
_SECONDS = 900.0
# The two processes may add numbers in different orders, because their numbers of threads may
# differ.
_SLACK = 2.0
_COMPARES = re.compile(r"\btesting\.assert_(close|accuracy)\(")
_known: dict[str, dict[str, list[Comparison]]] = {}


class ValuesUnavailable(Exception):
    """Raised if the solution's process did not return any values. The message says why."""


class NotComparable(Exception):
    """Raised if a kernel did not make the comparisons that a test makes with the solution."""


@dataclass(frozen=True)
class Comparison:
    """A comparison that a test makes.

    Attributes:
        message: What the student reads if the values differ.
        numbers: The expected numbers, a float64 array of shape (n,).
        rules: The tolerances `rtol` and `atol`, or `at_least`, the share that must be equal.
    """

    message: str
    numbers: np.ndarray
    rules: dict[str, float]

    def accepts(self, seen: np.ndarray) -> bool:
        """Return whether the numbers in a student's kernel are the expected ones."""
        if seen.shape != self.numbers.shape:
            return False
        if "at_least" in self.rules:
            return bool(np.mean(seen == self.numbers) >= self.rules["at_least"])
        rtol, atol = (_SLACK * self.rules[name] for name in ("rtol", "atol"))
        return bool(np.isclose(seen, self.numbers, rtol, atol, equal_nan=True).all())


def find_difference(answer: str | None, expected: list[Comparison]) -> str | None:
    """Return the message of the first comparison in which an answer has the wrong values.

    Args:
        answer: What `jaxbits_grader.judging.comparisons.take` returned in the student's kernel, or
            None if the kernel did not answer.
        expected: The comparisons that the test makes with the solution.

    Returns:
        The message, or None if all values are right.

    Raises:
        NotComparable: If the kernel did not make the same comparisons.
    """
    try:
        seen = [(str(part[0]), decode_numbers(part[1])) for part in json.loads(answer or "null")]
    except (TypeError, ValueError, IndexError, KeyError, RecursionError):
        raise NotComparable from None
    if [message for message, _ in seen] != [comparison.message for comparison in expected]:
        raise NotComparable
    pairs = zip(seen, expected, strict=True)
    return next((known.message for (_, found), known in pairs if not known.accepts(found)), None)


def compared_tests(assignment: Assignment) -> list[str]:
    """Return the grade_ids of the tests whose values are compared with those of the solution."""
    return [
        id
        for id in assignment.together
        if id not in assignment.varies and _COMPARES.search(assignment.cell(id).source)
    ]


def read_expected_values(
    assignment: Assignment, cache: Path | None = None
) -> dict[str, list[Comparison]]:
    """Return what each of the `compared_tests` compares, keyed by grade_id.

    Args:
        assignment: The assignment.
        cache: A folder in which to keep the values and the compiled programs. If it is None, the
            values are kept only as long as this process runs.

    Raises:
        ValuesUnavailable: If a test fails with the solution, or takes too long.
    """
    compared = compared_tests(assignment)
    if not compared:
        return {}
    sources = [cell.source for cell in assignment.notebook.cells]
    key = hashlib.sha256(json.dumps([compared, sources, _environment()]).encode()).hexdigest()
    if key not in _known:
        cells = cells_to_run(assignment, PrivateNames(assignment), compared)
        tests = {assignment.cell(id).id: id for id in compared}
        request = json.dumps([{**cell, "test": tests.get(cell["id"])} for cell in cells])
        text = _stored(request, cache, f"{assignment.name}-{key[:16]}.json")
        _known[key] = {
            id: [Comparison(part[0], decode_numbers(part[1]), part[2]) for part in found]
            for id, found in json.loads(text).items()
        }
    return _known[key]


@functools.cache
def _environment() -> list[str]:
    """Return the versions of Python and of all installed packages."""
    installed = {f"{found.name} {found.version}" for found in distributions()}
    return [sys.version, *sorted(installed)]


def _stored(request: str, cache: Path | None, name: str) -> str:
    """Return the values as JSON, from a file if there is one."""
    if cache is None:
        return _compute(request, None)
    path = cache / _FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with _lock(path.with_suffix(".lock")):  # Two workers may need the values at the same time.
        if not path.exists():
            write_atomically(path, _compute(request, cache))
        return path.read_text(encoding="utf-8")


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compute(request: str, cache: Path | None) -> str:
    with tempfile.TemporaryDirectory(prefix="jv") as scratch:
        values = Path(scratch) / "values.json"
        programs = str(cache.resolve()) if cache else f"{scratch}/compiled"
        environment = {
            **sandbox.student_environment(),
            "HOME": scratch,
            "JAX_COMPILATION_CACHE_DIR": programs,
            **STORE_ALL_PROGRAMS,
        }
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-m", _PROGRAM, str(values)], input=request, text=True,
                capture_output=True, timeout=_SECONDS, cwd=scratch, env=environment,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ValuesUnavailable(f"the solution took longer than {_SECONDS:g} s") from None
        if done.returncode or not values.exists():
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            raise ValuesUnavailable(lines[-1])
        return values.read_text(encoding="utf-8")
