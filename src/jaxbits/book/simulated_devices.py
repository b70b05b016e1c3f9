"""Simulate several CPU devices, in this process or in new ones.

JAX fixes the number of its devices when it first computes. `simulate_devices` discards the devices
that JAX has started and lets it start again with several CPU devices. `run_on_simulated_devices`
leaves this process as it is. It starts new processes, in which JAX simulates several CPU devices,
prints their output, and returns their results or raises their errors.

A process that has written its result waits until the parent kills it. If it exited by itself, JAX
would take a while to shut down, and processes that still communicate with it would fail.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxbits.book.function_source import self_contained_source
from jaxbits.book.subprocesses import clean_environment, kill_process_group

MAX_SECONDS = 600.0
"""The maximum time limit for a run, in seconds."""

_HEAD = """\
import faulthandler, json, os, sys, threading, traceback

def _exit_with_parent():
    os.read(0, 1)  # returns when the parent closes the pipe or ends
    os._exit(1)

threading.Thread(target=_exit_with_parent, daemon=True).start()
# What Python prints goes to stdout. What native libraries write to stdout goes to stderr.
sys.stdout = os.fdopen(os.dup(1), "w", 1, encoding="utf8")
os.dup2(2, 1)
_quiet = open(os.devnull, "w")
faulthandler.dump_traceback_later({limit}, exit=True, file=_quiet)
"""

_TAIL = """\

def _plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError("{name} must return numbers, strings, arrays, or lists, tuples, and dicts of "
                    f"these, got {{type(value).__name__}}")

try:
    _result = {{"value": json.dumps({name}(*json.loads(sys.argv[2])), default=_plain)}}
except BaseException as _error:
    _kind = type(_error)
    _first = str(_error.args[0]) if _error.args else ""
    _steps = [_step for _step in traceback.extract_tb(_error.__traceback__)
              if _step.filename == __file__ and _step.name not in ("<module>", "_plain")]
    _place = f"In {{_steps[-1].name}}: {{_steps[-1].line}}" if _steps else ""
    _ends = [traceback.extract_tb(_e.__traceback__)[-1]
             for _e in (_error, _error.__cause__) if _e and _e.__traceback__]
    _innermost = [_step.filename for _step in _ends]
    if _innermost[0] == __file__ and not (_ends[0].line or "").startswith(("raise", "assert")):
        # No Python line raised the error, so it comes from compiled code, probably JAX's.
        _innermost.append(getattr(sys.modules.get("jax"), "__file__", ""))
    _texts = [str(_error), _first, _place]
    _result = {{"error": [_kind.__module__, _kind.__qualname__, _innermost, *_texts]}}
sys.stdout.flush()
with open(sys.argv[1] + ".part", "w", encoding="utf8") as _file:
    json.dump(_result, _file)
os.replace(sys.argv[1] + ".part", sys.argv[1])
threading.Event().wait()  # until the parent kills this process
"""


def simulate_devices(count: int) -> None:
    """Make JAX simulate several CPU devices in this process, even on a machine with a GPU or TPU.

    Arrays and compiled functions from before the call become unusable, so call this function at
    the beginning of a notebook.

    Args:
        count: The number of devices.

    Raises:
        ValueError: If the number is less than 1.
    """
    import jax
    from jax.extend import backend

    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    backend.clear_backends()
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", count)


def run_on_simulated_devices(
    program: Callable[..., Any], *, devices: int = 8, processes: int = 1, seconds: float = 180.0
) -> Any:
    """Run a function on simulated CPU devices, print its output, and return its result.

    The new processes receive the function as source. It may use modules, importable objects, other
    functions in the same notebook, and plain numbers and strings. If it raises an error, this
    function raises an error of the same class, with the same message and a note that quotes the
    line. When the run ends, even because of a timeout or an interrupt, all its processes are
    killed, and the output that they have produced so far is printed. The processes also exit if
    this process ends.

    Args:
        program: A function without arguments. If there are several processes, it takes two
            arguments, the address of the coordinator and the index of its own process.
        devices: The number of devices in each process.
        processes: The number of processes that run the function at the same time.
        seconds: The time limit for the whole run.

    Returns:
        The result of the function, with arrays and tuples converted to lists, and the keys of
        dicts converted to strings. If there are several processes, the result is a list with one
        item for each process.

    Raises:
        ValueError: If a number is out of range, or if the function uses an object that cannot be
            sent to another process.
        TimeoutError: If the run exceeds the time limit.
        RuntimeError: If a process ends without a result, or if it raises an error whose class this
            process cannot import.

    >>> def count():
    ...     import jax
    ...     return jax.device_count()
    >>> run_on_simulated_devices(count, devices=3)
    3
    """
    for name, number in (("devices", devices), ("processes", processes)):
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
    if not 0 < seconds <= MAX_SECONDS:
        raise ValueError(f"seconds must be above 0 and at most {MAX_SECONDS:g}, got {seconds}")
    parts = self_contained_source(program)
    name = program.__name__
    parts = [_HEAD.format(limit=seconds + 5), *parts, _TAIL.format(name=name)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "program.py").write_text("\n".join(parts), encoding="utf8")
        started: list[subprocess.Popen[bytes]] = []
        try:
            address = f"127.0.0.1:{_free_port()}"
            for rank in range(processes):
                arguments = [address, rank] if processes > 1 else []
                started.append(_start(folder, rank, devices, arguments))
            dead = _wait(folder, started, seconds, f"{name} did not finish within {seconds:g} s")
        finally:
            for process in started:
                _end(process)
            _print_output(folder, len(started))
        if dead is not None:
            raise RuntimeError(f"{name} {_describe_end(started[dead], dead, folder)}")
        return _return_or_raise(folder, processes)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _start(folder: Path, rank: int, devices: int, arguments: list[Any]) -> subprocess.Popen[bytes]:
    """Start one process that writes its output to files, because a full pipe would block it."""
    environment = clean_environment(
        XLA_FLAGS=f"--xla_force_host_platform_device_count={devices}", PYTHONHASHSEED="0"
    )
    with (folder / f"{rank}.out").open("wb") as out, (folder / f"{rank}.err").open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "program.py", f"{rank}.json", json.dumps(arguments)],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process has ended, if possible without collecting its exit status.

    The system does not reuse a process id until the exit status is collected. Until then, `_end`
    can safely kill the process group that the process leads.
    """
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    status = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    return status is not None


