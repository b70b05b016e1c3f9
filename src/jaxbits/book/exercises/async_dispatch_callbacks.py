"""The exercise on callbacks for chapter 12."""

from __future__ import annotations

import unittest.mock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_returns,
    assert_returns_under_jit,
    call,
)
from jaxbits.book.exercises.base import Exercise


def curve(x: jax.Array, places: jax.Array, values: jax.Array) -> jax.Array:
    """Return np.interp(x, places, values) in float32 with x's shape, also under jit and vmap."""
    raise NotImplementedError


def solve_curve(x: jax.Array, places: jax.Array, values: jax.Array) -> Any:
    """Declare the result and a vmap_method. In the callback, convert arguments to NumPy first."""
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)

    def read(*given: Any) -> Any:
        x, places, values = map(np.asarray, given)
        return np.interp(x, places, values).astype(np.float32)

    return jax.pure_callback(read, shape, x, places, values, vmap_method="sequential")


def verify_curve(answer: Callable[..., Any]) -> None:
    """Check the result, eagerly and under jit and vmap, and reject a callback that uses JAX."""
    places, values = jnp.array([0.0, 1.0, 3.0]), jnp.array([0.0, 10.0, 30.0])
    x = jnp.array([0.5, 2.0, 4.0])
    expected = np.array([5.0, 20.0, 30.0], np.float32)
    assert_returns(answer, x, places, values, expected=expected)
    assert_returns_under_jit(answer, x, places, values, expected=expected)
    assert_returns_under_jit(answer, jnp.float32(2.0), places, values, expected=np.float32(20.0))
    program = str(call(jax.make_jaxpr(answer), x, places, values, how="while tracing, "))
    if "callback" not in program:
        raise AnswerRejected(
            "the numbers are right, but your function does not call NumPy; use jax.pure_callback"
        )
    with _watching() as seen:
        jax.block_until_ready(call(answer, x, places, values))
    if "jnp.interp" in seen:
        raise AnswerRejected(
            "the callback calls jnp.interp, but a callback that calls JAX may wait "
            "forever; use only NumPy inside it"
        )
    if "an argument" in seen:
        raise AnswerRejected(
            "inside the callback, np.interp receives a JAX array. Convert every argument with "
            "np.asarray first, because a callback that computes with JAX arrays may wait forever"
        )
    if "a result" in seen:
        raise AnswerRejected(
            "the callback returns a JAX array, but a callback that calls JAX may wait "
            "forever; use only NumPy inside it"
        )
    rows = jnp.array([[0.5, 2.0], [1.0, 0.0]])
    each = np.array([[5.0, 20.0], [10.0, 0.0]], np.float32)
    mapped = jax.vmap(lambda *given: answer(*given), in_axes=(0, None, None))
    found = call(
        answer, rows, places, values, how="under vmap over the rows of x, ", through=mapped
    )
    if np.shape(found) != (2, 2) or not np.allclose(np.asarray(found), each):
        raise AnswerRejected(
            f"under vmap over the rows of {rows.tolist()}, the result must be "
            f"{each.tolist()}, got {np.asarray(found).tolist()}"
        )
    if found.dtype != jnp.float32:
        raise AnswerRejected(f"under vmap, the result must be float32, got {found.dtype}")


@contextmanager
def _watching() -> Iterator[set[str]]:
    """Yield a set that records where a callback uses JAX: in a call, an argument, or a result."""
    seen: set[str] = set()
    in_jax, in_numpy, callback = jnp.interp, np.interp, jax.pure_callback

    def of_jax(*args: Any, **kwargs: Any) -> Any:
        seen.add("jnp.interp")
        return in_jax(*args, **kwargs)

    def of_numpy(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, jax.Array) for value in (*args, *kwargs.values())):
            seen.add("an argument")
        return in_numpy(*args, **kwargs)

    def watched(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        def run(*given: Any, **named: Any) -> Any:
            result = function(*given, **named)
            if any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(result)):
                seen.add("a result")
            return result

        return callback(run, *args, **kwargs)

    with (
        unittest.mock.patch.object(jnp, "interp", of_jax),
        unittest.mock.patch.object(np, "interp", of_numpy),
        unittest.mock.patch.object(jax, "pure_callback", watched),
    ):
        yield seen


EXERCISES = (
    Exercise(
        id="async-dispatch/3",
        title="NumPy inside a compiled program",
        stub=curve,
        hints=(
            "jax.pure_callback(f, result, *args) calls f(*args) when the program runs. Inside f, "
            "convert every argument with np.asarray before you use it.",
            "Describe the result with jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32). Convert it "
            "to float32 in f, because np.interp returns float64.",
            'For vmap, pass vmap_method="sequential", which calls f once per element of the batch. '
            'With "expand_dims", f receives the whole batch at once, but places and values get a '
            "leading axis of size 1, so f must flatten them with np.ravel before np.interp.",
        ),
        verify=verify_curve,
        solution=solve_curve,
    ),
)
