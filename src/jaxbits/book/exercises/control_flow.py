"""The exercises for chapter 07, control flow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_equal,
    assert_returns,
    assert_returns_under_grad,
    assert_returns_under_jit,
    call,
    call_text,
    under_jit,
)
from jaxbits.book.exercises.base import Exercise


def huber(error: jax.Array, width: jax.Array) -> jax.Array:
    """Return error² / 2 where |error| <= width, and width * (|error| - width / 2) elsewhere."""
    raise NotImplementedError


def solve_huber(error: jax.Array, width: jax.Array) -> jax.Array:
    """Compute both pieces, and select between them element by element."""
    size = jnp.abs(error)
    return jnp.where(size <= width, error**2 / 2, width * (size - width / 2))


def verify_huber(answer: Callable[..., Any]) -> None:
    """Test numbers and arrays, both eagerly and under vmap, grad, and jit with traced arguments."""
    for error, expected in ((0.5, 0.125), (-3.0, 2.5), (3.0, 2.5), (1.0, 0.5)):
        assert_returns(answer, jnp.float32(error), 1.0, expected=np.float32(expected))
    errors = jnp.array([0.5, -3.0, 3.0, 0.0])
    all_of_them = np.array([0.125, 2.5, 2.5, 0.0], np.float32)
    assert_returns_under_jit(answer, jnp.float32(-3.0), 1.0, expected=2.5)
    assert_returns_under_jit(
        answer, jnp.float32(-3.0), 2.0, expected=4.0, why="the width is also traced"
    )
    assert_returns(
        answer, errors, 1.0, expected=all_of_them, why="each element must select its own piece"
    )
    mapped = jax.vmap(lambda error, width: answer(error, width), in_axes=(0, None))
    seen = call(answer, errors, 1.0, how="under vmap, ", through=mapped)
    assert_equal(seen, all_of_them, f"under vmap, {call_text(answer, (errors, 1.0))} must return")
    for error, slope in ((0.5, 0.5), (3.0, 1.0), (-3.0, -1.0)):
        why = "beyond the width, the gradient is the width with the sign of the error"
        assert_returns_under_grad(
            answer, jnp.float32(error), 1.0, expected=np.float32(slope), why=why
        )
    why = "the unused piece also needs a finite gradient"
    assert_returns_under_grad(answer, jnp.float32(0.0), 1.0, expected=np.float32(0.0), why=why)


def newton_root(a: jax.Array, steps: int) -> jax.Array:
    """Return the square root of a as a float. From x = a, set x = (x + a / x) / 2 `steps` times."""
    raise NotImplementedError


def solve_newton_root(a: jax.Array, steps: int) -> Any:
    """Start the carry as a float, and run one body for all steps."""
    start = a * jnp.float32(1.0)
    return lax.fori_loop(0, steps, lambda _, x: (x + a / x) / 2, start)


def verify_newton_root(answer: Callable[..., Any]) -> None:
    """Check the program's size and the result, eagerly, under jit and grad, and for integers."""
    nine, four = jnp.float32(9.0), jnp.int32(4)
    assert_returns(answer, nine, 0, expected=9.0, why="after 0 steps, x is still equal to a")
    assert_returns(answer, nine, 1, expected=5.0, why="one step from 9 gives 5")
    assert_returns(answer, nine, 20, expected=3.0)
    assert_returns(
        answer, four, 20, expected=2.0, why="the input may be an integer, but its root is a float"
    )
    many = jnp.array([1.0, 4.0, 9.0])
    assert_returns(answer, many, 20, expected=np.array([1, 2, 3], np.float32))

    assert_returns_under_jit(answer, nine, 20, expected=3.0, static=(1,))
    assert_returns_under_grad(answer, nine, 20, expected=np.float32(1 / 6))
    slope = jax.jit(jax.grad(lambda a, steps: answer(a, steps)), static_argnums=1)
    seen = call(answer, nine, 20, how="under jit of grad, ", through=slope)
    what = f"under jit, the gradient of {call_text(answer, (nine, 20))} must be"
    assert_equal(seen, np.float32(1 / 6), what)
    short, long = (_equations(answer, nine, steps) for steps in (5, 50))
    if long > short:
        raise AnswerRejected(
            f"the program has {short} equations for 5 steps and {long} for 50, because JAX "
            "unrolls the loop"
        )


def _equations(answer: Callable[..., Any], *args: Any) -> int:
    """Return the number of equations in the jaxpr of an answer whose last argument is static."""
    trace = jax.make_jaxpr(lambda *given: answer(*given), static_argnums=len(args) - 1)
    return _with_bodies(call(answer, *args, through=trace).jaxpr)


def _with_bodies(jaxpr: Any) -> int:
    count = len(jaxpr.eqns)
    for eqn in jaxpr.eqns:
        values = jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda v: hasattr(v, "jaxpr"))
        bodies = sum(_with_bodies(v.jaxpr) for v in values if hasattr(v, "jaxpr"))
        count += bodies * int(eqn.params.get("unroll", 1))
    return count


