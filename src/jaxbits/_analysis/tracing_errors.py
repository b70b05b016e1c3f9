"""Classify errors by check, compare them, and find the arguments that their messages name."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from jaxbits._analysis import notebook_cells
from jaxbits._analysis.code_location import CodeLocation, is_user_code, location_of_error
from jaxbits._analysis.python_state.iterators import is_iterator

# JAX's own frames that lie between user code and a failed conversion of a tracer:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/core.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/numpy/array_methods.py
_CONVERSION_FRAMES = {
    "__index__", "__bool__", "__int__", "__float__", "__complex__", "__array__", "error", "_error",
    "reraise_with_filtered_traceback", "op", "meth", "concrete_or_error", "deferring_binary_op",
}  # fmt: skip
_JAX = Path(jax.__file__).parent
_HOST_READS = {"item", "tolist"}  # The check `transfer` reports these.
_SHAPE_ERRORS = ("Shapes must be 1D sequences of concrete", "static start", "must be static")


def classify_error(error: Exception) -> tuple[str, CodeLocation | None]:
    """Return the check that covers a tracing error, and the line of user code that raised it.

    The name of the check is empty if the error belongs to neither `control_flow` nor
    `dynamic_shape`.
    """
    name, message = type(error).__name__, str(error)
    location = location_of_error(error.__traceback__)
    is_in_library = bool(_library_calls(error))
    if name == "TracerBoolConversionError":
        # If JAX itself branches on a value, it needs the value for a shape, as `jnp.compress` does.
        return ("dynamic_shape" if _is_raised_in_jax(error) else "control_flow"), location
    if name == "TracerIntegerConversionError":
        return ("dynamic_shape" if is_in_library else "control_flow"), location
    if name == "NonConcreteBooleanIndexError":
        return "dynamic_shape", location
    if name == "ConcretizationTypeError":
        if any(f"{read}() method" in message for read in _HOST_READS):
            return "", location
        return ("dynamic_shape" if is_in_library else "control_flow"), location
    is_about_shape = any(text in message for text in _SHAPE_ERRORS)
    if isinstance(error, (TypeError, IndexError)) and is_about_shape:
        return "dynamic_shape", location
    needs_value = any(text in message for text in ("unhashable", "__format__"))
    if isinstance(error, TypeError) and "Tracer" in message and needs_value:
        return "control_flow", location
    return "", location


def _library_calls(error: Exception) -> list[str]:
    """Return the library functions that the innermost user line calls, apart from conversions."""
    below: list[str] = []
    step: Any = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if is_user_code(code.co_filename):
            below = []
        elif code.co_name not in _CONVERSION_FRAMES and not code.co_name.startswith("check_"):
            below.append(code.co_name)
        step = step.tb_next
    return below


def _is_raised_in_jax(error: Exception) -> bool:
    """Return whether the innermost function is JAX's own, apart from conversions."""
    files = [
        frame.f_code.co_filename
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_name not in _CONVERSION_FRAMES
    ]
    return bool(files) and Path(files[-1]).is_relative_to(_JAX)


def is_about_tracer(error: BaseException) -> bool:
    """Return whether JAX raises an error only because a value is traced.

    >>> is_about_tracer(ValueError("the shapes differ"))
    False
    """
    return isinstance(
        error,
        (
            jax.errors.ConcretizationTypeError,
            jax.errors.NonConcreteBooleanIndexError,
            jax.errors.TracerArrayConversionError,
            jax.errors.TracerIntegerConversionError,
        ),
    )


def error_signature(error: BaseException) -> str:
    """Return a string that is equal for two errors if they are of one type and from one line.

    >>> error_signature(ValueError("an error without a traceback"))
    'ValueError'
    """
    location = location_of_error(error.__traceback__)
    where = f" at {location.file}:{location.line}" if location else ""
    return type(error).__name__ + where


def is_same_error(a: str, b: str) -> bool:
    """Return whether two signatures may be of the same error.

    If JAX itself raises an error, such as the one about an escaped tracer, its line may be unknown.
    """
    (name, _, line), (other_name, _, other_line) = a.partition(" at "), b.partition(" at ")
    return name == other_name and (line == other_line or not line or not other_line)


def blamed_argument(
    error: Exception,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    traced: Sequence[int],
) -> str:
    """Return the name of the argument that a tracing error mentions, or an empty string.

    Args:
        error: The exception that tracing raised.
        function: The function that was traced. The trace wraps it in a function of `*values`, so
            JAX's message counts leaves instead of naming arguments.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        traced: The indices of the leaves that were traced.
    """
    mention = re.search(r"the value of the argument (\w+)(?:\[(\d+)\])?", str(error))
    if mention is None:
        return ""
    if mention[1] != "values" or mention[2] is None:
        # A library's wrapper may trace a function of its own, whose parameters users do not know.
        return mention[1] if mention[1] in parameter_names(function) else ""
    return _argument_name(int(mention[2]), function, args, kwargs, traced)


def readable_message(
    error: BaseException,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    traced: Sequence[int],
) -> str:
    """Return the type and the full message of an error, in terms of the user's function.

    The trace wraps the function in one of its own, which JAX's message would name instead.

    Args:
        error: An exception that tracing or calling the function raised.
        function: The function that was traced or called.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        traced: The indices of the leaves that were traced.
    """
    name = str(getattr(function, "__name__", type(function).__name__))
    try:
        original = str(error).strip()
    except Exception:  # The user's class may define `__str__`.
        return type(error).__name__
    text = re.sub(r"call_with_leaves at \S+ for \w+", name, original)
    if text != original:
        text = re.sub(
            r"\bvalues\[(\d+)\]",
            lambda match: _argument_name(int(match[1]), function, args, kwargs, traced),
            text,
        )
    text = notebook_cells.name_cells(text)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _argument_name(
    number: int,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    traced: Sequence[int],
) -> str:
    """Return the name of the argument that contains a traced leaf, given the leaf's number."""
    leaves = jax.tree_util.tree_leaves_with_path((args, kwargs), is_leaf=is_iterator)
    return _name_in_call(leaves[traced[number]][0], function)


def leaf_names(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    traced: Sequence[int],
) -> list[str]:
    """Return the names of the traced leaves of a call, such as "params['w']".

    Args:
        function: The function that was traced.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        traced: The indices of the leaves that were traced.
    """
    leaves = jax.tree_util.tree_leaves_with_path((args, kwargs), is_leaf=is_iterator)
    paths = [leaves[index][0] for index in traced]
    return [f"{_name_in_call(path, function)}{jax.tree_util.keystr(path[2:])}" for path in paths]


def _name_in_call(path: Sequence[Any], function: Callable[..., Any]) -> str:
    """Return the name of the argument to which the path of a leaf of `(args, kwargs)` leads."""
    key: Any = getattr(path[1], "idx", getattr(path[1], "key", ""))
    if not isinstance(key, int):
        return str(key)
    names = parameter_names(function)
    return names[key] if key < len(names) else f"number {key}"


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """Return the names of a function's parameters, or an empty list if it has no signature."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []
