"""The exercises of chapter 02, pure functions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits.compare import same
from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call, returns, show_kind, traces


def momentum_step(state: dict[str, Any], gradient: jax.Array, rate: float) -> dict[str, Any]:
    """Return the state after one step of gradient descent with momentum 0.9."""
    raise NotImplementedError


def solve_momentum_step(state: dict[str, Any], gradient: jax.Array, rate: float) -> dict[str, Any]:
    """All that changes comes in as an argument and goes out in the result."""
    velocity = 0.9 * state["velocity"] + gradient
    return {
        "w": state["w"] - rate * velocity,
        "velocity": velocity,
        "steps": state["steps"] + 1,
    }


def verify_momentum_step(answer: Callable[..., Any]) -> None:
    """Ask for values, for the given state untouched, and for several jitted calls in a row."""
    start = {"w": jnp.array([1.0, 2.0]), "velocity": jnp.array([1.0, 0.0]), "steps": jnp.int32(4)}
    gradient = jnp.array([1.0, -1.0])
    given = copy.copy(start)
    seen = call(answer, given, gradient, 0.1)
    if not (isinstance(seen, dict) and set(seen) == set(start)):
        raise NotYet(f"it should return a dict of w, velocity and steps, it returns {seen!r}")
    if seen is given or any(given.get(name) is not start[name] for name in start):
        raise NotYet("it changes the state that it was given: return a new dictionary")
    for name, expected in (("velocity", [1.9, -1.0]), ("w", [0.81, 2.1]), ("steps", 5)):
        kind = np.int32 if name == "steps" else np.float32
        _same(seen[name], np.array(expected, kind), f"after a step, {name} is")
    jitted = jax.jit(lambda state, gradient, rate: answer(state, gradient, rate))
    state: Any = dict(start)
    for _ in range(3):
        state = call(jitted, state, gradient, 0.0, how="under jit, ")
    _same(state["steps"], np.int32(7), "after three jitted calls, steps is")
    _same(state["w"], np.array([1, 2], np.float32), "after three jitted calls with rate 0, w is")
    moved = call(jitted, start, gradient, 0.1, how="under jit, ")
    what = "jitted, with a rate of 0.1 after calls with a rate of 0, w is"
    _same(moved["w"], np.array([0.81, 2.1], np.float32), what)
    count = traces(answer, [(start, gradient, rate) for rate in (0.1, 0.2, 0.3)])
    if count != 1:
        raise NotYet(f"three rates are traced {count} times, should be once")


def fit(w: jax.Array, batches: jax.Array, rate: float) -> tuple[jax.Array, jax.Array]:
    """Return w after one step for each row of the batches, and the loss before each step."""
    raise NotImplementedError


def solve_fit(w: jax.Array, batches: jax.Array, rate: float) -> tuple[jax.Array, jax.Array]:
    """Let scan hand out the rows, and collect what the body returns beside the carry."""

    def step(w: jax.Array, batch: jax.Array) -> tuple[jax.Array, jax.Array]:
        far = w - batch.mean()
        return w - rate * far, far**2 / 2

    last, losses = lax.scan(step, jnp.asarray(w, batches.dtype), batches)
    return last, losses


def verify_fit(answer: Callable[..., Any]) -> None:
    """Ask for the last w and all losses, eager and jitted, and for a program of one size."""

    def pair(w: Any, batches: Any, rate: Any) -> tuple[Any, Any]:
        result = answer(w, batches, rate)
        if not (isinstance(result, tuple | list) and len(result) == 2):
            raise NotYet(f"it should return (w, losses), it returns {type(result).__name__}")
        return result[0], result[1]

    start = jnp.float32(0.0)
    batches = jnp.array([[1.0, 3.0], [5.0, 7.0], [0.0, 2.0]])
    seen = _quietly(pair, start, batches, 0.5)
    first_only = np.float32(2.0 * (1 - 0.5**3))
    if np.shape(seen[0]) == () and np.allclose(seen[0], first_only):
        raise NotYet("each step uses the first batch: an iterator gives one value to a trace")
    expected = _fitted([2.0, 6.0, 1.0], 0.5)
    returns(lambda w, batches, rate: seen, start, batches, 0.5, expected=expected)

    def jitted(w: Any, batches: Any, rate: Any) -> tuple[Any, Any]:
        result: tuple[Any, Any] = _quietly(jax.jit(pair), w, batches, rate)
        return result

    returns(jitted, start, batches, 0.5, expected=expected)
    more, means = jnp.array([[4.0], [8.0], [0.0], [2.0]]), [4.0, 8.0, 0.0, 2.0]
    returns(jitted, start, more, 0.25, expected=_fitted(means, 0.25))
    sizes = [
        len(str(jax.make_jaxpr(pair)(start, jnp.ones((rows, 2)), 0.5)).splitlines())
        for rows in (3, 30)
    ]
    if sizes[1] > sizes[0] + 3:
        raise NotYet(
            f"with ten times the batches the program grows from {sizes[0]} to {sizes[1]} lines: "
            "use lax.scan over the rows"
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


def solve_remember(ring: Any, count: Any, loss: jax.Array) -> jax.Array:
    """Read by [...], write by [...] =; whatever the place, all shapes stay the same."""
    ring[count[...] % len(ring[...])] = loss
    count[...] += 1
    known = jnp.arange(len(ring[...])) < count[...]
    mean: jax.Array = jnp.where(known, ring[...], 0.0).sum() / known.sum()
    return mean


def verify_remember(answer: Callable[..., Any]) -> None:
    """Ask for five losses in a ring of three and in one of two, eager and then jitted."""
    losses = [4.0, 2.0, 6.0, 10.0, 8.0]
    means = {3: [4.0, 3.0, 4.0, 6.0, 8.0], 2: [4.0, 3.0, 4.0, 8.0, 9.0]}
    for places, how, function in (
        (3, "", answer),
        (3, "under jit, ", jax.jit(lambda ring, count, loss: answer(ring, count, loss))),
        (2, "in a ring of 2, ", answer),
    ):
        ring, count = jax.new_ref(jnp.full(places, 50.0)), jax.new_ref(jnp.int32(0))
        for n, (loss, mean) in enumerate(zip(losses, means[places], strict=True), 1):
            seen = _quietly(function, ring, count, jnp.float32(loss), how=how)
            if int(count[...]) != n:
                raise NotYet(f"{how}after {n} losses, count is {int(count[...])}, should be {n}")
            place = (n - 1) % places
            if float(ring[...][place]) != loss:
                raise NotYet(
                    f"{how}loss {n} belongs in place {place} of the ring, which holds "
                    f"{show_kind(ring[...])}"
                )
            _same(seen, np.float32(mean), f"{how}after the losses {losses[:n]} the mean is")


def _quietly(function: Callable[..., Any], *args: Any, how: str = "") -> Any:
    """Call an answer; what the checks inside of it say passes as it is."""
    try:
        return function(*args)
    except NotYet:
        raise
    except (Exception, SystemExit):
        return call(function, *args, how=how)


def _same(seen: Any, expected: Any, what: str) -> None:
    try:
        agree = same(seen, expected)
    except Exception:  # what an answer returns may be anything at all
        agree = False
    if not agree:
        raise NotYet(f"{what} {show_kind(seen)}, should be {show_kind(expected)}")


EXERCISES = (
    Exercise(
        id="pure-functions/1",
        title="a step without an object",
        stub=momentum_step,
        hints=(
            "Where would a pure function keep the velocity from one call to the next?",
            "Compute the new velocity first, then w from it, then build a new dictionary.",
            "state['steps'] + 1 in the new dictionary; never state['steps'] += 1, which writes "
            "into the caller's.",
        ),
        verify=verify_momentum_step,
        solution=solve_momentum_step,
    ),
    Exercise(
        id="pure-functions/2",
        title="all batches in one program",
        stub=fit,
        hints=(
            "A Python loop is unrolled, an iterator gives one batch. Which loop of JAX hands out "
            "the rows of an array?",
            "lax.scan(step, w, batches): step takes w and one row, and returns two things.",
            "step returns the new w and the loss; scan collects the losses into an array.",
        ),
        verify=verify_fit,
        solution=solve_fit,
    ),
    Exercise(
        id="pure-functions/3",
        title="the last few losses",
        stub=remember,
        hints=(
            "A Ref is read by ref[...] or ref[i], and written by ref[...] = value or ref[i] = "
            "value.",
            "The place is count[...] % n. Write before you count.",
            "For the mean, a mask: the places below count[...] are in use. jnp.where and two sums "
            "need no shape that depends on a value.",
        ),
        verify=verify_remember,
        solution=solve_remember,
    ),
)
