"""The exercises for chapter 02, pure functions."""

from __future__ import annotations

import copy
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
    call,
    call_text,
    count_traces,
    under_jit,
)
from jaxbits.book.exercises.base import Exercise


def momentum_step(state: dict[str, Any], gradient: jax.Array, rate: float) -> dict[str, Any]:
    """Return the state after one step of gradient descent with momentum 0.9."""
    raise NotImplementedError


def solve_momentum_step(state: dict[str, Any], gradient: jax.Array, rate: float) -> dict[str, Any]:
    """Pass everything that changes as an argument, and return it as a result."""
    velocity = 0.9 * state["velocity"] + gradient
    return {
        "w": state["w"] - rate * velocity,
        "velocity": velocity,
        "steps": state["steps"] + 1,
    }


def verify_momentum_step(answer: Callable[..., Any]) -> None:
    """Test one step and several jitted ones, and check that the given state is unchanged."""
    start = {"w": jnp.array([1.0, 2.0]), "velocity": jnp.array([1.0, 0.0]), "steps": jnp.int32(4)}
    gradient = jnp.array([1.0, -1.0])
    given = copy.copy(start)
    seen = call(answer, given, gradient, 0.1)
    if not (isinstance(seen, dict) and set(seen) == set(start)):
        raise AnswerRejected(
            f"the result must be a dict of w, velocity, and steps, got {format_value(seen)}"
        )
    if seen is given or any(given.get(name) is not start[name] for name in start):
        raise AnswerRejected(
            "your function modifies its state argument in place; return a new dict instead"
        )
    for name, expected in (("velocity", [1.9, -1.0]), ("w", [0.81, 2.1]), ("steps", 5)):
        kind = np.int32 if name == "steps" else np.float32
        assert_equal(seen[name], np.array(expected, kind), f"after one step, {name} must be")
    jitted = under_jit(answer)
    state: Any = dict(start)
    for _ in range(3):
        state = call(answer, state, gradient, 0.0, how="under jit, ", through=jitted)
    assert_equal(state["steps"], np.int32(7), "after three jitted calls, steps must be")
    what = "after three jitted calls with a rate of 0, w must be"
    assert_equal(state["w"], np.array([1, 2], np.float32), what)
    moved = call(answer, start, gradient, 0.1, how="under jit, ", through=jitted)
    what = "under jit, with a rate of 0.1 after calls with a rate of 0, w must be"
    assert_equal(moved["w"], np.array([0.81, 2.1], np.float32), what)
    count = count_traces(answer, [(start, gradient, rate) for rate in (0.1, 0.2, 0.3)])
    assert_equal(count, 1, "the number of traces for three rates must be")


def fit(w: jax.Array, batches: jax.Array, rate: float) -> tuple[jax.Array, jax.Array]:
    """Return w after one step for each row of `batches`, and the loss before each step."""
    raise NotImplementedError


def solve_fit(w: jax.Array, batches: jax.Array, rate: float) -> tuple[jax.Array, jax.Array]:
    """Let scan pass the rows one by one, and collect the losses that the body returns."""

    def step(w: jax.Array, batch: jax.Array) -> tuple[jax.Array, jax.Array]:
        far = w - batch.mean()
        return w - rate * far, far**2 / 2

    last, losses = lax.scan(step, jnp.asarray(w, batches.dtype), batches)
    return last, losses


def verify_fit(answer: Callable[..., Any]) -> None:
    """Check the final w and all losses, and check that more batches do not lengthen the program."""

    @functools.wraps(answer)
    def pair(w: Any, batches: Any, rate: Any) -> tuple[Any, Any]:
        result = answer(w, batches, rate)
        if not (isinstance(result, tuple | list) and len(result) == 2):
            raise AnswerRejected(
                f"the result must be a pair (w, losses), got {format_value(result)}"
            )
        return result[0], result[1]

    start = jnp.float32(0.0)
    batches = jnp.array([[1.0, 3.0], [5.0, 7.0], [0.0, 2.0]])
    seen = call(pair, start, batches, 0.5)
    first_only = np.float32(2.0 * (1 - 0.5**3))
    if np.shape(seen[0]) == () and np.allclose(seen[0], first_only):
        raise AnswerRejected(
            "every step uses the first batch, because an iterator yields only one value per trace"
        )
    expected = _fitted([2.0, 6.0, 1.0], 0.5)
    assert_equal(seen, expected, f"{call_text(answer, (start, batches, 0.5))} must return")
    more, means = jnp.array([[4.0], [8.0], [0.0], [2.0]]), [4.0, 8.0, 0.0, 2.0]
    jitted = under_jit(pair)
    for given, rate, wanted in ((batches, 0.5, expected), (more, 0.25, _fitted(means, 0.25))):
        seen = call(answer, start, given, rate, how="under jit, ", through=jitted)
        assert_equal(
            seen, wanted, f"under jit, {call_text(answer, (start, given, rate))} must return"
        )
    short, long = (
        len(
            str(call(pair, start, jnp.ones((rows, 2)), 0.5, through=jax.make_jaxpr(pair))).split(
                "\n"
            )
        )
        for rows in (3, 30)
    )
    if long > short + 3:
        raise AnswerRejected(
            f"with ten times as many batches, the program grows from {short} to {long} "
            "lines; scan over the rows with lax.scan"
        )


