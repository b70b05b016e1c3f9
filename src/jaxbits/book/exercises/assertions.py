"""Check the reader's function, and explain any problem in terms of the exercise."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from jaxbits import testing
from jaxbits._equality import is_equal
from jaxbits._formatting import format_argument, format_value
from jaxbits.book.exercises.error_advice import describe_error

# If a call's arguments take up more characters than this, messages show only the dtypes and
# shapes of arrays.
_MAX_ARGUMENTS_LENGTH = 110

_STRUCTURE_MISMATCH = re.compile(
    "pytree structure|^Expected (dict|list|tuple|None), got|^Dict key mismatch|arity mismatch"
)


class AnswerRejected(Exception):
    """Raised for a wrong answer, with a message that tells the reader what is wrong."""


def is_structure_mismatch(error: BaseException | None) -> bool:
    """Return True if JAX raised an error because two trees have different structures.

    Up to JAX 0.7, `jax.tree.map` names only the node that differs. Later versions say "pytree
    structure error".
    """
    return isinstance(error, ValueError) and bool(_STRUCTURE_MISMATCH.search(str(error)))


def call(
    answer: Callable[..., Any],
    *args: Any,
    how: str = "",
    through: Callable[..., Any] | None = None,
) -> Any:
    """Call an answer and return its result, or reject the answer if it raises an error.

    Args:
        answer: The reader's function. Messages show its name and those of its parameters.
        args: The call's positional arguments.
        how: The beginning of the message, such as ``"under jit, "``.
        through: A function to call instead of the answer, such as the jitted answer.

    Raises:
        AnswerRejected: If the answer raises any error, including `SystemExit`.
    """
    try:
        return (through or answer)(*args)
    except AnswerRejected:
        raise
    except (Exception, SystemExit) as error:  # An answer may call exit().
        if isinstance(error, NotImplementedError) and not error.args:
            text = f"{_name(answer) or 'it'} is not written yet: it raises NotImplementedError"
            raise AnswerRejected(text) from error
        subject = f"{how}{call_text(answer, args) or 'it'}"
        raise AnswerRejected(describe_error(error, subject)) from error


def call_text(answer: Callable[..., Any], args: Iterable[Any]) -> str:
    """Return a call as source code, such as ``lookup(table=[1.0, 2.0], i=3)``.

    Args:
        answer: The reader's function. If it has no name, it appears as ``f``.
        args: The call's positional arguments.

    Returns:
        The call, or an empty string if the function has no name and there are no arguments.
    """
    args = list(args)
    name = _name(answer)
    return f"{name or 'f'}({arguments(answer, args)})" if name or args else ""


def _name(answer: Any) -> str:
    name = getattr(answer, "__name__", "")
    return name if isinstance(name, str) and name.isidentifier() else ""


def arguments(answer: Callable[..., Any], args: Iterable[Any]) -> str:
    """Format a call's arguments on one line, with the names of the answer's parameters.

    Args:
        answer: The reader's function.
        args: The call's positional arguments.
    """
    args = list(args)
    text = _arguments(answer, args, brief=False)
    return text if len(text) <= _MAX_ARGUMENTS_LENGTH else _arguments(answer, args, brief=True)


def _arguments(answer: Callable[..., Any], args: list[Any], brief: bool) -> str:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(answer).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    names = [f"{p.name}=" for p in parameters if p.kind in positional]
    names = names[: len(args)] + [""] * (len(args) - len(names))
    return ", ".join(f"{n}{format_argument(a, brief)}" for n, a in zip(names, args, strict=True))


def assert_returns(answer: Callable[..., Any], *args: Any, expected: Any, why: str = "") -> None:
    """Check that an answer returns the expected value.

    Args:
        answer: The reader's function.
        args: Its positional arguments.
        expected: The expected result.
        why: A reason to append to the message.

    Raises:
        AnswerRejected: If the answer raises an error, or if its result differs from the expected
            result in value, shape, or dtype kind.
    """
    assert_equal(call(answer, *args), expected, f"{call_text(answer, args)} must return", why)


def under_jit(answer: Callable[..., Any], static: tuple[int, ...] = ()) -> Callable[..., Any]:
    """Return the answer compiled with `jax.jit`, with its own name and an empty cache.

    Args:
        answer: The reader's function.
        static: The positions of the static arguments.
    """

    @functools.wraps(answer)
    def traced(*args: Any) -> Any:
        return answer(*args)

    # Without this, jit checks the static positions against the answer's signature, which may have
    # too few parameters.
    # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/api_util.py
    del traced.__wrapped__
    return jax.jit(traced, static_argnums=static)


def assert_returns_under_jit(
    answer: Callable[..., Any],
    *args: Any,
    expected: Any,
    why: str = "",
    static: tuple[int, ...] = (),
) -> None:
    """Check that an answer returns the expected value under jit.

    Args:
        answer: The reader's function.
        args: Its positional arguments.
        expected: The expected result.
        why: A reason to append to the message.
        static: The positions of the static arguments.

    Raises:
        AnswerRejected: If the answer cannot be traced, or if its result is not the expected one.
    """
    how = "under jit, "
    seen = call(answer, *args, how=how, through=under_jit(answer, static))
    assert_equal(seen, expected, f"{how}{call_text(answer, args)} must return", why)


def assert_returns_under_grad(
    answer: Callable[..., Any], *args: Any, expected: Any, why: str = ""
) -> None:
    """Check the gradient of an answer's scalar result with respect to its first argument.

    Args:
        answer: The reader's function.
        args: Its positional arguments.
        expected: The expected gradient.
        why: A reason to append to the message.

    Raises:
        AnswerRejected: If the answer cannot be differentiated, or if its gradient is wrong.
    """
    gradient = jax.grad(lambda *given: answer(*given))
    seen = call(answer, *args, how="under grad, ", through=gradient)
    first = _first_parameter(answer)
    what = f"the gradient of {call_text(answer, args)} with respect to {first} must be"
    assert_equal(seen, expected, what, why)


def _first_parameter(answer: Callable[..., Any]) -> str:
    name = _arguments(answer, [0], brief=False).partition("=")
    return name[0] if name[1] else "the first argument"


def assert_equal(seen: Any, expected: Any, what: str, why: str = "") -> None:
    """Check that two values, arrays, or pytrees agree in value, shape, and dtype kind.

    Args:
        seen: The answer's result.
        expected: The value that the answer should have returned.
        what: The beginning of the message, such as ``"after one step, w must be"``.
        why: A reason to append to the message.

    Raises:
        AnswerRejected: If the two differ.

    >>> assert_equal(np.float32(0.9), 0.81, "after one step, w must be")
    Traceback (most recent call last):
    jaxbits.book.exercises.assertions.AnswerRejected: after one step, w must be 0.81, got 0.9
    """
    try:
        agree = is_equal(seen, expected)
    except Exception:  # An answer may return any object, even one that cannot be compared.
        agree = False
    if not agree:
        shown, got = _format_differently(expected, seen)
        raise AnswerRejected(f"{what} {shown}, got {got}" + (f": {why}" if why else ""))


def _format_differently(expected: Any, seen: Any) -> tuple[str, str]:
    """Format two values with enough digits to tell them apart or, failing that, with the types."""
    for digits in (6, 9, 17):
        texts = format_value(expected, digits), format_value(seen, digits)
        if texts[0] != texts[1]:
            return texts
    return f"{texts[0]} ({_kind(expected)})", f"{texts[1]} ({_kind(seen)})"


def _kind(value: Any) -> str:
    if hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(map(str, np.shape(value)))}]"
    return type(value).__name__


def assert_returns_op_by_op(
    answer: Callable[..., Any], *args: Any, expected: Any, why: str = ""
) -> None:
    """Check that an answer returns the expected value when XLA compiles each operation separately.

    Fusing operations may hide an error. For example, XLA may compile a product with a boolean mask
    into a select, which drops a masked NaN, but nothing guarantees this.

    Args:
        answer: The reader's function.
        args: Its positional arguments.
        expected: The expected result.
        why: A reason to append to the message.

    Raises:
        AnswerRejected: If the answer raises an error, or if its result is not the expected one.
    """
    how = "run one operation at a time, "
    with jax.disable_jit():
        seen = call(answer, *args, how=how)
    assert_equal(seen, expected, f"{how}{call_text(answer, args)} must return", why)


def count_traces(answer: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> int:
    """Return how many times `jax.jit` traces an answer during a series of calls.

    Args:
        answer: The reader's function.
        calls: The positional arguments for each call.

    Raises:
        AnswerRejected: If one of the calls raises an error.
    """

    def run(jitted: Callable[..., Any], *args: Any) -> Any:
        return call(answer, *args, how="under jit, ", through=jitted)

    return testing.count_traces(answer, calls, call=run)


def are_close(one: Any, other: Any) -> bool:
    """Return whether two pytrees have the same structure and nearly equal leaves.

    Args:
        one: A pytree.
        other: The pytree to compare it with.
    """
    try:
        near = jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-5), one, other)
    except (TypeError, ValueError):
        return False
    return all(jax.tree.leaves(near))


def type_name(value: Any) -> str:
    """Return the type of a value with an article, such as "a JAX array"."""
    if isinstance(value, jax.Array):
        return "a JAX array"
    if isinstance(value, np.ndarray):
        return "a NumPy array"
    module = type(value).__module__.split(".")[0]
    return f"a {'' if module == 'builtins' else module + '.'}{type(value).__name__}"
