"""Functions that recognize user code and find the line behind an equation or an error."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

import jax

from jaxbits import _jax_compat
from jaxbits._analysis import notebook_cells
from jaxbits._analysis.safe_attributes import get_attribute, unwrap

_paths = sysconfig.get_paths()
_LIBRARY_FOLDERS = tuple(
    {os.path.realpath(_paths[key]) + os.sep for key in ("purelib", "platlib", "stdlib")}
)
_JAX_FOLDER = os.path.dirname(os.path.realpath(jax.__file__)) + os.sep
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# The rest of the package (`optim`, `xor`) counts as user code when it runs from a source checkout,
# because the book audits it. The programs in `book` always count, so that the claims about them
# also hold where the package is installed.
_BOOK_FOLDER = os.path.join(_PACKAGE, "book") + os.sep
_OWN_FILES = (
    *(os.path.join(_PACKAGE, name) + os.sep for name in ("_analysis", "_jax_compat", "detect")),
    *(os.path.join(_PACKAGE, f"{name}.py") for name in ("_audit", "_cli", "_cli_arguments")),
)
_INSTALLED = {"site-packages", "dist-packages"}
# Libraries whose transformations wrap the user's function in one of their own before tracing it.
_WRAPPER_LIBRARIES = tuple(f"{os.sep}{name}{os.sep}" for name in ("flax", "equinox", "haiku"))
_IGNORE_COMMENT = re.compile(r"#\s*jaxbits:\s*ignore\[([\w\s,]+)\]")


@functools.lru_cache(maxsize=8192)
def is_user_code(file: str) -> bool:
    """Return whether a file belongs to the user, not to a library, Python, or the detectors.

    Packages that are on the path but belong to a different environment also count as libraries.

    >>> is_user_code("<ipython-input-1>"), is_user_code(os.__file__)
    (True, False)
    """
    if not file or file.startswith(("<frozen", "<string>", "<__array_function__")):
        return False
    path = os.path.realpath(file)
    if path.startswith(_BOOK_FOLDER):
        return True
    if not _INSTALLED.isdisjoint(path.split(os.sep)):
        return False
    return not path.startswith((*_LIBRARY_FOLDERS, *_OWN_FILES))


@functools.lru_cache(maxsize=8192)
def is_detector_code(file: str) -> bool:
    """Return whether a file belongs to the detectors, their analysis, or the audit."""
    return os.path.realpath(file).startswith(_OWN_FILES)


@functools.lru_cache(maxsize=8192)
def is_other_library(file: str) -> bool:
    """Return whether a file belongs to an installed library other than JAX."""
    installed = not _INSTALLED.isdisjoint(file.split(os.sep))
    return installed and not os.path.realpath(file).startswith(_JAX_FOLDER)


def is_wrapper_library(file: str) -> bool:
    """Return whether a file belongs to a library that wraps the user's functions, such as Flax."""
    return any(name in file for name in _WRAPPER_LIBRARIES)


def is_acting_code(file: str) -> bool:
    """Return whether a file belongs to the user, or to a library that does not wrap functions."""
    return is_user_code(file) or (is_other_library(file) and not is_wrapper_library(file))


def is_direct_call(files: Iterable[str]) -> bool:
    """Return whether the user's own code calls a jitted function, and not a library's code.

    Args:
        files: The files of the frames that lead to the call, innermost first. Frames of JAX and of
            libraries that wrap the user's functions do not count.
    """
    caller = next((file for file in files if is_acting_code(file)), "")
    return is_user_code(caller)


@dataclass(frozen=True)
class CodeLocation:
    """A line of code.

    Attributes:
        file: The path of the file, or the file name that IPython gives to a notebook cell.
        line: The line number, counted from 1.
        function: The name of the function that contains the line.
    """

    file: str
    line: int
    function: str = ""

    @property
    def text(self) -> str:
        """The source of the line without surrounding whitespace, or "" if it is unavailable."""
        line = linecache.getline(self.file, self.line).strip()
        return line or notebook_cells.timed_line(self.file, self.line, self.function)

    def ignores(self, check: str) -> bool:
        """Return whether the line has a comment ``# jaxbits: ignore[check, …]`` for this check."""
        comment = _IGNORE_COMMENT.search(self.text)
        return comment is not None and check in re.split(r"[\s,]+", comment[1].strip())

    def __str__(self) -> str:
        cell = notebook_cells.find_cell(self.file, self.line, self.function)
        if cell is not None:
            return f"In[{cell[0]}]:{cell[1]}"
        return f"{os.path.basename(self.file)}:{self.line}"


def location_of(equation: Any) -> CodeLocation | None:
    """Return the innermost line of user code behind an equation, or None if it is unknown."""
    for function, file, line in _jax_compat.frames(equation):
        if is_user_code(file):
            return CodeLocation(file, line, function)
    return None


def outermost_location_of(equation: Any) -> CodeLocation | None:
    """Return the line of the function under test behind an equation, or None if it is unknown.

    If the function under test calls a helper of the user, this is the line with the call.
    """
    found = None
    for function, file, line in _jax_compat.frames(equation):
        if is_detector_code(file):
            break
        if is_user_code(file):
            found = CodeLocation(file, line, function)
    return found


def location_of_error(traceback: TracebackType | None) -> CodeLocation | None:
    """Return the innermost line of user code in a traceback, or None if there is none."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_code(code.co_filename):
            found = CodeLocation(code.co_filename, traceback.tb_lineno, code.co_name)
        traceback = traceback.tb_next
    return found


def location_of_function(function: Any) -> CodeLocation | None:
    """Return the line on which a function begins, or None if it has no Python code."""
    while isinstance(function, functools.partial):
        function = function.func
    code = get_attribute(unwrap(function), "__code__")
    return None if code is None else location_of_code(code)


def user_location_of_function(function: Any) -> CodeLocation | None:
    """Return the line on which a function of the user begins, or None for any other function."""
    location = location_of_function(function)
    return location if location and is_user_code(location.file) else None


def location_of_code(code: CodeType) -> CodeLocation:
    """Return the line on which a code object begins."""
    return CodeLocation(code.co_filename, code.co_firstlineno, code.co_name)
