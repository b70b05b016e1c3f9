"""Run code in a fresh interpreter, to change settings that JAX reads only when it starts."""

from __future__ import annotations

import builtins
import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap


def run_in_subprocess(code: str, *, limit: float = 120, **variables: str) -> str:
    """Run code in a fresh interpreter on the CPU, and return what it prints.

    Args:
        code: The program, which may be indented. Its standard input is empty.
        limit: The time limit in seconds. At the limit, the function kills the program and all
            processes that it started.
        variables: Environment variables to set for the program. It also inherits the environment
            of this process, except for JAX and XLA variables.

    Raises:
        TimeoutError: If the program runs longer than the limit.
        Exception: The exception that ended the program, if its class is built in. Any other
            exception becomes a RuntimeError that names the class and the message.

    >>> run_in_subprocess("import os; print(os.environ['JAX_ENABLE_X64'])", JAX_ENABLE_X64="1")
    '1'
    >>> run_in_subprocess("1 / 0")
    Traceback (most recent call last):
    ZeroDivisionError: division by zero
    >>> run_in_subprocess("while True: pass", limit=0.2)
    Traceback (most recent call last):
    TimeoutError: the program ran longer than 0.2 seconds and printed nothing
    """
    # Use files instead of pipes, because a full pipe would block the program.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stdout,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr,
    ):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=clean_environment(TF_CPP_MIN_LOG_LEVEL="3", **variables),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        is_late = False
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            is_late = True
        finally:  # Kill the program even if the reader interrupts the cell.
            kill_process_group(process)
        stdout.seek(0)
        stderr.seek(0)
        output, errors = stdout.read().strip(), stderr.read()
    if is_late:
        last = f"{output.splitlines()[-1]!r} last" if output else "nothing"
        raise TimeoutError(f"the program ran longer than {limit:g} seconds and printed {last}")
    if process.returncode:
        raise _parse_exception(errors, process.returncode)
    return output


def clean_environment(**variables: str) -> dict[str, str]:
    """Return this process's environment variables, except for JAX and XLA variables.

    Args:
        variables: Environment variables to add. JAX_PLATFORMS is ``cpu`` unless it is given here.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
    return {**kept, "JAX_PLATFORMS": "cpu", "PYTHONIOENCODING": "utf-8", **variables}


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session, together with all processes that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _parse_exception(errors: str, status: int) -> Exception:
    """Return the exception that ended a program, given its stderr and its exit status."""
    _, header, last = errors.rpartition("Traceback (most recent call last):\n")
    error = _rebuild_exception(header, last, status)
    # `explain` treats an error differently if JAX raised it.
    error.raised_in = re.findall(r'^  File "([^"]+)"', last, re.M)[-1:]  # type: ignore[attr-defined]
    return error


def _rebuild_exception(header: str, last: str, status: int) -> Exception:
    lines = last.splitlines()
    while lines and (not lines[0].strip() or lines[0].startswith(" ")):
        del lines[0]
    # Below a line of dashes, JAX notes that it has removed its own frames from the traceback.
    # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/traceback_util.py
    message_lines = itertools.takewhile(lambda line: not line.startswith("-----"), lines)
    text = "\n".join(message_lines).strip()
    name, _, message = text.partition(": ")
    kind = getattr(builtins, name.strip(), None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        # Some classes, such as UnicodeDecodeError, need more than one argument.
        with contextlib.suppress(TypeError):
            return kind(message) if message else kind()
    if header and text:
        return RuntimeError(text)
    how = f"signal {-status} terminated the program"
    if status > 0:
        how = f"the program exited with status {status}"
    return RuntimeError(f"{how}: {text}" if text else how)
