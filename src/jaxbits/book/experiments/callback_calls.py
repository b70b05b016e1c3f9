"""Record how often JAX calls each kind of callback under each transformation."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback

KINDS = (
    "jax.debug.print",
    "jax.debug.callback",
    "jax.pure_callback",
    "io_callback",
    "io_callback, ordered",
)
"""The kinds of callbacks. Each of them receives one float and returns it, if it returns a value."""

TRANSFORMATIONS: Mapping[str, tuple[Callable[[Callable[[Any], Any]], Callable[[Any], Any]], Any]]
TRANSFORMATIONS = {
    "jit": (lambda f: f, 2.0),
    "vmap": (lambda f: jax.vmap(f), np.arange(3, dtype=np.float32)),
    "grad": (lambda f: jax.grad(f), 2.0),
    "scan": (lambda f: lambda x: lax.scan(lambda c, _: (f(c) + 1, None), x, length=3)[0], 2.0),
    "while_loop": (lambda f: lambda x: lax.while_loop(lambda c: c < 5, lambda c: f(c) + 1, x), 2.0),
    "cond, branch taken": (lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x), 2.0),
    "cond, branch not taken": (lambda f: lambda x: lax.cond(x < 0, f, lambda x: x, x), 2.0),
    "result unused": (lambda f: lambda x: (f(x), x)[1], 2.0),
}
"""For each transformation, a function that applies it to a callback, and the argument."""


def callback_calls(kind: str, transformation: str) -> list[float] | str:
    """Run a jitted function that contains a callback, and record the callback's calls.

    Args:
        kind: One of the `KINDS`.
        transformation: One of the `TRANSFORMATIONS`.

    Returns:
        The value that each call received, in the order of the calls, or the name of the error if
        JAX rejects the combination.

    >>> callback_calls("jax.pure_callback", "scan")
    [2.0, 3.0, 4.0]
    >>> callback_calls("jax.pure_callback", "grad")
    'ValueError'
    """
    apply, argument = TRANSFORMATIONS[transformation]
    return record_calls(kind, apply, argument)


def record_calls(
    kind: str, apply: Callable[[Callable[[Any], Any]], Callable[[Any], Any]], argument: Any
) -> list[float] | str:
    """Record the calls of a callback in the jitted function that `apply` builds from it.

    Args:
        kind: One of the `KINDS`.
        apply: A function that takes the callback and returns the function to run.
        argument: The argument for the function to run.
    """
    calls: list[float] = []
    printed = io.StringIO()
    # JAX caches a traced function, so this must be a new function each time.
    function = jax.jit(apply(_callback(kind, calls)))
    with contextlib.redirect_stdout(printed):
        try:
            jax.block_until_ready(function(argument))
        except (ValueError, NotImplementedError) as error:
            return type(error).__name__
        finally:
            jax.effects_barrier()
    return calls or [float(line) for line in printed.getvalue().split()]


def _callback(kind: str, calls: list[float]) -> Callable[[Any], Any]:
    """Return a function of a scalar that contains a callback, and returns its argument."""
    number = jax.ShapeDtypeStruct((), jnp.float32)

    def record(x: Any) -> Any:
        x = np.asarray(x)
        calls.append(float(x))
        return x

    def debug_print(x: Any) -> Any:
        jax.debug.print("{}", x)
        return x

    def debug_callback(x: Any) -> Any:
        jax.debug.callback(record, x)
        return x

    return {
        "jax.debug.print": debug_print,
        "jax.debug.callback": debug_callback,
        "jax.pure_callback": lambda x: jax.pure_callback(record, number, x),
        "io_callback": lambda x: io_callback(record, number, x),
        "io_callback, ordered": lambda x: io_callback(record, number, x, ordered=True),
    }[kind]
