"""Lines of the user's code: which files are theirs, and which line made an equation or an error."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from jaxbits import _jax_compat

_paths = sysconfig.get_paths()
_LIBRARIES = tuple(
    {os.path.realpath(_paths[key]) + os.sep for key in ("purelib", "platlib", "stdlib")}
)
_HERE = os.path.dirname(os.path.realpath(__file__))
_PACKAGE = os.path.dirname(_HERE)
_OURS = (
    _HERE + os.sep,
    os.path.join(_PACKAGE, "detect") + os.sep,
    *(os.path.join(_PACKAGE, f"{name}.py") for name in ("_audit", "_cli", "_cli_arguments")),
)
_INSTALLED = {"site-packages", "dist-packages"}


@functools.lru_cache(maxsize=8192)
def is_users(file: str) -> bool:
    """Whether a file is the user's: not a library's, not Python's own, not of this package.

    Packages in another environment that this one reaches are libraries too.

    >>> is_users("<ipython-input-1>"), is_users(os.__file__)
    (True, False)
    """
    if not file or file.startswith(("<frozen", "<string>", "<__array_function__")):
        return False
    path = os.path.realpath(file)
    if not _INSTALLED.isdisjoint(path.split(os.sep)):
        return False
    return not path.startswith((*_LIBRARIES, *_OURS))


@dataclass(frozen=True)
class Place:
    """A line of code.

    Attributes:
        file: the file's path, or the name that a notebook gives to a cell.
        line: its number, from 1.
        function: the function that it stands in.
    """

    file: str
    line: int
    function: str = ""

    @property
    def text(self) -> str:
        """The line itself, without the white space around it; empty where it cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def ignores(self, check: str) -> bool:
        """Whether the line carries ``# jaxbits: ignore[check]``; several, separated by commas."""
        marked = re.search(r"#\s*jaxbits:\s*ignore\[([\w\s,]+)\]", self.text)
        return bool(marked) and check in re.split(r"[\s,]+", marked[1].strip()) if marked else False

    def __str__(self) -> str:
        cell = _cells().get(self.file)
        name = f"In[{cell}]" if cell is not None else os.path.basename(self.file)
        return f"{name}:{self.line}"


def _cells() -> Mapping[str, Any]:
    """Return the numbers of a notebook's cells by the names that IPython gives their files."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython and hasattr(ipython, "get_ipython") else None
    names = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return names if isinstance(names, Mapping) else {}


def place_of(equation: Any) -> Place | None:
    """Return the innermost line of the user's code that made an equation, None where unknown."""
    for function, file, line in _jax_compat.frames(equation):
        if is_users(file):
            return Place(file, line, function)
    return None


def place_of_error(traceback: TracebackType | None) -> Place | None:
    """Return the last line of the user's code that an error passed through."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code.co_filename):
            found = Place(code.co_filename, traceback.tb_lineno, code.co_name)
        traceback = traceback.tb_next
    return found
