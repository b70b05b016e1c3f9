"""What a function does to the world while it runs: recorded, and undone where that is possible.

A profiler's hook sees every call that the user's own lines make; nothing of Python or of the
user's is replaced. It is not safe while other threads run user code.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import contextvars
import datetime
import io
import os
import random
import sys
import time
import types
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from jaxbits.detect import limits
from jaxbits.detect.finding import Place, is_users
from jaxbits.detect.iterators import is_iterator
from jaxbits.detect.memory import Change, Memory
from jaxbits.detect.process import Process
from jaxbits.detect.state import Reference

_FILES = "open read_text write_text read_bytes write_bytes mkdir unlink touch iterdir glob rglob"
_SYSTEM = (
    "system mkdir remove unlink rename replace rmdir listdir scandir urandom getpid write read"
)
_LOGGING = "debug info warning warn error exception critical log"
_NUMPY_FILES = "save savez savez_compressed savetxt load loadtxt genfromtxt"

C_CALLS = {
    "builtins": {"print", "input"},
    "io": {"open"},
    "_io": {"open"},
    "posix": set(_SYSTEM.split()),
    "nt": set(_SYSTEM.split()),
    "_warnings": {"warn", "warn_explicit"},
}
"""Functions written in C that do or read something outside of the program, by module."""

PYTHON_CALLS = {
    "logging": set(_LOGGING.split()),
    "pathlib": {*_FILES.split(), "exists", "is_file", "is_dir"},
    "pathlib._local": {*_FILES.split(), "exists", "is_file", "is_dir"},  # Python 3.13
    "uuid": {"uuid1", "uuid4"},
    "threading": {"start"},
    "concurrent.futures.thread": {"submit"},
    "concurrent.futures.process": {"submit"},
    "os": {"makedirs", "removedirs", "popen", "walk", "__setitem__", "__delitem__"},
    "numpy.lib._npyio_impl": set(_NUMPY_FILES.split()),
    "numpy.lib.npyio": set(_NUMPY_FILES.split()),
}
"""The same for functions written in Python."""

WHOLE: tuple[str, ...] = (
    "secrets",
    "tempfile",
    "subprocess",
    "shutil",
    "socket",
    "urllib.request",
    "http.client",
)
WHOLE += ("requests", "tqdm", "wandb", "tensorboardX")
"""Modules of which every function counts."""

LOOPS = {"scan", "fori_loop", "while_loop", "map", "associative_scan"}
"""Functions of JAX's that trace a body once and run it many times."""

_GLOBAL_RANDOM = getattr(random, "_inst", None)


@dataclass
class Watched:
    """What was seen.

    Attributes:
        calls: what the user's lines called, with how often and where.
        environment: where the environment's variables were read.
        written: what was printed.
        changes: what state is no longer as it was.
        complaints: the warnings that were given.
        advanced: where the body of a loop of JAX's called `next` on an iterator from around it.
        left_out: what state was not remembered, in sentences.
    """

    calls: collections.Counter[tuple[str, Place | None]] = field(
        default_factory=collections.Counter
    )
    environment: list[Place] = field(default_factory=list)
    written: str = ""
    changes: list[Change] = field(default_factory=list)
    complaints: list[warnings.WarningMessage] = field(default_factory=list)
    advanced: list[Place] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def _c_name(called: Any) -> str:
    """Return the name of an impure C function, empty for all others."""
    name, module = called.__name__, getattr(called, "__module__", None)
    owner = getattr(called, "__self__", None)
    if module == "time" or name in C_CALLS.get(module or "", ()):
        return f"{module}.{name}" if module not in ("builtins", "io", "_io") else str(name)
    if isinstance(owner, type) and issubclass(owner, datetime.date):
        return f"{owner.__name__}.{name}" if name in ("now", "today", "utcnow") else ""
    if isinstance(owner, random.Random):
        shared = owner is _GLOBAL_RANDOM or isinstance(owner, random.SystemRandom)
        return f"random.{name}" if shared else ""
    if isinstance(owner, contextvars.ContextVar) and name in ("set", "reset"):
        return f"{owner.name}.{name}"
    if isinstance(owner, io.IOBase) and not isinstance(owner, (io.StringIO, io.BytesIO)):
        return f"a file's {name}" if name.startswith(("write", "read", "flush")) else ""
    return ""


