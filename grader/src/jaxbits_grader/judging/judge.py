"""Start a judge, and let it decide whether the answers in a kernel pass a test."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxbits_grader.authoring.answer_trials import STORE_ALL_PROGRAMS
from jaxbits_grader.judging.fuzzing.reference_comparison import (
    ComparisonResult,
    ReferenceComparison,
)
from jaxbits_grader.running import sandbox
from jaxbits_grader.running.limits import Limits

_PROGRAM = "jaxbits_grader.judging.judge_process"
_MAX_LINE_BYTES = 64 * 2**20


class JudgeEnded(Exception):
    """Raised if the judge's process ended or took too long."""


class JudgeNotStarted(JudgeEnded):
    """Raised if the judge's process ended before it could do anything.

    The message gives the last line that the process wrote to standard error.
    """


@dataclass(frozen=True)
class Verdict:
    """A judge's verdict on a test.

    Attributes:
        error: The class and the message of the exception that the test raised, or None.
        line: The line of the test that raised it, or None.
        skipped: The checks that need the function itself, such as ``"detect.side_effect"``.
        cannot: Why the judge cannot decide, or None if it has decided.
        ended: Whether the test took too long or ended the judge's process.
    """

    error: tuple[str, str] | None = None
    line: int | None = None
    skipped: tuple[str, ...] = ()
    cannot: str | None = None
    ended: bool = False


class Judge:
    """A running judge. Use `launch_judge` to start one.

    Args:
        process: The judge's process.
        limits: The limits on the run.
        errors: The file to which the process writes its standard error.
    """

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits, errors: Path) -> None:
        self._process, self._limits, self._errors = process, limits, errors
        self._has_started = False
        self._pending = 0  # How many given cells may still be running.
        self._buffer = b""
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(process.stdout, selectors.EVENT_READ)

    def run_given(self, source: str, names: Sequence[str], answers: Sequence[str]) -> None:
        """Start a given cell of the assignment without waiting until it has finished.

        Args:
            source: The source of the cell.
            names: The names that the cell defines.
            answers: The names of a student's answers that the cell uses.
        """
        self._send({"given": source, "names": list(names), "answers": list(answers)})
        self._pending += 1

    def run_test(
        self, source: str, answers: Sequence[str], ask: Callable[[str], str | None]
    ) -> Verdict:
        """Run a test, and return the verdict.

        Args:
            source: The source of the test, including hidden tests.
            answers: The names that the student's cells define.
            ask: A function that sends a request to the student's process and returns the reply.

        Raises:
            JudgeEnded: If the judge's process ends, or if the test takes too long.
        """
        while self._pending:
            self._wait(ask)
            self._pending -= 1
        self._send({"test": source, "answers": list(answers)})
        done = self._wait(ask)
        error = done.get("error")
        return Verdict(
            (str(error[0]), str(error[1])) if error else None,
            done.get("line"),
            tuple(done.get("skipped", ())),
            done.get("cannot"),
        )

    def compare(
        self, comparison: ReferenceComparison, ask: Callable[[str], str | None]
    ) -> ComparisonResult:
        """Call answers with new inputs, and compare the results with those of right answers.

        Args:
            comparison: What to compare.
            ask: A function that sends a request to the student's process and returns the reply.

        Raises:
            JudgeEnded: If the judge's process ends or takes too long.
        """
        self._send({"compare": comparison.to_data()})
        done = self._wait(ask)
        found, unused = done.get("difference"), done.get("never_compared", ())
        return ComparisonResult(None if found is None else str(found), tuple(map(str, unused)))

    def _wait(self, ask: Callable[[str], str | None]) -> dict[str, Any]:
        """Wait until a command has finished, and forward the judge's requests in the meantime."""
        deadline = time.monotonic() + self._limits.cell_seconds
        while "done" not in (message := self._receive(deadline)):
            began = time.monotonic()
            reply = ask(json.dumps(message["ask"]))
            deadline += time.monotonic() - began
            self._send(_parsed(reply))
        done: dict[str, Any] = message["done"]
        return done

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None

    def _receive(self, deadline: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        while b"\n" not in self._buffer:
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                raise JudgeEnded("the test took too long")
            chunk = self._process.stdout.read(1 << 20)
            if not chunk or len(self._buffer) > _MAX_LINE_BYTES:
                raise self._ended()
            self._buffer += chunk
            self._has_started = True
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def _ended(self) -> JudgeEnded:
        """Return an exception that says why the judge does not answer."""
        if self._has_started:
            return JudgeEnded("the judge's process has ended")
        lines = self._errors.read_text(errors="replace").splitlines() or ["no reason given"]
        return JudgeNotStarted(f"the judge did not start: {lines[-1]}")

    def end(self) -> None:
        """Kill the judge's process."""
        self._process.kill()
        self._process.wait()
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _parsed(reply: str | None) -> Any:
    try:
        return json.loads(reply or "null")
    except (ValueError, RecursionError):
        return None


@contextlib.contextmanager
def launch_judge(
    limits: Limits, *, unsafe: bool = False, cache: Path | None = None
) -> Iterator[Judge]:
    """Yield a running judge. When the block ends, kill its process.

    The judge runs no student code. It still runs in the sandbox, because its tests evaluate
    programs that a student's process describes.

    Args:
        limits: The resources that the judge may use.
        unsafe: Whether to start the judge outside the sandbox.
        cache: A folder in which judges keep compiled programs. All submissions have the same
            tests, so a judge can reuse most of what earlier judges have compiled.

    Raises:
        SandboxUnavailable: If bubblewrap is not installed.
    """
    program = [sys.executable, "-I", "-m", _PROGRAM]
    with tempfile.TemporaryDirectory(prefix="jj") as scratch:
        folder = str(cache.resolve()) if cache else scratch
        if cache:
            cache.mkdir(parents=True, exist_ok=True)
            settings = {"JAX_COMPILATION_CACHE_DIR": folder, **STORE_ALL_PROGRAMS}
            program = ["env", *(f"{key}={value}" for key, value in settings.items()), *program]
        if unsafe:
            command, environment = program, {**sandbox.student_environment(), "HOME": scratch}
        else:
            command, environment = sandbox.sandbox_command(program, Path(folder), limits), {}
        errors = Path(scratch) / "errors"
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=stderr, start_new_session=True, bufsize=0,
            )  # fmt: skip
        judge = Judge(process, limits, errors)
        try:
            yield judge
        finally:
            judge.end()
