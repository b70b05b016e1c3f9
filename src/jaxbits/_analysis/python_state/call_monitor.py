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

from jaxbits._analysis import resource_limits
from jaxbits._analysis.code_location import Place, is_users
from jaxbits._analysis.python_state.iterators import is_iterator, position
from jaxbits._analysis.python_state.process_state import Process
from jaxbits._analysis.python_state.references import Reference
from jaxbits._analysis.python_state.snapshot import Change, Memory

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
        advanced: where the body of a loop of JAX's took from an iterator from around it.
        passed: where an iterator was passed to a function of JAX's, with its type and the function.
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
    passed: list[tuple[Place, str, str]] = field(default_factory=list)
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


def _around(frame: types.FrameType) -> list[Any]:
    """Return the iterators from around a function that its code sees."""
    free = frame.f_code.co_freevars
    return [v for v in map(frame.f_locals.get, free) if is_iterator(v)] if free else []


def _in_loop(frame: types.FrameType) -> bool:
    """Whether a loop of JAX's calls this frame, whose code sees an iterator from around it."""
    outer = frame.f_back if _around(frame) else None
    while outer is not None:
        file, name = outer.f_code.co_filename, outer.f_code.co_name
        if ("control_flow" in file and name in LOOPS) or (name == "vmap_f" and "jax" in file):
            return True
        outer = outer.f_back
    return False


_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


def _iterator_in(frame: types.FrameType) -> str:
    """Return the type of an iterator among what a function of JAX's was called with, or nothing."""
    if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in ("jax", "jaxlib"):
        return ""
    waiting = list(frame.f_locals.values())
    for value in waiting:
        if is_iterator(value) or isinstance(value, _VIEWS):
            return type(value).__name__
        if isinstance(value, (tuple, list)) and len(waiting) < 200:
            waiting += value[:20]
        elif type(value) is dict and len(waiting) < 200:
            waiting += list(value.values())[:20]
    return ""


def _no_input(prompt: object = "") -> str:
    """Stand in for `input`: a check has nobody to ask."""
    raise EOFError("`input` has nothing to read while the function is checked")


class _Hook:
    def __init__(self, seen: Watched) -> None:
        self.seen = seen
        self.ends = resource_limits.ends()
        self.known: dict[types.CodeType, bool] = {}
        self.bodies: dict[types.FrameType, tuple[list[Any], list[Any], int]] = {}

    def is_users(self, code: types.CodeType) -> bool:
        users = self.known.get(code)
        if users is None:
            users = self.known[code] = is_users(code.co_filename)
        return users

    def __call__(self, frame: types.FrameType, event: str, called: Any) -> None:
        if frame.f_code.co_freevars and event in ("call", "return"):
            self.body(frame, event)
        caller = frame if event == "c_call" else frame.f_back if event == "call" else None
        if caller is None:
            return
        code = caller.f_code
        if not self.is_users(code):
            return
        if time.monotonic() > self.ends:
            raise resource_limits.OutOfTime
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
            passed = _iterator_in(frame)
            if passed:
                place = Place(code.co_filename, caller.f_lineno, code.co_name)
                self.seen.passed.append((place, passed, frame.f_code.co_name))
        if name:
            place = Place(code.co_filename, caller.f_lineno, code.co_name)
            self.seen.calls[name, place] += 1

    def body(self, frame: types.FrameType, event: str) -> None:
        """See whether a body takes from an iterator in another way than by calling `next`."""
        if event == "call" and self.is_users(frame.f_code) and _in_loop(frame):
            held = _around(frame)
            self.bodies[frame] = held, list(map(position, held)), len(self.seen.advanced)
        elif event == "return" and frame in self.bodies:
            held, before, told = self.bodies.pop(frame)
            code = frame.f_code
            if len(self.seen.advanced) == told and list(map(position, held)) != before:
                place = Place(code.co_filename, code.co_firstlineno, code.co_name)
                self.seen.advanced.append(place)


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
        except resource_limits.OutOfTime:  # it is raised once only
            undo.back()
            memory.restore()
            raise
