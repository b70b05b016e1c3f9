"""The exercises for chapter 01, how JAX traces your program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_equal,
    assert_returns,
    assert_returns_under_grad,
    assert_returns_under_jit,
    call,
    under_jit,
)
from jaxbits.book.exercises.base import Exercise
from jaxbits.detect import side_effect


def count_traces(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> int:
    """Return how many times jax.jit traces `function` for `calls`, a list of argument tuples."""
    raise NotImplementedError


def solve_count_traces(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> int:
    """Count in a wrapper, because Python runs its body only while JAX traces it."""
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
    """Test the counts for several shapes, dtypes, and weak types, and for repeated calls."""

    def not_a_call(x: Any) -> None:
        if isinstance(x, tuple):
            raise AnswerRejected(
                "your wrapper passes a whole call as one argument. A call is a tuple of "
                "arguments, so unpack it with a star"
            )

    def of_one() -> Callable[..., Any]:
        def double(x: Any) -> Any:
            not_a_call(x)
            return x * 2

        return double

    def of_two() -> Callable[..., Any]:
        def add(x: Any, y: Any) -> Any:
            return x.sum() + y.sum()

        return add

    three, four = jnp.zeros(3), jnp.zeros(4)
    whole = jnp.zeros(3, jnp.int32)
    cases: list[tuple[Callable[[], Any], list[tuple[Any, ...]], int, str, str]] = [
        (of_one, [(three,)] * 5, 1, "five calls with one shape", "only the first is traced"),
        (
            of_one,
            [(three,), (four,), (three,)],
            2,
            "the shapes 3, 4, and 3",
            "JAX has already traced shape 3",
        ),
        (of_one, [(three,), (whole,)], 2, "one shape and two dtypes", "each dtype needs a trace"),
        (of_one, [(1.0,), (2.0,), (3.0,)], 1, "three Python floats", "values do not matter"),
        (
            of_one,
            [(1.0,), (jnp.float32(1),)],
            2,
            "a Python float and then a float32 scalar",
            "JAX traces them separately because the Python float is weakly typed, so a count of "
            "the different shapes and dtypes is too small",
        ),
        (
            of_two,
            [(three, four), (three, three), (three, four)],
            2,
            "two arguments, the second of which changes shape",
            "every argument matters",
        ),
        (of_one, [], 0, "no calls", "nothing is traced"),
    ]
    for fresh, calls, expected, what, why in cases:
        seen = call(answer, fresh(), calls)
        whole_number = np.asarray(seen).dtype.kind in "iu" and np.shape(seen) == ()
        if not whole_number:
            raise AnswerRejected(
                f"the number of traces must be an integer, got {format_value(seen)}"
            )
        assert_equal(int(seen), expected, f"for {what}, the number of traces must be", why)
    double = of_one()
    first, second = (call(answer, double, [(three,)]) for _ in range(2))
    what = "called again with the same function, your function must return"
    assert_equal(int(second), int(first), what, "create a new wrapper each time")
    what = (
        "called a third time with the same function, now for one call with a new shape, "
        "your function must return"
    )
    why = (
        "an earlier count is still included, because jax.jit keeps the traces of a function even "
        "if you jit it again. Jit a wrapper that you define inside your answer"
    )
    assert_equal(int(call(answer, double, [(four,)])), 1, what, why)


def scaled_with_log(x: jax.Array, factor: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the product x * factor and its largest absolute value."""
    raise NotImplementedError


