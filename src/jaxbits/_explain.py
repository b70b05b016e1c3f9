"""From an error to the sharp bit behind it: what it is, what to do, where to read."""

from __future__ import annotations

import builtins
import linecache
import re
import sysconfig
import traceback
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxbits._catalogue import SharpBit, load

STACK = ("jax", "jaxlib", "flax", "optax", "orbax", "chex")
"""The packages whose errors are explained; everything else is left alone."""

_LEAK = 1000
_TRACED = re.compile(r"while tracing the function (\S+) at ")
_XLA_STATUS = re.compile(r"(?:INVALID_ARGUMENT|FAILED_PRECONDITION|INTERNAL|RESOURCE_EXHAUSTED):")
_PACKAGE = re.compile(r"[/\\](?:site|dist)-packages[/\\](\w+)")
_OF_JIT = "Non-hashable static arguments are not supported"
_OF_A_LOADER = re.compile(r"[/\\]torch[/\\]utils[/\\]data[/\\]")
_NAMES_JAX = re.compile(r"Tracer|\bjax\b|\bJAX\b")
_NOT_THE_READERS = (sysconfig.get_paths()["stdlib"], str(Path(__file__).parent), "<frozen")


@dataclass(frozen=True)
class Frame:
    """The reader's own line in which an error began."""

    file: str
    line: int
    code: str

    def __str__(self) -> str:
        name = "this cell" if _is_cell(self.file) else Path(self.file).name
        return (
            f"{name}, line {self.line}: {self.code}" if self.code else f"{name}, line {self.line}"
        )


@dataclass(frozen=True)
class Explanation:
    """The sharp bits that an error may be, most likely first, at most three."""

    error: str
    bits: tuple[SharpBit, ...]
    frame: Frame | None = None

    def __bool__(self) -> bool:
        return bool(self.bits)

    def __str__(self) -> str:
        if not self.bits:
            return f"{self.error}: no sharp bit of the book looks like this error."
        lines = [f"Sharp bit? ({self.frame})" if self.frame else "Sharp bit?"]
        for bit in self.bits:
            lines += [
                f"  • {bit.title}",
                f"    Fix: {bit.fix}",
                f"    Read: {bit.link or bit.reference}",
            ]
        return "\n".join(lines).replace("`", "")

    def __repr__(self) -> str:
        return str(self)


def explain(error: BaseException | str) -> Explanation:
    """Say which sharp bits of the book an error may be.

    Args:
        error: the exception, or the text of a traceback whose last lines are the error's class
            and message.

    Returns:
        At most three sharp bits, the most specific match first; none when the error is not JAX's
        or a library's on top of it, or when the book does not know it. Printing it shows the
        fix of each and where to read about it.

    Raises:
        TypeError: when `error` is neither an exception nor a text.

    >>> import jax.numpy as jnp
    >>> try:
    ...     jnp.arange(3)[1.0]
    ... except TypeError as error:
    ...     explain(error).bits[0].id
    'float-index'
    >>> bool(explain(IndexError("list index out of range")))
    False
    """
    if isinstance(error, str):
        return _explain_text(error)
    if not isinstance(error, BaseException):
        raise TypeError(f"explain(error): should be an exception or a traceback, was {error!r}")
    name = type(error).__name__
    frame = reader_frame(error)
    if not is_from_stack(error):
        return Explanation(name, (), frame)
    classes = [c.__name__ for c in type(error).__mro__]
    code = frame.code if frame else ""
    return Explanation(name, rank(classes, str(error), code, has_leaked(error)), frame)


def rank(
    classes: list[str], message: str, code: str = "", leaked: bool = False
) -> tuple[SharpBit, ...]:
    """Return the sharp bits whose symptoms fit, at most three, the most specific first.

    Args:
        classes: the names of the error's class and of its bases, nearest first.
        message: the error's text.
        code: the reader's line; among equal matches, the bit whose symptom says what the line
            looks like comes first, then the one whose title or fix shares more code-like words.
        leaked: whether the error came of a traced value that has outlived its trace.
    """
    found: list[tuple[int, int, int, int, SharpBit]] = []
    words = set(re.findall(r"[a-z_]{3,}", code.lower()))
    for position, bit in enumerate(load().values()):
        fitting = (s for s in bit.symptoms if leaked or not s.leaked)
        score, suits = max(
            # A leak explains more than what was done with the value that leaked.
            (
                (s.matches(name, message) + _LEAK * s.leaked, s.suits(code))
                for s in fitting
                for name in classes
                if s.matches(name, message)
            ),
            default=(0, 0),
        )
        if score:
            near = len(words & set(re.findall(r"[a-z_]{3,}", f"{bit.title} {bit.fix}".lower())))
            found.append((-score, -suits, -near, position, bit))
    return tuple(bit for *_, bit in sorted(found, key=lambda entry: entry[:4])[:3])


