"""Record calls to `print`, and recognize those that show shapes or say that JAX traces."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from typing import TextIO

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.python_state.log_calls import announces_trace, has_tracer
from jaxbits._analysis.python_state.static_output import passes_shape, shapes_of_described
from jaxbits._analysis.source.ast_utils import current_call


class PrintLog:
    """A record of the calls to `print` that write to a stream.

    Args:
        stream: The stream that the printed text goes to.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._starts: list[tuple[CodeLocation, int]] = []
        self._described: list[set[str]] = []
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
            (self._shows_shape, passes_shape),
            (self._announces_trace, announces_trace),
        ):
            found[location] = found.get(location, True) and recognize(self._calls[key])
        self._starts.append((location, self._stream.tell()))
        self._described.append(shapes_of_described(self._calls[key], frame))

    def lines_with_shapes(self, text: str) -> set[CodeLocation]:
        """Return the lines that print the shape or dtype of an array, but no traced value.

        Args:
            text: Everything that was written to the stream.
        """
        described: dict[CodeLocation, bool] = {}
        for (location, start), end, shapes in zip(
            self._starts, self._ends(text), self._described, strict=True
        ):
            shows_shape = any(shape in text[start:end] for shape in shapes)
            described[location] = described.get(location, True) and shows_shape
        recognized = {place: self._shows_shape[place] or described[place] for place in described}
        return self._lines(recognized, text)

    def lines_about_tracing(self, text: str) -> set[CodeLocation]:
        """Return the lines that print that JAX compiles or traces, but no traced value.

        Args:
            text: Everything that was written to the stream.
        """
        return self._lines(self._announces_trace, text)

    def _lines(self, recognized: Mapping[CodeLocation, bool], text: str) -> set[CodeLocation]:
        """Return the recognized lines that print something other than a traced value."""
        found = {location for location, is_found in recognized.items() if is_found}
        for (location, start), end in zip(self._starts, self._ends(text), strict=True):
            if start == end or has_tracer(text[start:end]):
                found.discard(location)
        return found

    def _ends(self, text: str) -> list[int]:
        """Return where the text of each call ends."""
        return [start for _, start in self._starts[1:]] + [len(text)] * bool(self._starts)
