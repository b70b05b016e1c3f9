"""Find library calls that fail because a number is traced that has to be static."""

from __future__ import annotations

import contextlib
from types import FrameType, TracebackType
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from jaxbits._analysis.code_location import CodeLocation, is_user_code, location_of_error
from jaxbits._analysis.copying import copy_tree
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.tracing_errors import classify_error

ONLY_IF_JITTED = (
    "none until you jit the whole function; `jax.jit` needs `static_argnames=`, or a static field "
    "if the number is inside a module"
)
"""The advice about an error that occurs only if `jax.jit` compiles the whole function."""

# Frames of JAX that lie between user code and the function that it calls:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/traceback_util.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/numpy/array_methods.py
_PLUMBING = {"reraise_with_filtered_traceback", "cache_miss", "op", "meth", "deferring_binary_op"}


def find_static_number(
    target: FunctionUnderTest, error: Exception
) -> tuple[str, CodeLocation | None] | None:
    """Return the library function that needs a static number, and the line that calls it.

    Library functions raise many different errors if a tracer reaches a place where, for example, a
    shape is computed. Such an error is recognized by its cause instead of its message. The call
    receives traced integers, and the function under test runs if nothing is traced.

    Args:
        target: The function under test.
        error: An exception that was raised while the function was traced.

    Returns:
        The name and the line, or None if the error has another cause.
    """
    # Most of JAX's own errors about tracers name their cause, so other checks report them.
    is_known = isinstance(error, jax.errors.JAXTypeError) and not isinstance(
        error, jax.errors.TracerArrayConversionError
    )
    if is_known or classify_error(error)[0]:
        return None
    calls = _library_calls(error.__traceback__)
    if not any(map(_receives_traced_integers, calls)) or _is_numpy(calls[0]):
        return None
    # A strict error occurs only if all numbers are traced, so its cause is known.
    if error is not target.trace.strict_error and not _runs_without_jit(target):
        return None
    return f"`{calls[0].f_code.co_name}`", location_of_error(error.__traceback__)


def _library_calls(traceback: TracebackType | None) -> list[FrameType]:
    """Return the frames of the library call that the innermost line of user code makes.

    Operators, conversions, and wrappers do not count, because they name no function.
    """
    below: list[FrameType] = []
    has_user_code = False
    while traceback is not None:
        frame = traceback.tb_frame
        name = frame.f_code.co_name
        if is_user_code(frame.f_code.co_filename):
            below, has_user_code = [], True
        elif name not in _PLUMBING and not name.startswith("_"):
            below.append(frame)
        traceback = traceback.tb_next
    return below if has_user_code else []


def _is_numpy(frame: FrameType) -> bool:
    """Return whether a frame belongs to NumPy, whose functions the check `transfer` reports."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "numpy"


def _receives_traced_integers(frame: FrameType) -> bool:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args and **kwargs
    values = [frame.f_locals.get(name) for name in code.co_varnames[:count]]
    with contextlib.suppress(Exception):  # The user's own containers may raise any error.
        return any(map(_are_traced_integers, jax.tree.leaves(values, is_leaf=is_iterator)))
    return False


def _are_traced_integers(value: Any) -> bool:
    if not isinstance(value, Tracer) or getattr(value, "ndim", 2) > 1:
        return False
    return bool(jnp.issubdtype(value.dtype, jnp.integer))


def _runs_without_jit(target: FunctionUnderTest) -> bool:
    args, kwargs = copy_tree(target.args), copy_tree(target.kwargs)
    with target.restore_state(), jax.disable_jit():
        try:
            target.function(*args, **kwargs)
        except Exception:  # The error has a cause other than tracing.
            return False
    return True