def _fitted(means: list[float], rate: float) -> tuple[np.float32, np.ndarray[Any, Any]]:
    w, losses = 0.0, []
    for mean in means:
        losses.append((w - mean) ** 2 / 2)
        w = w - rate * (w - mean)
    return np.float32(w), np.array(losses, np.float32)


def remember(ring: Any, count: Any, loss: jax.Array) -> jax.Array:
    """Write the loss into the ring, count it, and return the mean of the losses in the ring."""
    raise NotImplementedError


def solve_remember(ring: Any, count: Any, loss: jax.Array) -> Any:
    """Mask the unused part of the ring, so that no shape depends on the number of losses."""
    ring[count[...] % len(ring[...])] = loss
    count[...] += 1
    known = jnp.arange(len(ring[...])) < count[...]
    return jnp.where(known, ring[...], 0.0).sum() / known.sum()


def verify_remember(answer: Callable[..., Any]) -> None:
    """Test five losses in a ring of three, eagerly and under jit, and in a ring of two."""
    losses = [4.0, 2.0, 6.0, 10.0, 8.0]
    means = {3: [4.0, 3.0, 4.0, 6.0, 8.0], 2: [4.0, 3.0, 4.0, 8.0, 9.0]}
    for places, how, function in (
        (3, "", answer),
        (3, "under jit, ", under_jit(answer)),
        (2, "in a ring of 2, ", answer),
    ):
        ring, count = jax.new_ref(jnp.full(places, 50.0)), jax.new_ref(jnp.int32(0))
        for n, (loss, mean) in enumerate(zip(losses, means[places], strict=True), 1):
            seen = call(answer, ring, count, jnp.float32(loss), how=how, through=function)
            after = f"{how}after {n} losses" if n > 1 else f"{how}after 1 loss"
            assert_equal(int(count[...]), n, f"{after}, count must be")
            index = (n - 1) % places
            what = f"{after}, index {index} of the ring must hold"
            assert_equal(ring[...][index], np.float32(loss), what)
            what = f"{how}after the losses {losses[:n]}, the mean must be"
            assert_equal(seen, np.float32(mean), what)


EXERCISES = (
    Exercise(
        id="pure-functions/1",
        title="a step without an object",
        stub=momentum_step,
        hints=(
            "Where can a pure function keep the velocity from one call to the next?",
            "Compute the new velocity, then w from it, and then build a new dictionary.",
            "Write state['steps'] + 1 into the new dictionary. state['steps'] += 1 would change "
            "the caller's dictionary.",
        ),
        verify=verify_momentum_step,
        solution=solve_momentum_step,
    ),
    Exercise(
        id="pure-functions/2",
        title="all batches in one program",
        stub=fit,
        hints=(
            "JAX unrolls a Python loop, and an iterator yields only one batch per trace. Which "
            "JAX loop iterates over the rows of an array?",
            "Call lax.scan(step, w, batches). step takes w and one row, and returns two values.",
            "step returns the new w and the loss. scan collects the losses in an array.",
        ),
        verify=verify_fit,
        solution=solve_fit,
    ),
    Exercise(
        id="pure-functions/3",
        title="the last few losses",
        stub=remember,
        hints=(
            "Read a Ref with ref[...] or ref[i], and write to it with ref[...] = value or ref[i] = "
            "value.",
            "The index is count[...] % n. Write the loss before you increment the count.",
            "Use a mask for the mean, because only the indices below count[...] are in use. "
            "jnp.where and two sums work with fixed shapes. The shape of a slice [:count] would "
            "depend on a value.",
        ),
        verify=verify_remember,
        solution=solve_remember,
    ),
)