def cool_down(heat: jax.Array, limit: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    """Halve the heat while it is above the limit, at most `most` times. Return it and the count."""
    raise NotImplementedError


def solve_cool_down(heat: jax.Array, limit: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    """Run `most` iterations, of which the unnecessary ones change nothing."""

    def halve(state: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        heat, count = state
        hot = heat > limit
        return (jnp.where(hot, heat / 2, heat), count + hot), None

    (heat, count), _ = lax.scan(halve, (heat, jnp.int32(0)), length=most)
    return heat, count


def verify_cool_down(answer: Callable[..., Any]) -> None:
    """Check the result, also under jit, vmap, and jit of grad, and reject an unrolled loop."""

    @functools.wraps(answer)
    def pair(heat: Any, limit: Any, most: int) -> tuple[Any, Any]:
        seen = answer(heat, limit, most)
        if not (isinstance(seen, tuple | list) and len(seen) == 2):
            raise AnswerRejected(
                f"the result must be a pair (heat, count), got {format_value(seen)}"
            )
        return seen[0], seen[1]

    for heat, limit, most, left, count, why in (
        (40.0, 9.0, 10, 5.0, 3, "stop as soon as the heat is no longer above the limit"),
        (8.0, 9.0, 10, 8.0, 0, "the heat is not above the limit"),
        (1000.0, 1.0, 4, 62.5, 4, "halve at most four times"),
        (9.0, 9.0, 10, 9.0, 0, "heat that is equal to the limit is not above it"),
        (
            8 + 2**-20,
            1.0,
            10,
            0.5 + 2**-24,
            4,
            "the heat is slightly more than 8 times the limit, so three halvings are not enough; "
            "compare the halved heat itself with the limit, because a logarithm is rounded",
        ),
    ):
        given = jnp.float32(heat), jnp.float32(limit)
        expected = np.float32(left), np.int32(count)
        assert_returns(pair, *given, most, expected=expected, why=why)
    hot, limit = jnp.float32(40.0), jnp.float32(9.0)
    assert_returns_under_jit(
        pair, hot, limit, 10, expected=(np.float32(5), np.int32(3)), static=(2,)
    )
    heats = jnp.array([40.0, 8.0, 17.0])
    mapped: Callable[..., Any] = jax.vmap(lambda heat: pair(heat, limit, 10))
    seen = call(pair, heats, limit, 10, how="under vmap, ", through=lambda h, *_: mapped(h))
    wanted = np.array([5, 8, 8.5], np.float32), np.array([3, 0, 1], np.int32)
    assert_equal(seen, wanted, f"under vmap, {call_text(answer, (heats, limit, 10))} must return")
    slope = under_jit(lambda *given: jax.grad(lambda *g: pair(*g)[0])(*given), static=(2,))
    seen = call(pair, hot, limit, 10, how="under jit of grad, ", through=slope)
    what = "under jit, the gradient of the remaining heat with respect to heat must be"
    assert_equal(seen, np.float32(0.125), what, "the heat was halved three times")
    short, long = (_equations(pair, jnp.float32(2.0), jnp.float32(1.0), n) for n in (5, 50))
    if long > short:
        raise AnswerRejected(
            f"the program has {short} equations for most=5 and {long} for most=50, because "
            "JAX unrolls the loop"
        )


EXERCISES = (
    Exercise(
        id="control-flow/1",
        title="a loss in two pieces",
        stub=huber,
        hints=(
            "An if chooses once, for one number. Here each element needs its own choice.",
            "jnp.where(condition, a, b) takes three arrays, and jnp.abs also works on arrays.",
            "Write jnp.where(jnp.abs(error) <= width, error**2 / 2, ...), with the second piece "
            "from the task.",
        ),
        verify=verify_huber,
        solution=solve_huber,
    ),
    Exercise(
        id="control-flow/2",
        title="a root from a loop that JAX does not unroll",
        stub=newton_root,
        hints=(
            "steps is a Python number, so a Python loop would work, but JAX would unroll it. Which "
            "JAX loop has a fixed number of iterations and a gradient?",
            "In lax.fori_loop(0, steps, body, start), body takes the iteration number and x.",
            "The carry must keep its dtype, so if a is an integer, start from a float, such as "
            "a * jnp.float32(1.0).",
        ),
        verify=verify_newton_root,
        solution=solve_newton_root,
    ),
    Exercise(
        id="control-flow/3",
        title="a loop that stops, and has a gradient",
        stub=cool_down,
        hints=(
            "while_loop can stop early but has no backward pass. A scan has one but cannot stop "
            "early. What can an iteration of scan do when there is nothing left to do?",
            "Carry the heat and the count. In each iteration, return both unchanged unless the "
            "heat is above the limit.",
            "Return jnp.where(hot, heat / 2, heat) and count + hot, with hot = heat > limit. Start "
            "the count as jnp.int32(0).",
        ),
        verify=verify_cool_down,
        solution=solve_cool_down,
    ),
)
