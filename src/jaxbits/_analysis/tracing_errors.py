"""Which check an error of tracing belongs to."""

from __future__ import annotations

from typing import Any

from jaxbits._analysis.code_location import Place, is_users, place_of_error

_CONVERSIONS = {
    "__index__", "__bool__", "__int__", "__float__", "__complex__", "__array__", "error", "_error",
    "reraise_with_filtered_traceback", "op", "meth", "concrete_or_error", "deferring_binary_op",
}  # fmt: skip
_READS = {"item", "tolist"}  # `transfer` tells of these
_SHAPES = ("Shapes must be 1D sequences of concrete", "static start", "must be static")


def classify_error(error: Exception) -> tuple[str, Place | None]:
    """Return which check an error of tracing belongs to, empty for none, and its line."""
    name, message, place = type(error).__name__, str(error), place_of_error(error.__traceback__)
    inside = _library_calls(error)
    if name in ("TracerBoolConversionError", "TracerIntegerConversionError"):
        return ("dynamic_shape" if inside else "control_flow"), place
    if name == "NonConcreteBooleanIndexError":
        return "dynamic_shape", place
    if name == "ConcretizationTypeError":
        if any(f"{read}() method" in message for read in _READS):
            return "", place
        return ("dynamic_shape" if inside else "control_flow"), place
    if isinstance(error, (TypeError, IndexError)) and any(text in message for text in _SHAPES):
        return "dynamic_shape", place
    needed = ("unhashable", "__format__")
    if isinstance(error, TypeError) and "Tracer" in message and any(n in message for n in needed):
        return "control_flow", place
    return "", place


def _library_calls(error: Exception) -> list[str]:
    """Return the library's functions below the user's last line that are no mere conversions."""
    below: list[str] = []
    traceback: Any = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code.co_filename):
            below = []
        elif code.co_name not in _CONVERSIONS and not code.co_name.startswith("check_"):
            below.append(code.co_name)
        traceback = traceback.tb_next
    return below
