"""The exercises of chapter 01, how JAX reads your program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import (
    NotYet,
    call,
    returns,
    returns_under_grad,
    returns_under_jit,
)


def count_traces(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> int:
    """Return how often jax.jit traces the function over these calls, each a tuple of arguments."""
    raise NotImplementedError


def solve_count_traces(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> int:
    """Python runs once a trace: whatever counts inside the function counts traces."""
    traces = 0

    def counted(*args: Any) -> Any:
        nonlocal traces
        traces += 1
        return function(*args)

    jitted = jax.jit(counted)
    for args in calls:
        jitted(*args)
    return traces


def verify_count_traces(answer: Callable[..., Any]) -> None:
    """Ask for counts over repeated shapes, new shapes, new dtypes, and for a fresh function."""

    def fresh() -> Callable[..., Any]:
        return lambda x, *more: x * 2

    three, four = jnp.zeros(3), jnp.zeros(4)
    whole = jnp.zeros(3, jnp.int32)
    cases: list[tuple[list[tuple[Any, ...]], int, str]] = [
        ([(three,)] * 5, 1, "five calls with one shape are traced once"),
        ([(three,), (four,), (three,)], 2, "two shapes, and the first comes back"),
        ([(three,), (whole,)], 2, "one shape, but two dtypes"),
        ([(1.0,), (2.0,), (3.0,)], 1, "a new value is not a new kind of argument"),
        ([(three, four), (three, three), (three, four)], 2, "every argument counts"),
        ([], 0, "no calls, no trace"),
    ]
    for calls, expected, why in cases:
        seen = call(answer, fresh(), calls)
        whole_number = np.asarray(seen).dtype.kind in "iu" and np.shape(seen) == ()
        if not whole_number:
            raise NotYet(f"it should return a whole number, it returns {seen!r}")
        if seen != expected:
            raise NotYet(f"it counts {seen} where {expected} is right: {why}")
    double = fresh()
    if [call(answer, double, [(three,)]) for _ in range(2)] != [1, 1]:
        raise NotYet("asked a second time about one function it finds less: begin afresh each time")


def scaled_with_log(x: jax.Array, factor: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the pair of x * factor and the largest absolute value of that."""
    raise NotImplementedError


def solve_scaled_with_log(x: jax.Array, factor: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What is to leave a traced function leaves it by the return statement."""
    scaled = x * factor
    return scaled, jnp.abs(scaled).max()


def verify_scaled_with_log(answer: Callable[..., Any]) -> None:
    """Ask for both results on every call, jitted, also where the program is already compiled."""
    x = jnp.array([1.0, -3.0, 2.0])
    first = (np.array([2, -6, 4], np.float32), np.float32(6))
    seen = call(answer, x, 2.0)
    if not (isinstance(seen, tuple | list) and len(seen) == 2):
        raise NotYet(f"it should return a pair (scaled, largest), it returns {type(seen).__name__}")

    def pair(x: Any, factor: Any) -> tuple[Any, Any]:
        scaled, largest = answer(x, factor)
        return scaled, largest

    returns(pair, x, 2.0, expected=first)
    returns_under_jit(pair, x, 2.0, expected=first)
    jitted = jax.jit(lambda *args: answer(*args))
    call(jitted, x, 2.0, how="under jit, ")
    again = call(jitted, x, 5.0, how="under jit, ")
    if not np.allclose(again[1], 15):
        raise NotYet(f"on the second jitted call the largest is {again[1]}, should be 15.0")


def squared_norm(params: Any) -> jax.Array:
    """Return the sum of the squares of all numbers in a pytree, 0.0 if there is none."""
    raise NotImplementedError


def solve_squared_norm(params: Any) -> jax.Array:
    """Square and sum each leaf, then add the sums up; an empty tree has the sum 0."""
    squares = jax.tree.map(lambda leaf: jnp.sum(jnp.square(leaf)), params)
    total: jax.Array = jax.tree.reduce(jnp.add, squares, jnp.float32(0.0))
    return total


def verify_squared_norm(answer: Callable[..., Any]) -> None:
    """Ask for flat, nested, listed and empty trees, under jit and under grad."""
    flat = {"w": jnp.array([1.0, 2.0]), "b": jnp.array(3.0)}
    nested = {"layer": [flat, ({"w": jnp.ones((2, 2))},)], "none": None}
    returns(answer, flat, expected=14.0)
    returns(answer, nested, expected=18.0, why="trees nest dicts, lists and tuples, and hold None")
    if not (np.shape(call(answer, {})) == () and call(answer, {}) == 0):
        raise NotYet(f"for an empty tree it returns {call(answer, {})!r}, should be 0")
    returns_under_jit(answer, nested, expected=18.0)
    grown = flat | {"new": jnp.zeros(2)}
    doubled = {"w": np.array([2, 4], np.float32), "b": np.float32(6), "new": np.zeros(2, "f")}
    returns_under_grad(answer, grown, expected=doubled, why="the slope of 0² is 0, not NaN")


EXERCISES = (
    Exercise(
        id="tracing/1",
        title="count the traces",
        stub=count_traces,
        hints=(
            "The body of a jitted function runs when it is traced, and only then. "
            "What could it do each time it runs?",
            "Wrap the function in one of your own that counts, and jit the wrapper.",
            "A nonlocal counter, raised by one in the wrapper's first line. Make a new wrapper in "
            "each call of count_traces, so that nothing is cached from before.",
        ),
        verify=verify_count_traces,
        solution=solve_count_traces,
    ),
    Exercise(
        id="tracing/2",
        title="let the log out",
        stub=scaled_with_log,
        hints=(
            "Appending to a list happens once a trace. What happens on every call?",
            "A function may return more than one array.",
            "jnp.abs(...).max() is an array; float(...) of it would ask for a number too early.",
        ),
        verify=verify_scaled_with_log,
        solution=solve_scaled_with_log,
    ),
    Exercise(
        id="tracing/3",
        title="the squared norm of a tree",
        stub=squared_norm,
        hints=(
            "jax.tree.map applies a function to each leaf, however deep it lies.",
            "First turn each leaf into its sum of squares, then add the leaves up.",
            "jax.tree.reduce takes a third argument, the value to begin with.",
        ),
        verify=verify_squared_norm,
        solution=solve_squared_norm,
    ),
)
