"""Run a small program on several simulated devices, in a process of its own.

JAX counts its devices once, when it first computes: a process that has begun on one device stays
on one. `run_on_simulated_devices` starts another, tells it to take one CPU for many, and brings back what was
printed, returned or raised. The process that calls it stays as it is.

A process that has left its answer waits to be ended. Left to itself it would take a while to put
JAX away, and another one that still talks to it would fail.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import importlib
import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LONGEST = 600.0
"""The longest limit, in seconds, that a run may be given."""

_HEAD = """\
import faulthandler, json, os, sys, threading, traceback

def _end_with_parent():
    os.read(0, 1)  # returns when whoever started this process closes the pipe, or is gone
    os._exit(1)

threading.Thread(target=_end_with_parent, daemon=True).start()
sys.stdout = os.fdopen(os.dup(1), "w", 1, encoding="utf8")  # Python's own lines, and no others:
os.dup2(2, 1)  # what the libraries below print, goes to the errors
_quiet = open(os.devnull, "w")
faulthandler.dump_traceback_later({limit}, exit=True, file=_quiet)
"""

_TAIL = """\

def _plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{name} returned a {{type(value).__name__}}: return numbers, text, arrays, "
                    "or lists, tuples and dicts of them")

try:
    _found = {{"value": json.dumps({name}(*json.loads(sys.argv[2])), default=_plain)}}
except BaseException as _error:
    _kind = type(_error)
    _first = str(_error.args[0]) if _error.args else ""
    _steps = [_step for _step in traceback.extract_tb(_error.__traceback__)
              if _step.filename == __file__ and _step.name not in ("<module>", "_plain")]
    _place = f"In {{_steps[-1].name}}: {{_steps[-1].line}}" if _steps else ""
    _ends = [traceback.extract_tb(_e.__traceback__)[-1]
             for _e in (_error, _error.__cause__) if _e and _e.__traceback__]
    _inmost = [_step.filename for _step in _ends]
    if _inmost[0] == __file__ and not (_ends[0].line or "").startswith(("raise", "assert")):
        # What no line of Python raises comes from compiled code: JAX's, where there is JAX.
        _inmost.append(getattr(sys.modules.get("jax"), "__file__", ""))
    _texts = [str(_error), _first, _place]
    _found = {{"error": [_kind.__module__, _kind.__qualname__, _inmost, *_texts]}}
sys.stdout.flush()
with open(sys.argv[1] + ".part", "w", encoding="utf8") as _file:
    json.dump(_found, _file)
os.replace(sys.argv[1] + ".part", sys.argv[1])
threading.Event().wait()  # it is ended from outside, when the others have answered, too
"""


def run_on_simulated_devices(
    program: Callable[..., Any], *, devices: int = 8, processes: int = 1, seconds: float = 180.0
) -> Any:
    """Run a function on simulated CPU devices, print what it prints, and return what it returns.

    The function travels as source: what it uses of its surroundings must be modules, things that
    can be imported, other functions written beside it, or plain numbers and text. An error it
    raises is raised here, with its class and text, and the line it came from as a note. After the
    limit, an interrupt, or the end of this process, everything that was started is ended too, and
    what was printed until then is printed.

    Args:
        program: a function; without arguments, or, for several processes, one that takes the
            address at which they meet and the number of its process.
        devices: how many devices each process has.
        processes: how many processes run the program at the same time.
        seconds: the limit for all of them together.

    Returns:
        What the program returned (arrays and tuples as lists, the keys of dicts as text), a list
        of it for several processes.

    Raises:
        ValueError: when a number makes no sense, or the program uses what cannot travel.
        TimeoutError: when the limit was reached.
        RuntimeError: when a process ended without a word, or with an error unknown here.

    >>> def count():
    ...     import jax
    ...     return jax.device_count()
    >>> run_on_simulated_devices(count, devices=3)
    3
    """
    if devices < 1 or processes < 1:
        raise ValueError(f"needs at least one of each; got {devices=}, {processes=}")
    if not 0 < seconds <= LONGEST:
        raise ValueError(f"seconds should be between 0 and {LONGEST:g}, was {seconds}")
    parts = _parts(program)
    name = program.__name__
    parts = [_HEAD.format(limit=seconds + 5), *parts, _TAIL.format(name=name)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "program.py").write_text("\n".join(parts), encoding="utf8")
        started: list[subprocess.Popen[bytes]] = []
        try:
            address = f"127.0.0.1:{_free_port()}"
            for rank in range(processes):
                given = [address, rank] if processes > 1 else []
                started.append(_start(folder, rank, devices, given))
            dead = _wait(folder, started, seconds, f"{name} did not finish within {seconds:g} s")
        finally:
            for child in started:
                _end(child)
            _say(folder, len(started))
        if dead is not None:
            raise RuntimeError(f"{name} {_end_of(started[dead], dead, folder)}")
        return _outcome(folder, processes)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _start(folder: Path, rank: int, devices: int, given: list[Any]) -> subprocess.Popen[bytes]:
    """Start one process; its words go into files, so that no pipe can fill up."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_"))}
    ours = {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf8",
    }
    said, warned = (folder / f"{rank}.{kind}" for kind in ("out", "err"))
    with said.open("wb") as out, warned.open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "program.py", f"{rank}.json", json.dumps(given)],
            cwd=folder,
            env=kept | ours,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )


