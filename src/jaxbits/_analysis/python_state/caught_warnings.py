"""Record the warnings that Python code issues, with the lines of user code that led to them."""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any, NamedTuple, TextIO

from jaxbits._analysis.code_location import (
    CodeLocation,
    is_acting_code,
    is_detector_code,
    is_user_code,
)


class CaughtWarning(NamedTuple):
    """A warning that was issued while calls were monitored.

    Attributes:
        text: The message of the warning.
        named: The line that the warning names, which may be inside a library.
        place: The innermost line of user code that led to the warning, or None if there is none.
        is_from_library: Whether a library other than JAX is what called JAX or NumPy. Libraries
            that wrap the user's functions do not count.
    """

    text: str
    named: CodeLocation
    place: CodeLocation | None
    is_from_library: bool


class WarningRecorder:
    """A replacement for `warnings.showwarning` that records the warnings instead.

    Attributes:
        caught: The warnings so far.
    """

    def __init__(self) -> None:
        self.caught: list[CaughtWarning] = []

    def __call__(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Record a warning, with the arguments that Python passes to `warnings.showwarning`."""
        place, is_from_library = _user_line(sys._getframe(1))
        named = CodeLocation(filename, lineno)
        self.caught.append(CaughtWarning(str(message), named, place, is_from_library))


def general_filters() -> list[tuple[str, Any]]:
    """Return the action and category of the filters for Python's own warnings from all modules.

    A module that is imported may add filters for warnings of its own.
    """
    return [
        (action, category)
        for action, message, category, module, line in warnings.filters
        if not (message or module or line) and getattr(category, "__module__", "") == "builtins"
    ]


def _user_line(frame: types.FrameType | None) -> tuple[CodeLocation | None, bool]:
    """Return the innermost line of user code below the audit, and whether a library is between."""
    acting: types.CodeType | None = None
    while frame is not None and not is_detector_code(frame.f_code.co_filename):
        code = frame.f_code
        if acting is None and is_acting_code(code.co_filename):
            acting = code
        if is_user_code(code.co_filename):
            place = CodeLocation(code.co_filename, frame.f_lineno, code.co_name)
            return place, acting is not code
        frame = frame.f_back
    return None, acting is not None