def _wait(
    folder: Path, started: list[subprocess.Popen[bytes]], seconds: float, late: str
) -> int | None:
    """Wait until all processes have a result or one has failed.

    Return the index of a process that ended without a result, or None if no process did.
    """
    limit = time.monotonic() + seconds
    waiting = dict(enumerate(started))
    while True:
        for rank, process in list(waiting.items()):
            # Check this before reading, because a process writes its result before it ends.
            has_ended = _has_ended(process)
            result = _read_result(folder, rank)
            if "error" in result:
                return None  # The other processes may wait for this one forever.
            if has_ended and not result:
                return rank
            if result:
                del waiting[rank]
        if not waiting:
            return None
        if time.monotonic() > limit:
            raise TimeoutError(late)
        time.sleep(0.02)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        kill_process_group(process)
    if process.stdin is not None:
        process.stdin.close()


def _read_result(folder: Path, rank: int) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads((folder / f"{rank}.json").read_text("utf8"))
    except FileNotFoundError:
        return {}
    return result


def _print_output(folder: Path, processes: int) -> None:
    """Print the output of each process in turn."""
    for rank in range(processes):
        output = (folder / f"{rank}.out").read_text("utf8", errors="replace")
        for line in _scrub(output, folder).splitlines():
            print(f"process {rank}: {line}" if processes > 1 else line)


def _describe_end(process: subprocess.Popen[bytes], rank: int, folder: Path) -> str:
    """Describe how a process without a result ended, and quote the last line of its stderr."""
    status = process.returncode
    how = f"exited with status {status} without a result"
    if status < 0:
        how = f"was terminated by signal {-status}"
    errors = (folder / f"{rank}.err").read_text("utf8", errors="replace")
    last = [line for line in _scrub(errors, folder).splitlines() if line.strip()][-1:]
    return ": ".join([how, *last])


def _return_or_raise(folder: Path, processes: int) -> Any:
    """Return the results of the processes, or raise the error of the first one that failed."""
    results = [_read_result(folder, rank) for rank in range(processes)]
    for result in results:
        if "error" in result:
            module, kind, innermost, *texts = result["error"]
            text, first, place = (_scrub(text, folder) for text in texts)
            error = _rebuild_error(module, kind, text, first)
            # `explain` treats an error differently if JAX raised it.
            error.raised_in = innermost  # type: ignore[attr-defined]
            if place:
                error.add_note(place)
            raise error
    values = [json.loads(result["value"]) for result in results]
    return values if processes > 1 else values[0]


def _rebuild_error(module: str, kind: str, text: str, first: str) -> BaseException:
    """Return an error with the same class and message, or a RuntimeError if the class is unknown.

    Most errors show their first argument as the message, but some, such as KeyError, quote it.
    """
    with contextlib.suppress(ImportError, AttributeError, TypeError):
        found = getattr(importlib.import_module(module), kind)
        if issubclass(found, Exception):
            error: Exception = found.__new__(found)
            for argument in (text, first):
                error.args = (argument,)
                if str(error) == text:
                    return error
    return RuntimeError(f"{kind}: {text}")


def _scrub(text: str, folder: Path) -> str:
    """Replace whatever differs between machines or runs, such as addresses, with an ellipsis."""
    for path in sorted({str(folder), str(folder.resolve())}, key=len, reverse=True):
        text = text.replace(path, "…")
    text = re.sub(r"(?:[A-Za-z]:|~)?(?:[\\/][^\s:'\"<>|()\\/]+)*?[\\/]site-packages", "…", text)
    text = text.replace(str(Path.home()) + os.sep, "~" + os.sep)
    return re.sub(r"\bat 0x[0-9a-fA-F]{6,16}\b", "at 0x…", text)
