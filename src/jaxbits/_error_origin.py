"""Find out whether an error comes from the user's own code or from JAX and its ecosystem."""

from __future__ import annotations

import inspect
import itertools
import linecache
import re
import sysconfig
import traceback
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

JAX_ECOSYSTEM = ("jax", "jaxlib", "flax", "optax", "orbax", "chex")
"""The packages whose errors the book explains."""

_PACKAGE = re.compile(r"[/\\](?:site|dist)-packages[/\\](\w+)")
_LIBRARIES = (sysconfig.get_paths()["stdlib"], str(Path(__file__).parent), "<frozen")
_TORCH_LOADER = re.compile(r"[/\\]torch[/\\]utils[/\\]data[/\\]")
# A tracer's error message uses this phrase to name the function that JAX was tracing:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/interpreters/partial_eval.py
_TRACED_FUNCTION = re.compile(r"while tracing the function (\S+) at ")
_MENTIONS_JAX = re.compile(r"Tracer|\bjax\b|\bJAX\b")
# `jit` raises these errors in C++, so the traceback has no frame in JAX:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jaxlib/jax_jit.cc
_NON_HASHABLE_STATIC = "Non-hashable static arguments are not supported"
# Under `jit` and other transformations, JAX calls a function from one of these files:
# https://github.com/jax-ml/jax/tree/jax-v0.10.2/jax/_src
_TRACING = re.compile(r"[/\\]jax[/\\]_src[/\\](?:linear_util|interpreters[/\\]partial_eval)\.py$")
_MAX_ELEMENTS = 20
_XLA_STATUS = re.compile(r"(?:INVALID_ARGUMENT|FAILED_PRECONDITION|INTERNAL|RESOURCE_EXHAUSTED):")


@dataclass(frozen=True)
class Frame:
    """A line of the user's code in a traceback.

    Attributes:
        file: The path of the file, or the file name that IPython gives to a notebook cell.
        line: The line number, counted from 1.
        code: The line without surrounding whitespace, or "" if the file cannot be read.
    """

    file: str
    line: int
    code: str

    def __str__(self) -> str:
        name = "this cell" if _is_cell(self.file) else Path(self.file).name
        return f"{name}, line {self.line}" + (f": {self.code}" if self.code else "")