def is_from_stack(error: BaseException) -> bool:
    """Tell whether JAX, or a library on top of it, raised the error.

    That is so when its class is theirs, when the innermost frame of its traceback (or of the
    unfiltered one that JAX keeps as its cause) is theirs, when its message names a tracer, or when
    Python itself raised it over one of their objects in the reader's line, as in ``x.device()``, or
    NumPy over a window onto the memory of one. An error that came through PyTorch's loader counts.
    """
    if _root(type(error)) in STACK:
        return True
    if any(_innermost_package(e) in STACK for e in (error, error.__cause__) if e is not None):
        return True
    # What `simulate` and `fresh` bring from another process says where it was raised.
    if any(_package(file) in STACK for file in getattr(error, "raised_in", ())):
        return True
    # Loading is a chapter of the book, and what a loader cannot send is no error of JAX's.
    frames = traceback.walk_tb(error.__traceback__)
    if any(_OF_A_LOADER.search(frame.f_code.co_filename) for frame, _ in frames):
        return True
    if isinstance(error, TypeError) and _NAMES_JAX.search(str(error)):
        return True
    if isinstance(error, ValueError) and str(error).startswith(_OF_JIT):
        return True
    # A ValueError that a jitted function raises comes from C++, and shows no frame of JAX.
    by_python = isinstance(error, TypeError | AttributeError | ValueError)
    return (by_python or bool(_XLA_STATUS.match(str(error)))) and _last_line_uses_stack(error)


def has_leaked(error: BaseException) -> bool:
    """Tell whether a conversion failed outside of the trace that its message names.

    The function being traced is then in no frame of the traceback: it returned long ago, and left
    a tracer behind.
    """
    found = _TRACED.search(str(error))
    frames = traceback.walk_tb(error.__traceback__)
    return found is not None and found[1] not in {f.f_code.co_name for f, _ in frames}


def reader_frame(error: BaseException) -> Frame | None:
    """Return the innermost frame that lies in the reader's own code, if any."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if _is_readers(frame.f_code.co_filename):
            file = frame.f_code.co_filename
            return Frame(file, line, linecache.getline(file, line).strip())
    return None


def _is_readers(file: str) -> bool:
    if _is_cell(file):
        return True
    return not (_PACKAGE.search(file) or file.startswith(_NOT_THE_READERS))


def _root(kind: type) -> str:
    return kind.__module__.split(".")[0]


def _innermost_package(error: BaseException) -> str:
    frames = list(traceback.walk_tb(error.__traceback__))
    return _package(frames[-1][0].f_code.co_filename) if frames else ""


def _package(file: str) -> str:
    found = _PACKAGE.search(file)
    return found[1] if found else ""


def _last_line_uses_stack(error: BaseException) -> bool:
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames or not _is_readers(frames[-1][0].f_code.co_filename):
        return False
    frame, line = frames[-1]
    names = re.findall(r"[^\W\d]\w*", linecache.getline(frame.f_code.co_filename, line))
    values = [{**frame.f_globals, **frame.f_locals}.get(name) for name in names]
    return any(
        value.__name__.split(".")[0] in STACK
        if isinstance(value, types.ModuleType)
        else _root(type(_owner(value))) in STACK
        for value in values
    )


def _owner(value: Any) -> Any:
    """The object whose memory a NumPy array looks at, any other value as it is."""
    while isinstance(value, np.ndarray) and value.base is not None:
        value = value.base
    return value.obj if isinstance(value, memoryview) else value


def _is_cell(file: str) -> bool:
    return "ipykernel_" in file or file.startswith("<ipython-input")


def _by_class(name: str) -> tuple[SharpBit, ...]:
    """The bits of a class of JAX's own, for those who paste nothing but its name."""
    known = (b for b in load().values() if any(s.error == name for s in b.symptoms))
    return () if hasattr(builtins, name) else tuple(known)[:3]


_LAST_LINE = re.compile(r"^(?:[\w]+\.)*([A-Z]\w*)(?::\s?(.*))?$", re.DOTALL)


def _explain_text(text: str) -> Explanation:
    lines = text.strip().splitlines()
    # The error's own lines begin at the last line that starts with a class name.
    for start in range(len(lines) - 1, -1, -1):
        found = _LAST_LINE.match("\n".join(lines[start:]).strip())
        if found and lines[start][:1].strip():
            name, message = found[1], found[2] or ""
            if bits := rank([name], message) or (() if message else _by_class(name)):
                return Explanation(name, bits)
    return Explanation(lines[-1] if lines else "", ())
