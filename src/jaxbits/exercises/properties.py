"""What a check can ask of a reader's function; each says in the reader's terms what is wrong."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import expect
from jaxbits.compare import same, show
from jaxbits.explain import explain


class NotYet(Exception):
    """What is wrong with an answer, as a sentence for the reader."""


def call(answer: Callable[..., Any], *args: Any, how: str = "") -> Any:
    """Call an answer, turning whatever it raises into a `NotYet`."""
    try:
        return answer(*args)
    except NotImplementedError as error:
        if not error.args:
            raise NotYet("it is not written yet: it raises NotImplementedError") from error
        raise NotYet(_raised(error, args, answer, how)) from error
    except (Exception, SystemExit) as error:  # an answer may call exit()
        raise NotYet(_raised(error, args, answer, how)) from error


def _raised(error: BaseException, args: tuple[Any, ...], answer: Any, how: str) -> str:
    first = str(error).strip().split("\n")[0]
    text = f"{how}for ({arguments(answer, args)}) it raises {type(error).__name__}: {first}"
    if bits := explain(error).bits:
        text += f"\n  That is a sharp bit: {bits[0].title}. {bits[0].fix}"
    return text


def arguments(answer: Callable[..., Any], args: Iterable[Any]) -> str:
    """Return the arguments of a call in one line, named as the answer names them."""
    try:
        names = [f"{name}=" for name in inspect.signature(answer).parameters]
    except (TypeError, ValueError):
        names = []
    args = list(args)
    names = names[: len(args)] + [""] * (len(args) - len(names))
    return ", ".join(f"{n}{_short(a)}" for n, a in zip(names, args, strict=True))


def _short(value: Any) -> str:
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return "a key"
    if isinstance(value, np.ndarray | jax.Array):
        return show(np.asarray(value).tolist())
    return getattr(value, "__name__", "") or show(value)


def returns(answer: Callable[..., Any], *args: Any, expected: Any, why: str = "") -> None:
    """Ask for a value.

    Raises:
        NotYet: when the answer raises, or returns another value, shape or kind of number.
    """
    _must_equal(call(answer, *args), expected, f"for ({arguments(answer, args)}) it returns", why)


def returns_under_jit(answer: Callable[..., Any], *args: Any, expected: Any, why: str = "") -> None:
    """Ask for the same value when every argument is traced.

    Raises:
        NotYet: when the answer cannot be traced, or gives another value then.
    """
    # A wrapper of its own each time: what an earlier trace did must not be found in the cache.
    jitted = jax.jit(functools.wraps(answer)(lambda *traced: answer(*traced)))
    seen = call(jitted, *args, how="under jit, ")
    _must_equal(seen, expected, f"under jit, for ({arguments(answer, args)}) it returns", why)


def returns_under_grad(
    answer: Callable[..., Any], *args: Any, expected: Any, why: str = ""
) -> None:
    """Ask for the gradient of the answer's (scalar) result with respect to its first argument.

    Raises:
        NotYet: when the answer cannot be differentiated, or has another gradient.
    """
    gradient = jax.grad(functools.wraps(answer)(lambda *traced: answer(*traced)))
    seen = call(gradient, *args, how="under grad, ")
    what = f"for ({arguments(answer, args)}) its gradient by the first argument is"
    _must_equal(seen, expected, what, why)


def _must_equal(seen: Any, expected: Any, what: str, why: str) -> None:
    try:
        agree = same(seen, expected)
    except Exception:  # what an answer returns may be anything at all
        agree = False
    if not agree:
        reason = f": {why}" if why else ""
        raise NotYet(f"{what} {_describe(seen, expected)}, should be {show_kind(expected)}{reason}")


def _describe(seen: Any, expected: Any) -> str:
    text = show_kind(seen)
    if text != show_kind(expected):
        return text
    return f"{text} ({getattr(seen, 'dtype', type(seen).__name__)}{getattr(seen, 'shape', '')})"


def show_kind(value: Any) -> str:
    """Return a value as one reads it: lists for arrays, also inside of tuples, no types."""
    if isinstance(value, np.ndarray | jax.Array | np.generic):
        return show(np.asarray(value).tolist())
    if type(value) in (tuple, list):
        inside = ", ".join(show_kind(part) for part in value)
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    return show(value)


def traces(answer: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> int:
    """Count how often `jax.jit` traces an answer over a list of calls.

    Raises:
        NotYet: when one of the calls raises.
    """
    return expect.traces(answer, calls, call=functools.partial(call, how="under jit, "))
