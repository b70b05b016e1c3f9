"""Recognize calls to `print` that show only what is the same on every call, such as shapes."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from typing import Any, TextIO

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.python_state.log_calls import announces_trace, has_tracer
from jaxbits._analysis.source.ast_utils import current_call

_STATIC_ATTRIBUTES = {"shape", "dtype", "ndim", "size", "itemsize", "nbytes", "sharding"}
_STATIC_FUNCTIONS = {"shape", "ndim", "typeof", "result_type"}


class PrintLog:
    """A record of the calls to `print` that write to a stream.

    Args:
        stream: The stream that the printed text goes to.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._starts: list[tuple[CodeLocation, int]] = []
        self._calls: dict[tuple[types.CodeType, int], ast.Call | None] = {}
        self._shows_shape: dict[CodeLocation, bool] = {}
        self._announces_trace: dict[CodeLocation, bool] = {}

    def record(self, location: CodeLocation, frame: types.FrameType) -> None:
        """Record that a frame is about to call `print`.

        Args:
            location: The line of the call.
            frame: The frame that makes the call.
        """
        if self._stream.closed:
            return
        key = (frame.f_code, frame.f_lasti)
        if key not in self._calls:
            self._calls[key] = current_call(frame)
        for found, recognize in (
            (self._shows_shape, _shows_shape),
            (self._announces_trace, announces_trace),
        ):
            found[location] = found.get(location, True) and recognize(self._calls[key])
        self._starts.append((location, self._stream.tell()))

    def lines_with_shapes(self, text: str) -> set[CodeLocation]:
        """Return the lines that print the shape or dtype of an array, but no traced value.

        Args:
            text: Everything that was written to the stream.
        """
        return self._lines(self._shows_shape, text)

    def lines_about_tracing(self, text: str) -> set[CodeLocation]:
        """Return the lines that print that JAX compiles or traces, but no traced value.

        Args:
            text: Everything that was written to the stream.
        """
        return self._lines(self._announces_trace, text)

    def _lines(self, recognized: Mapping[CodeLocation, bool], text: str) -> set[CodeLocation]:
        """Return the recognized lines that print something other than a traced value."""
        ends = [start for _, start in self._starts[1:]] + [len(text)]
        found = {location for location, is_found in recognized.items() if is_found}
        for (location, start), end in zip(self._starts, ends, strict=False):
            if start == end or has_tracer(text[start:end]):
                found.discard(location)
        return found


def _shows_shape(call: Any) -> bool:
    """Return whether a call passes on the shape, the dtype, or the like of an array."""
    arguments = [*call.args, *(k.value for k in call.keywords)] if call is not None else []
    return any(
        (isinstance(node, ast.Attribute) and node.attr in _STATIC_ATTRIBUTES)
        or (isinstance(node, ast.Call) and _function_name(node) in _STATIC_FUNCTIONS)
        for argument in arguments
        for node in ast.walk(argument)
    )


def _function_name(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]
