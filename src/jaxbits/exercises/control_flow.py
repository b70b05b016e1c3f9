"""The exercises of chapter 07, control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import (
    NotYet,
    call,
    returns,
    returns_under_grad,
    returns_under_jit,
)


def huber(error: jax.Array, width: jax.Array) -> jax.Array:
    """Return error² / 2 where |error| <= width, else width * (|error| - width / 2)."""
    raise NotImplementedError


def solve_huber(error: jax.Array, width: jax.Array) -> jax.Array:
    """Compute both pieces, and choose element by element."""
    size = jnp.abs(error)
    return jnp.where(size <= width, error**2 / 2, width * (size - width / 2))


def verify_huber(answer: Callable[..., Any]) -> None:
    """Ask for numbers, for arrays, under jit with both arguments traced, vmap and grad."""
    for error, expected in ((0.5, 0.125), (-3.0, 2.5), (3.0, 2.5), (1.0, 0.5)):
        returns(answer, jnp.float32(error), 1.0, expected=np.float32(expected))
    errors = jnp.array([0.5, -3.0, 3.0, 0.0])
    all_of_them = np.array([0.125, 2.5, 2.5, 0.0], np.float32)
    returns_under_jit(answer, jnp.float32(-3.0), 1.0, expected=2.5)
    returns_under_jit(answer, jnp.float32(-3.0), 2.0, expected=4.0, why="the width is traced, too")
    returns(answer, errors, 1.0, expected=all_of_them, why="each element has its own piece")
    mapped = jax.vmap(lambda error: answer(error, 1.0))
    seen = call(mapped, errors, how="under vmap, ")
    if not np.allclose(seen, all_of_them):
        raise NotYet(f"under vmap it returns {np.asarray(seen).tolist()}")
    for error, slope in ((0.5, 0.5), (3.0, 1.0), (-3.0, -1.0)):
        why = "beyond the width the slope is the width, with the error's sign"
        returns_under_grad(answer, jnp.float32(error), 1.0, expected=np.float32(slope), why=why)
    why = "inside the width the slope is the error; is the piece not taken finite, and its slope?"
    returns_under_grad(answer, jnp.float32(0.0), 1.0, expected=np.float32(0.0), why=why)


def newton_root(a: jax.Array, steps: int) -> jax.Array:
    """Return the square root of a after steps times x = (x + a / x) / 2, from x = a, in floats."""
    raise NotImplementedError


def solve_newton_root(a: jax.Array, steps: int) -> jax.Array:
    """Start the carry as a float, and let one body stand for all steps."""
    start = a * jnp.float32(1.0)
    root: jax.Array = lax.fori_loop(0, steps, lambda _, x: (x + a / x) / 2, start)
    return root


def verify_newton_root(answer: Callable[..., Any]) -> None:
    """Ask for values, jit, grad, an integer array, and a program that does not grow."""
    nine, four = jnp.float32(9.0), jnp.int32(4)
    returns(answer, nine, 0, expected=9.0, why="no step, so the start, which is a")
    returns(answer, nine, 1, expected=5.0, why="one step from 9")
    returns(answer, nine, 20, expected=3.0)
    returns(answer, four, 20, expected=2.0, why="a is an integer here, its root is not")
    many = jnp.array([1.0, 4.0, 9.0])
    returns(answer, many, 20, expected=np.array([1, 2, 3], np.float32))

    def of_twenty(a: Any) -> Any:
        return answer(a, 20)

    returns_under_jit(of_twenty, nine, expected=3.0)
    returns_under_grad(of_twenty, nine, expected=np.float32(1 / 6))
    jitted = jax.jit(jax.grad(of_twenty))
    if not np.allclose(call(jitted, nine, how="under jit of grad, "), 1 / 6):
        raise NotYet("under jit of grad, for (a=9.0, steps=20) it should be 0.16666667")
    short, long = (_equations(lambda a, n=n: answer(a, n), nine) for n in (5, 50))
    if long > short:
        raise NotYet(
            f"5 steps are {short} equations and 50 steps are {long}: the loop is written out"
        )


def _equations(function: Callable[..., Any], *args: Any) -> int:
    return _with_bodies(call(jax.make_jaxpr(function), *args).jaxpr)


def _with_bodies(jaxpr: Any) -> int:
    count = len(jaxpr.eqns)
    for eqn in jaxpr.eqns:
        values = jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda v: hasattr(v, "jaxpr"))
        bodies = sum(_with_bodies(v.jaxpr) for v in values if hasattr(v, "jaxpr"))
        count += bodies * int(eqn.params.get("unroll", 1))
    return count


def cool_down(heat: jax.Array, limit: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    """Halve the heat while it is above the limit, at most `most` times; return it and how often."""
    raise NotImplementedError


def solve_cool_down(heat: jax.Array, limit: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    """Take all turns that there may be, and let those that are not needed change nothing."""

    def turn(state: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        heat, count = state
        hot = heat > limit
        return (jnp.where(hot, heat / 2, heat), count + hot), None

    (heat, count), _ = lax.scan(turn, (heat, jnp.int32(0)), length=most)
    return heat, count


def verify_cool_down(answer: Callable[..., Any]) -> None:
    """Ask for pairs, under jit, vmap and jit of grad, and for a loop that is not written out."""

    def case(heat: float, limit: float, most: int, left: float, count: int, why: str) -> None:
        seen = call(answer, jnp.float32(heat), jnp.float32(limit), most)
        if not (isinstance(seen, tuple | list) and len(seen) == 2):
            raise NotYet(f"it should return a pair (heat, count), it returns {seen!r}")
        given = f"for (heat={heat}, limit={limit}, most={most})"
        if not np.allclose(seen[0], left):
            raise NotYet(f"{given} the heat left is {seen[0]}, should be {left}: {why}")
        if not np.array_equal(seen[1], count):
            raise NotYet(f"{given} it counts {seen[1]}, should be {count}: {why}")

    case(40.0, 9.0, 10, 5.0, 3, "it stops when the limit is reached")
    case(8.0, 9.0, 10, 8.0, 0, "it is cool already")
    case(1000.0, 1.0, 4, 62.5, 4, "four times is the most")
    case(9.0, 9.0, 10, 9.0, 0, "the limit itself is not above the limit")
    jitted = jax.jit(lambda heat, limit: answer(heat, limit, 10))
    left, count = call(jitted, jnp.float32(40.0), jnp.float32(9.0), how="under jit, ")
    if not (np.allclose(left, 5.0) and np.array_equal(count, 3)):
        raise NotYet(f"under jit, for (heat=40.0, limit=9.0, most=10) it returns ({left}, {count})")
    mapped = jax.vmap(lambda heat: answer(heat, jnp.float32(9.0), 10))
    left, count = call(mapped, jnp.array([40.0, 8.0, 17.0]), how="under vmap, ")
    if not (np.allclose(left, [5.0, 8.0, 8.5]) and np.array_equal(count, [3, 0, 1])):
        raise NotYet(f"under vmap, for the heats 40, 8 and 17 it returns ({left}, {count})")

    def heat_left(heat: Any, limit: Any) -> Any:
        return answer(heat, limit, 10)[0]

    slope = jax.jit(jax.grad(heat_left))
    seen = call(slope, jnp.float32(40.0), jnp.float32(9.0), how="under jit of grad, ")
    if not np.allclose(seen, 0.125):
        raise NotYet(f"halved three times the slope by heat is 0.125, it is {seen}")
    short, long = (
        _equations(lambda h, n=n: answer(h, jnp.float32(1.0), n), jnp.float32(2.0)) for n in (5, 50)
    )
    if long > short:
        raise NotYet("for more turns the program grows: the loop is written out")


EXERCISES = (
    Exercise(
        id="control-flow/1",
        title="a loss in two pieces",
        stub=huber,
        hints=(
            "An if decides once, for one number. Here each element decides for itself.",
            "jnp.where(condition, a, b) takes arrays for all three; jnp.abs is abs for arrays.",
            "jnp.where(jnp.abs(error) <= width, error**2 / 2, ...), the second piece as it stands "
            "in the task.",
        ),
        verify=verify_huber,
        solution=solve_huber,
    ),
    Exercise(
        id="control-flow/2",
        title="a root by a loop that stays one",
        stub=newton_root,
        hints=(
            "steps is a Python number, so a Python loop would work, and be written out. "
            "Which loop of JAX has a fixed number of turns, and a gradient?",
            "lax.fori_loop(0, steps, body, start): body takes the turn's number and x.",
            "The carry must not change its dtype: an integer a needs a float to start from, "
            "such as a * jnp.float32(1.0).",
        ),
        verify=verify_newton_root,
        solution=solve_newton_root,
    ),
    Exercise(
        id="control-flow/3",
        title="a loop that stops, and has a gradient",
        stub=cool_down,
        hints=(
            "while_loop can stop early and has no backward pass; scan has one and cannot stop. "
            "What can a turn of scan do when there is nothing left to do?",
            "Carry the heat and the count. In each turn ask whether the heat is above the limit; "
            "if not, hand both on as they are.",
            "jnp.where(hot, heat / 2, heat) and count + hot, with hot = heat > limit; the count "
            "starts as jnp.int32(0).",
        ),
        verify=verify_cool_down,
        solution=solve_cool_down,
    ),
)
