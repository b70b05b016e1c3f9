"""Assertions for an assignment's tests, with error messages written for the student.

>>> from jaxbits import testing
>>> testing.assert_close(0.1 + 0.2, 0.3, "the sum of both")
>>> try:
...     testing.assert_close([1.0, 2.0], [1.0, 3.0], "each entry is doubled")
... except testing.WrongAnswer as wrong:
...     print(wrong, wrong.__notes__)
each entry is doubled ['got [1.0, 2.0], expected [1.0, 3.0]']
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# The grader gives hidden tests private copies of this module and the two imported below, so that a
# student's code cannot patch them.
from jaxbits import _equality, _formatting
from jaxbits._jax_compat import count_compilations, fresh_caches

__all__ = [
    "UntrustedType",
    "WrongAnswer",
    "assert_accuracy",
    "assert_array",
    "assert_close",
    "assert_raises",
    "count_compilations",
    "count_traces",
    "fresh_caches",
    "reject_custom_equality",
]

# An object from one of these packages is probably a student's mistake, not an attempt to cheat.
_LIBRARIES = {"builtins", "numpy", "jax", "jaxlib", "ml_dtypes", "torch", "decimal", "fractions"}
# A comparison with `np.ma.masked` returns `masked`, so a masked value would pass every check.
_MASKED = {"numpy.ma", "numpy.ma.core"}
# This is Py_TPFLAGS_HEAPTYPE. Classes defined in Python have it, but static C types do not.
# https://docs.python.org/3/c-api/typeobj.html#c.Py_TPFLAGS_HEAPTYPE
_HEAP_TYPE = 1 << 9


def _ignore(answer: Any, expected: Any, message: str, **rules: float) -> None:
    """Ignore a comparison."""


# The grader replaces this function to collect the values that tests accept, because it compares
# them again in a process without student code.
_observe: Callable[..., None] = _ignore


class WrongAnswer(AssertionError):
    """Raised if an answer is wrong. The message is meant for the student."""


class UntrustedType(AssertionError):
    """Raised if an answer might compare equal to anything. A person must check such an answer."""


def reject_custom_equality(answer: Any) -> None:
    """Check that no part of an answer defines its own version of equality.

    This function does not check whether the answer is correct. Use `assert_close` for that.

    Raises:
        UntrustedType: If the class of any part of the answer overrides `__eq__` or defines
            `__array__`, because such a value could compare equal to anything.
    """
    for part in _parts(answer):
        kind = type(part)
        if not _is_from_library(kind) and (_overrides_eq(kind) or hasattr(kind, "__array__")):
            name = f"{kind.__module__}.{kind.__qualname__}"
            raise UntrustedType(f"the answer must be an array or a number, got {name}")


def assert_close(
    answer: Any, expected: Any, message: str, *, rtol: float = 1e-5, atol: float = 1e-6
) -> None:
    """Check that an answer equals the expected number, array, or tree within a tolerance.

    Args:
        answer: The student's result. A list of numbers may replace an array, and a list may
            replace a tuple.
        expected: The expected result. The shapes and the kinds of numbers must agree, except that
            an integer may replace a float. A float may not replace an integer or a boolean.
        message: The error message, which tells the student what is wrong if the two differ.
        rtol: The relative tolerance for floats. NaN equals NaN.
        atol: The absolute tolerance for floats.

    Raises:
        WrongAnswer: If the two differ.
        UntrustedType: If the answer's class might make it compare equal to anything.

    Example:
        >>> assert_close(jnp.array([1.0, 2.0]) * 1.000001, [1.0, 2.0], "twice the input")
    """
    # A student may use plain Python, so accept integers for floats and lists for arrays.
    mismatch = _equality.find_mismatch(
        answer,
        expected,
        rtol=rtol,
        atol=atol,
        min_bits=0,
        allow_integers=True,
        allow_lists=True,
        validate=reject_custom_equality,
    )
    if mismatch is not None:
        error = WrongAnswer(message)
        # The values go into a note, because the grader shows the student only the message.
        got, wanted = map(_formatting.format_with_dtype, mismatch)
        error.add_note(f"got {got}, expected {wanted}")
        raise error
    _observe(answer, expected, message, rtol=rtol, atol=atol)


def assert_accuracy(answer: Any, expected: Any, message: str, *, at_least: float) -> None:
    """Check that enough entries of an answer equal the expected ones.

    Args:
        answer: The student's result, an array of labels, such as booleans or integers.
        expected: The expected labels. The shapes must agree.
        message: The error message, which tells the student what is wrong if too few entries agree.
        at_least: The share of entries that must agree, between 0 and 1.

    Raises:
        WrongAnswer: If the shapes differ, or if too few entries agree.
        UntrustedType: If the answer's class might make it compare equal to anything.

    Example:
        >>> guess = jnp.array([True, True, False, True])
        >>> assert_accuracy(guess, [True, False, False, True], "the class", at_least=0.7)
    """
    reject_custom_equality(answer)
    found, wanted = np.asarray(answer), np.asarray(expected)
    if found.shape != wanted.shape:
        error = WrongAnswer(message)
        error.add_note(f"got the shape {found.shape}, expected {wanted.shape}")
        raise error
    share = float(np.mean(found == wanted))
    if share < at_least:
        error = WrongAnswer(message)
        error.add_note(f"{share:.1%} of the entries are right, expected at least {at_least:.1%}")
        raise error
    _observe(answer, expected, message, at_least=at_least)


def assert_array(
    answer: Any, message: str, *, shape: tuple[int, ...] | None = None, dtype: Any = None
) -> None:
    """Check that an answer is a JAX array with the given shape and dtype.

    Args:
        answer: The student's result.
        message: The error message, which tells the student what is wrong if the check fails.
        shape: The expected shape, or None to accept any shape.
        dtype: The expected dtype, or None to accept any dtype.

    Raises:
        WrongAnswer: If the answer is not a JAX array, or if its shape or dtype differs.

    Example:
        >>> assert_array(jnp.ones(3), "three numbers", shape=(3,), dtype=jnp.float32)
    """
    ok = isinstance(answer, jax.Array)
    if ok and shape is not None:
        ok = answer.shape == shape
    if ok and dtype is not None:
        ok = answer.dtype == jnp.dtype(dtype)
    if not ok:
        raise WrongAnswer(message)


def assert_raises(error: type[BaseException], fn: Callable[[], Any], message: str) -> None:
    """Check that a call raises an error of the given class.

    Args:
        error: The expected class of the error.
        fn: The function to call, which takes no arguments.
        message: The error message, which tells the student what is wrong if `fn` does not raise
            the error.

    Raises:
        WrongAnswer: If the call returns normally or raises an error of a different class.

    Example:
        >>> assert_raises(ZeroDivisionError, lambda: 1 / 0, "an empty mean is an error")
    """
    try:
        fn()
    except error:
        return
    except Exception as other:
        raise WrongAnswer(message) from other
    raise WrongAnswer(message)


def _call_and_wait(jitted: Callable[..., Any], *args: Any) -> None:
    jax.block_until_ready(jitted(*args))


def count_traces(
    fn: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    *,
    call: Callable[..., Any] = _call_and_wait,
) -> int:
    """Count how often `jax.jit` traces a function in a sequence of calls.

    Args:
        fn: The function to trace.
        calls: A tuple of arguments for each call.
        call: A function that takes the jitted function and its arguments, and makes the call. The
            default also waits for the result.

    Returns:
        The number of times that `fn` was traced.

    Example:
        >>> count_traces(lambda x: x + 1, [(1.0,), (2.0,), (jnp.ones(3),)])
        2
    """
    count = 0

    def counted(*args: Any) -> Any:
        nonlocal count
        count += 1
        return fn(*args)

    jitted = jax.jit(counted)
    for args in calls:
        call(jitted, *args)
    return count


def _parts(answer: Any) -> Iterator[Any]:
    """Yield an answer and, recursively, its elements and the leaves of registered pytrees."""
    yield answer
    if isinstance(answer, dict):
        inside: Iterable[Any] = dict.values(answer)
    elif isinstance(answer, list | tuple):
        inside = _equality.builtin_container(answer)
    else:
        leaves = jax.tree.leaves(answer)
        inside = () if any(leaf is answer for leaf in leaves) else leaves
    for part in inside:
        yield from _parts(part)


def _is_from_library(kind: type) -> bool:
    """Return whether a class really belongs to a known library and does not just use its name."""
    if not kind.__flags__ & _HEAP_TYPE:
        return True
    if kind.__module__.partition(".")[0] not in _LIBRARIES or kind.__module__ in _MASKED:
        return False
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


def _overrides_eq(kind: type) -> bool:
    """Return whether a class inherits or defines an `__eq__` that `@dataclass` did not generate."""
    for base in kind.__mro__:
        equal = vars(base).get("__eq__")
        if equal is None or _is_from_library(base):
            continue
        code = getattr(equal, "__code__", None)
        # The __eq__ that @dataclass generates compares the fields, which are checked one by one.
        # https://github.com/python/cpython/blob/v3.11.0/Lib/dataclasses.py
        if not (dataclasses.is_dataclass(base) and code and code.co_filename == "<string>"):
            return True
    return False