def _python_name(frame: types.FrameType) -> str:
    """Return the name of an impure Python function, empty for all others."""
    module = str(frame.f_globals.get("__name__", ""))
    name = frame.f_code.co_name
    if frame.f_code is _no_input.__code__:
        return "input"
    if module == "random":
        owner = frame.f_locals.get("self")
        shared = owner is _GLOBAL_RANDOM or isinstance(owner, random.SystemRandom)
        return f"random.{name}" if shared and not name.startswith("_") else ""
    listed = name in PYTHON_CALLS.get(module, ()) or module.split(".")[0] in WHOLE
    return f"{module}.{name}" if listed or module in WHOLE else ""


def _in_loop(frame: types.FrameType) -> bool:
    """Whether a loop of JAX's calls this frame, whose code sees an iterator from around it."""
    around = [frame.f_locals.get(name) for name in frame.f_code.co_freevars]
    outer = frame.f_back
    while any(map(is_iterator, around)) and outer is not None:
        if "control_flow" in outer.f_code.co_filename and outer.f_code.co_name in LOOPS:
            return True
        outer = outer.f_back
    return False


def _no_input(prompt: object = "") -> str:
    """Stand in for `input`: a check has nobody to ask."""
    raise EOFError("`input` has nothing to read while the function is checked")


class _Hook:
    def __init__(self, seen: Watched) -> None:
        self.seen = seen
        self.ends = limits.ends()
        self.known: dict[types.CodeType, bool] = {}

    def __call__(self, frame: types.FrameType, event: str, called: Any) -> None:
        caller = frame if event == "c_call" else frame.f_back if event == "call" else None
        if caller is None:
            return
        code = caller.f_code
        users = self.known.get(code)
        if users is None:
            users = self.known[code] = is_users(code.co_filename)
        if not users:
            return
        if time.monotonic() > self.ends:
            raise limits.OutOfTime
        if event == "c_call":
            name = _c_name(called)
            if called is next and _in_loop(caller):
                self.seen.advanced.append(Place(code.co_filename, caller.f_lineno, code.co_name))
        elif is_users(frame.f_code.co_filename):
            return
        else:
            name = _python_name(frame)
            owner = frame.f_locals.get("self")
            reads = frame.f_code.co_name in ("getenv", "get", "__getitem__", "__contains__")
            if reads and (owner is os.environ or frame.f_code is os.getenv.__code__):
                self.seen.environment.append(Place(code.co_filename, caller.f_lineno, code.co_name))
        if name:
            place = Place(code.co_filename, caller.f_lineno, code.co_name)
            self.seen.calls[name, place] += 1


@contextlib.contextmanager
def watch(references: Iterable[Reference]) -> Iterator[Watched]:
    """Record what is done inside of the block; afterwards put the state back, errors or not.

    >>> with watch([]) as seen:
    ...     print("nobody reads this")
    >>> seen.written.strip()
    'nobody reads this'
    """
    seen, memory, printed = Watched(), Memory(references), io.StringIO()
    seen.left_out = memory.left_out
    undo = Process()
    try:
        with warnings.catch_warnings(record=True) as complaints:
            warnings.simplefilter("always")
            sys.stdout = sys.stderr = printed
            sys.stdin = io.TextIOWrapper(io.BytesIO())
            builtins.input = _no_input
            sys.setprofile(_Hook(seen))
            try:
                yield seen
            finally:
                sys.setprofile(undo.hook)
    finally:
        try:
            drawn = undo.back()
            seen.written, seen.complaints = printed.getvalue(), list(complaints)
            if drawn:
                seen.calls["numpy.random", None] += 1
            with contextlib.suppress(Exception):  # the user's classes may do anything
                seen.changes = memory.changes()
            memory.restore()
        except limits.OutOfTime:  # it is raised once only
            undo.back()
            memory.restore()
            raise
