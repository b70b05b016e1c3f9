"""Code in a fresh interpreter: for what has to be said before JAX starts."""

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
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

_ENVIRONMENT = ("TF_CPP_MIN_LOG_LEVEL", "3"), ("JAX_PLATFORMS", "cpu")


def run_in_subprocess(code: str, *, limit: float = 120, **variables: str) -> str:
    """Run code in a fresh interpreter, on the CPU, and return what it prints.

    Args:
        code: the program; its indentation is taken off. It has nothing to read from.
        limit: seconds after which it is ended, with all that it started.
        variables: environment variables it begins with. Those of JAX and XLA are not inherited.

    Raises:
        TimeoutError: it ran longer than the limit.
        Exception: what the code raised, when it is one of Python's own; RuntimeError otherwise.

    >>> run_in_subprocess("import os; print(os.environ['JAX_ENABLE_X64'])", JAX_ENABLE_X64="1")
    '1'
    >>> run_in_subprocess("1 / 0")
    Traceback (most recent call last):
    ZeroDivisionError: division by zero
    >>> run_in_subprocess("while True: pass", limit=0.2)
    Traceback (most recent call last):
    TimeoutError: the program was ended: it ran longer than 0.2 seconds, and had printed nothing
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complained,
    ):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**kept, **dict(_ENVIRONMENT), "PYTHONIOENCODING": "utf-8", **variables},
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=complained,
            start_new_session=True,
        )
        late = False
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            late = True
        finally:  # also when the reader interrupts the cell
            _end(process)
        printed.seek(0)
        complained.seek(0)
        output, errors = printed.read().strip(), complained.read()
    if late:
        had = f"last {output.splitlines()[-1]!r}" if output else "nothing"
        raise TimeoutError(
            f"the program was ended: it ran longer than {limit:g} seconds, and had printed {had}"
        )
    if process.returncode:
        raise _raised(errors, process.returncode)
    return output


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a program, and of what it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _raised(errors: str, code: int) -> Exception:
    """Return the exception that a program ended with, from what it wrote to stderr."""
    _, header, last = errors.rpartition("Traceback (most recent call last):\n")
    error = _of_its_class(header, last, code)
    error.raised_in = re.findall(r'^  File "([^"]+)"', last, re.M)[-1:]  # type: ignore[attr-defined]
    return error  # `explain` asks where it was raised


def _of_its_class(header: str, last: str, code: int) -> Exception:
    lines = last.splitlines()
    while lines and (not lines[0].strip() or lines[0].startswith(" ")):
        del lines[0]
    told = list(itertools.takewhile(lambda line: not line.startswith("-----"), lines))
    text = "\n".join(told).strip()
    name, _, message = text.partition(": ")
    kind = getattr(builtins, name.strip(), None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        with contextlib.suppress(TypeError):  # a few want more than a message
            return kind(message) if message else kind()
    if header and text:
        return RuntimeError(text)
    how = f"signal {-code} ended it" if code < 0 else f"it ended with exit status {code}"
    return RuntimeError(f"{how}; {text}" if text else how)


SETTINGS = {
    'os.environ["JAX_ENABLE_X64"] = "1"': "jnp.ones(1).dtype == jnp.float64",
    'os.environ["XLA_FLAGS"] = "…device_count=2"': "len(jax.devices()) == 2",
    'jax.config.update("jax_num_cpu_devices", 2)': "len(jax.devices()) == 2",
    'jax.config.update("jax_enable_x64", True)': "jnp.ones(1).dtype == jnp.float64",
    'jax.config.update("jax_platforms", "abacus")': "not starts()",
}
"""Settings by the line that makes them, and what holds where they are obeyed."""

MOMENTS = ("before `import jax`", "before the first array", "after the first array")
"""The moments at which a setting may be made."""

_TOGETHER = (slice(0, 2), slice(2, 4), slice(4, 5))
_FLAGS = '"--xla_force_host_platform_device_count=2"'
_BEGIN = """
import os

def starts():
    try:
        return bool(jax.devices())
    except RuntimeError:
        return False
"""
_STARTED = "jnp.ones(1).block_until_ready()\n"
_MADE = """
try:
    {line}
    refused = set()
except RuntimeError:
    refused = {{{number}}}
all_refused = globals().get("all_refused", set()) | refused
"""
_SEEN = 'print("refused" if {number} in all_refused else "obeyed" if {holds} else "ignored")\n'


def _program(lines: list[str], moment: int) -> str:
    made = "".join(
        _MADE.format(line=line.replace('"…device_count=2"', _FLAGS), number=number)
        for number, line in enumerate(lines)
    )
    parts = [_BEGIN, "import jax\nimport jax.numpy as jnp\n", _STARTED]
    parts.insert(moment + 1, made)
    if moment < 2:
        parts.remove(_STARTED)
    return "".join(parts) + "".join(
        _SEEN.format(number=number, holds=SETTINGS[line]) for number, line in enumerate(lines)
    )


def config_timing_table() -> Mapping[str, tuple[str, ...]]:
    """Make every setting at every moment, in fresh interpreters, and see what comes of it.

    Returns:
        For each setting what happens at the three `MOMENTS`: ``obeyed``, ``ignored``, ``refused``,
        or ``""`` where the line cannot stand.
    """
    groups = [list(SETTINGS)[part] for part in _TOGETHER]
    runs = [(g, m) for g in groups for m in range(3) if m or not g[0].startswith("jax.")]
    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda run: run_in_subprocess(_program(*run)).split(), runs))
    found = {line: ["", "", ""] for line in SETTINGS}
    for (lines, moment), words in zip(runs, told, strict=True):
        for line, word in zip(lines, words, strict=True):
            found[line][moment] = word
    return {line: tuple(words) for line, words in found.items()}