def solve_scaled_with_log(x: jax.Array, factor: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the log as a second result, because a value stored elsewhere would be a tracer."""
    scaled = x * factor
    return scaled, jnp.abs(scaled).max()


def verify_scaled_with_log(answer: Callable[..., Any]) -> None:
    """Check both results of every call, and reject a function that changes outside state."""
    x = jnp.array([1.0, -3.0, 2.0])
    first = (np.array([2, -6, 4], np.float32), np.float32(6))
    seen = call(answer, x, 2.0)
    if not (isinstance(seen, tuple | list) and len(seen) == 2):
        raise AnswerRejected(
            f"the result must be a pair (scaled, largest), got {format_value(seen)}"
        )

    @functools.wraps(answer)
    def pair(x: Any, factor: Any) -> tuple[Any, Any]:
        scaled, largest = answer(x, factor)
        return scaled, largest

    assert_returns(pair, x, 2.0, expected=first)
    turned = (np.array([-2, 6, -4], np.float32), np.float32(6))
    assert_returns(pair, x, -2.0, expected=turned, why="a factor may be negative")
    assert_returns_under_jit(pair, x, 2.0, expected=first)
    jitted = under_jit(pair)
    call(pair, x, 2.0, how="under jit, ", through=jitted)
    again = call(pair, x, 5.0, how="under jit, ", through=jitted)
    what = "on the second jitted call, with a factor of 5, the largest value must be"
    assert_equal(again[1], np.float32(15), what)
    for found in side_effect(answer, x, 2.0):
        # Ignore other findings, such as a leftover print, which does not affect the log.
        if found.message.endswith("while tracing"):
            changed = found.message.partition(" is ")[0].rstrip(",")
            article = "" if changed.startswith(("an ", "the ")) else "the "
            raise AnswerRejected(
                f"the pair is right, but your function also changes {article}{changed}. Under jit, "
                "that happens only while JAX traces the function, and not on every call. Return "
                "the largest value without storing it anywhere else"
            )


def squared_norm(params: Any) -> jax.Array:
    """Return the sum of the squares of all numbers in a pytree, or 0.0 if it is empty."""
    raise NotImplementedError


def solve_squared_norm(params: Any) -> Any:
    """Square and sum each leaf, then add up the sums, starting from 0 for an empty tree."""
    squares = jax.tree.map(lambda leaf: jnp.sum(jnp.square(leaf)), params)
    return jax.tree.reduce(jnp.add, squares, jnp.float32(0.0))


def verify_squared_norm(answer: Callable[..., Any]) -> None:
    """Test flat, nested, and empty trees, with and without jit and grad."""
    flat = {"w": jnp.array([1.0, 2.0]), "b": jnp.array(3.0)}
    nested = {"layer": [flat, ({"w": jnp.ones((2, 2))},)], "none": None}
    assert_returns(answer, flat, expected=14.0)
    assert_returns(
        answer,
        nested,
        expected=18.0,
        why="the tree nests dicts, lists, and tuples, and contains None",
    )
    assert_returns(answer, {}, expected=0, why="the tree is empty")
    assert_returns_under_jit(answer, nested, expected=18.0)
    grown = flat | {"new": jnp.zeros(2)}
    doubled = {"w": np.array([2, 4], np.float32), "b": np.float32(6), "new": np.zeros(2, "f")}
    assert_returns_under_grad(
        answer, grown, expected=doubled, why="the gradient of x² at 0 is 0, not NaN"
    )
    zeros = {"w": jnp.zeros(2)}
    flat_at_zero = {"w": np.zeros(2, np.float32)}
    assert_returns_under_grad(
        answer, zeros, expected=flat_at_zero, why="the gradient of x² at 0 is 0, not NaN"
    )


EXERCISES = (
    Exercise(
        id="tracing/1",
        title="count the traces",
        stub=count_traces,
        hints=(
            "The body of a jitted function runs only while JAX traces it. What could it do each "
            "time it runs?",
            "Wrap the function in one of your own that counts its calls, and jit the wrapper.",
            "Use a nonlocal counter that the first line of the wrapper increments. Define the "
            "wrapper inside count_traces, so that no earlier trace is in its cache, and unpack "
            "each call: jitted(*args).",
        ),
        verify=verify_count_traces,
        solution=solve_count_traces,
    ),
    Exercise(
        id="tracing/2",
        title="return the log",
        stub=scaled_with_log,
        hints=(
            "Appending to a list happens once per trace. What happens on every call?",
            "A function may return more than one array.",
            "Return jnp.abs(...).max() as an array. float(...) would need its value while JAX "
            "traces, when the array has no value yet.",
        ),
        verify=verify_scaled_with_log,
        solution=solve_scaled_with_log,
    ),
    Exercise(
        id="tracing/3",
        title="the squared norm of a tree",
        stub=squared_norm,
        hints=(
            "jax.tree.map applies a function to each leaf, however deeply it is nested.",
            "Turn each leaf into its sum of squares first, then add up the sums.",
            "jax.tree.reduce takes the initial value as its third argument. Do not take a square "
            "root along the way, because its derivative at 0 is infinite.",
        ),
        verify=verify_squared_norm,
        solution=solve_squared_norm,
    ),
)
