"""Recognize calls to `print` that show only what JAX knows while tracing, such as shapes."""

from __future__ import annotations

import ast
import re
import types
from typing import Any, TextIO

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.source.ast_utils import current_call

_STATIC_ATTRIBUTES = {"shape", "dtype", "ndim", "size", "itemsize", "nbytes", "sharding"}
_STATIC_FUNCTIONS = {"shape", "ndim", "typeof", "result_type"}
_TRACER = re.compile(r"Tracer[<(]|Traced<")
"""The start of how JAX 0.7.2 through 0.12 show a tracer."""


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
        shows_shape = _shows_shape(self._calls[key])
        self._shows_shape[location] = self._shows_shape.get(location, True) and shows_shape
        self._starts.append((location, self._stream.tell()))

    def lines_with_shapes(self, text: str) -> set[CodeLocation]:
        """Return the lines that print the shape or dtype of an array, but no traced value.

        Args:
            text: Everything that was written to the stream.
        """
        ends = [start for _, start in self._starts[1:]] + [len(text)]
        found = {location for location, shows_shape in self._shows_shape.items() if shows_shape}
        for (location, start), end in zip(self._starts, ends, strict=False):
            if start == end or _TRACER.search(text[start:end]):
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