def user_frame(error: BaseException) -> Frame | None:
    """Return the traceback's innermost frame in the user's own code, or None if there is none."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if _is_users(file):
            return Frame(file, line, linecache.getline(file, line).strip())
    return None


def is_from_jax_ecosystem(error: BaseException) -> bool:
    """Return whether JAX or a library that builds on it raised or caused an error.

    Any one of the following is enough:

    - The error's class belongs to one of these libraries.
    - The innermost frame is in one of them, either in the traceback itself or in the unfiltered
      traceback that JAX attaches as the cause.
    - The error is a TypeError whose message mentions a tracer or JAX, or an error that `jit` raises
      for a static argument that is not hashable.
    - The error is an ImportError about a module of one of these libraries, or an AttributeError
      about a name that such a module lacks.
    - The traceback has a frame in PyTorch's data loader, which is the subject of chapter 17.
    - Python or NumPy raised the error on a line of the user's code that contains an object from one
      of these libraries, a subclass of one of their classes, or a container of such objects.
    - Python raised the error in a jitted function of the user that ran under `jax.disable_jit`.
    """
    if _package_of_class(type(error)) in JAX_ECOSYSTEM:
        return True
    if any(_innermost_package(e) in JAX_ECOSYSTEM for e in (error, error.__cause__) if e):
        return True
    # If a subprocess raised the error, `jaxbits.book` stores the innermost files of its traceback
    # here.
    if any(_package_of_file(file) in JAX_ECOSYSTEM for file in getattr(error, "raised_in", ())):
        return True
    frames = traceback.walk_tb(error.__traceback__)
    if any(_TORCH_LOADER.search(frame.f_code.co_filename) for frame, _ in frames):
        return True
    # Python raises these errors on the line that uses the name, so no frame is in the library.
    if isinstance(error, ImportError) and (error.name or "").split(".")[0] in JAX_ECOSYSTEM:
        return True
    if isinstance(error, AttributeError) and isinstance(error.obj, types.ModuleType):
        return error.obj.__name__.split(".")[0] in JAX_ECOSYSTEM
    message = str(error)
    if isinstance(error, TypeError) and _MENTIONS_JAX.search(message):
        return True
    if isinstance(error, ValueError) and message.startswith(_NON_HASHABLE_STATIC):
        return True
    # Python raises a TypeError or an AttributeError for `x.device()`, and NumPy raises a ValueError
    # when user code writes to a view of a JAX array's memory.
    may_be_python = isinstance(error, TypeError | AttributeError | ValueError)
    may_be_python |= bool(_XLA_STATUS.match(message))
    return may_be_python and bool(clues_beyond_the_text(error))


def clues_beyond_the_text(error: BaseException) -> list[str]:
    """Return words about an error that its traceback does not show as text.

    These are the packages of JAX's ecosystem whose objects are on the user's innermost line, and
    ``disable_jit`` if the error arose in a jitted function that ran without a trace.
    """
    clues = sorted(_packages_on_last_line(error))
    return [*clues, "disable_jit"] if _is_jitted_but_untraced(error) else clues


def has_leaked_tracer(error: BaseException) -> bool:
    """Return whether an error is about a tracer that has outlived its trace.

    In that case, the message names a function that has no frame in the traceback, because JAX has
    already finished tracing it.
    """
    match = _TRACED_FUNCTION.search(str(error))
    frames = traceback.walk_tb(error.__traceback__)
    return match is not None and match[1] not in {frame.f_code.co_name for frame, _ in frames}


def _is_users(file: str) -> bool:
    return _is_cell(file) or not (_PACKAGE.search(file) or file.startswith(_LIBRARIES))


def _is_cell(file: str) -> bool:
    return "ipykernel_" in file or file.startswith("<ipython-input")


def _package_of_class(kind: type) -> str:
    return kind.__module__.split(".")[0]


def _package_of_file(file: str) -> str:
    match = _PACKAGE.search(file)
    return match[1] if match else ""


def _innermost_package(error: BaseException) -> str:
    frames = list(traceback.walk_tb(error.__traceback__))
    return _package_of_file(frames[-1][0].f_code.co_filename) if frames else ""


def _packages_on_last_line(error: BaseException) -> set[str]:
    """Return the packages of JAX's ecosystem whose objects the innermost line of the user names."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames or not _is_users(frames[-1][0].f_code.co_filename):
        return set()
    frame, line = frames[-1]
    names = re.findall(r"[^\W\d]\w*", linecache.getline(frame.f_code.co_filename, line))
    values = [{**frame.f_globals, **frame.f_locals}.get(name) for name in names]
    return set().union(*map(_packages_of, values)).intersection(JAX_ECOSYSTEM)


def _is_jitted_but_untraced(error: BaseException) -> bool:
    """Return whether the error's innermost function is jitted, but ran without a trace.

    Only `jax.disable_jit` makes a jitted function run like this, and it leaves no frame.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not frames or any(_TRACING.search(frame.f_code.co_filename) for frame in frames):
        return False
    function = frames[-1].f_globals.get(frames[-1].f_code.co_name)
    if function is None or _package_of_class(type(function)) not in JAX_ECOSYSTEM:
        return False
    return getattr(inspect.unwrap(function), "__code__", None) is frames[-1].f_code


def _packages_of(value: Any, depth: int = 2) -> set[str]:
    """Return the packages of a module, of a class and its bases, or of an object and its elements.

    Only the first elements of a container are looked at, because it may be long.
    """
    if isinstance(value, types.ModuleType):
        return {value.__name__.split(".")[0]}
    if isinstance(value, type):
        return {_package_of_class(kind) for kind in value.__mro__}
    found = {_package_of_class(kind) for kind in type(_memory_owner(value)).__mro__}
    if depth and type(value) in (dict, list, tuple):
        elements = value.values() if type(value) is dict else value
        for element in itertools.islice(elements, _MAX_ELEMENTS):
            found |= _packages_of(element, depth - 1)
    return found


def _memory_owner(value: Any) -> Any:
    """Return the object that owns a NumPy array's memory, or any other value unchanged."""
    while isinstance(value, np.ndarray) and value.base is not None:
        value = value.base
    return value.obj if isinstance(value, memoryview) else value