def _ended(child: subprocess.Popen[bytes]) -> bool:
    """Tell whether a process is over, leaving its number taken until `_end` where that is offered.

    As long as nobody asked for its exit status, no other process can be given its number.
    """
    if child.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return child.poll() is not None
    over = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    return over is not None


def _wait(
    folder: Path, started: list[subprocess.Popen[bytes]], seconds: float, late: str
) -> int | None:
    """Wait until all have answered, one of them failed, or the time is up.

    Returns the number of a process that ended without an answer.
    """
    limit = time.monotonic() + seconds
    waiting = dict(enumerate(started))
    while True:
        for rank, child in list(waiting.items()):
            over = _ended(child)  # asked first: whoever is over has left his answer before
            found = _found(folder, rank)
            if "error" in found:
                return None  # the others may wait for it for ever
            if over and not found:
                return rank
            if found:
                del waiting[rank]
        if not waiting:
            return None
        if time.monotonic() > limit:
            raise TimeoutError(late)
        time.sleep(0.02)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(child.pid, signal.SIGKILL)
            else:
                child.kill()
        child.wait()
    if child.stdin is not None:
        child.stdin.close()


def _found(folder: Path, rank: int) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / f"{rank}.json").read_text("utf8"))
    except FileNotFoundError:
        return {}
    return found


def _say(folder: Path, processes: int) -> None:
    """Print what the processes printed, one after the other."""
    for rank in range(processes):
        said = (folder / f"{rank}.out").read_text("utf8", errors="replace")
        for line in _scrubbed(said, folder).splitlines():
            print(f"process {rank}: {line}" if processes > 1 else line)


def _end_of(child: subprocess.Popen[bytes], rank: int, folder: Path) -> str:
    """Say how a process without an answer ended, with the last line of its complaints."""
    code = child.returncode
    how = f"ended with code {code} and no answer"
    if code < 0:
        how = f"was ended by signal {-code}"
    warned = (folder / f"{rank}.err").read_text("utf8", errors="replace")
    last = [line for line in _scrubbed(warned, folder).splitlines() if line.strip()][-1:]
    return ": ".join([how, *last])


def _outcome(folder: Path, processes: int) -> Any:
    """Raise what one of the processes raised, or return what they returned."""
    found = [_found(folder, rank) for rank in range(processes)]
    for outcome in found:
        if "error" in outcome:
            module, kind, inmost, *texts = outcome["error"]
            text, first, place = (_scrubbed(text, folder) for text in texts)
            error = _error(module, kind, text, first)
            error.raised_in = inmost  # type: ignore[attr-defined] # asked for by `explain`
            if place:
                error.add_note(place)
            raise error
    values = [json.loads(outcome["value"]) for outcome in found]
    return values if processes > 1 else values[0]


def _error(module: str, kind: str, text: str, first: str) -> BaseException:
    """Make the error that was raised elsewhere, of the same class where it can be found.

    Most errors say their first argument; some, as KeyError, put it into quotation marks.
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


def _scrubbed(text: str, folder: Path) -> str:
    """Return text without what differs from machine to machine and from run to run."""
    for place in sorted({str(folder), str(folder.resolve())}, key=len, reverse=True):
        text = text.replace(place, "…")
    text = re.sub(r"(?:[A-Za-z]:|~)?(?:[\\/][^\s:'\"<>|()\\/]+)*?[\\/]site-packages", "…", text)
    text = text.replace(str(Path.home()) + os.sep, "~" + os.sep)
    return re.sub(r"\bat 0x[0-9a-fA-F]{6,16}\b", "at 0x…", text)


def _parts(program: Callable[..., Any]) -> list[str]:
    """Return the lines that define a function and everything it uses, in their order."""
    if not isinstance(program, types.FunctionType):
        raise ValueError(f"should be a function written with def, was {program!r}")
    done: dict[str, str] = {}
    _take(program.__name__, program, program, done)
    return list(done.values())


def _take(name: str, value: Any, program: types.FunctionType, done: dict[str, str]) -> None:
    if name in done:
        return
    if isinstance(value, types.ModuleType):
        done[name] = f"import {value.__name__} as {name}"
        return
    if isinstance(value, types.FunctionType) and value.__globals__ is program.__globals__:
        source = _source(value)
        done[name] = ""  # it may call itself
        for used, there in _surroundings(value):
            _take(used, there, program, done)
        del done[name]
        done[name] = source
        return
    home, path = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if home and home != "__main__" and getattr(sys.modules.get(home), path, None) is value:
        done[name] = f"from {home} import {path} as {name}"
        return
    with contextlib.suppress(ValueError, SyntaxError, TypeError):
        if bool(ast.literal_eval(repr(value)) == value):
            done[name] = f"{name} = {value!r}"
            return
    raise ValueError(
        f"{program.__name__} uses {name}, a {type(value).__name__}, which cannot travel to another "
        "process: make it inside of the function"
    )


def _source(function: types.FunctionType) -> str:
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError:
        raise ValueError(f"the source of {function.__name__} cannot be found") from None
    if not source.startswith("def "):
        raise ValueError(f"{function.__name__} should be a plain def, without decorators")
    return source


def _surroundings(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names that a function takes from around it, with what they stand for there."""
    cells = function.__closure__ or ()
    yield from (
        (name, cell.cell_contents)
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True)
    )
    for name in dict.fromkeys(_global_names(function.__code__)):
        if name in function.__globals__ and not name.startswith("__"):
            yield name, function.__globals__[name]


def _global_names(code: types.CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
