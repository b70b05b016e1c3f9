"""The exercises for chapter 12, asynchronous dispatch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    call,
)
from jaxbits.book.exercises.base import Exercise


def seconds(function: Callable[..., Any], x: Any) -> float:
    """Return the shortest time of five calls, in seconds. Before them, call once to compile."""
    raise NotImplementedError


def solve_seconds(function: Callable[..., Any], x: Any) -> float:
    """Call once to compile. Then time five calls, and wait for each result."""
    from time import perf_counter

    jax.block_until_ready(function(x))
    times = []
    for _ in range(5):
        start = perf_counter()
        jax.block_until_ready(function(x))
        times.append(perf_counter() - start)
    return min(times)


_COMPILING, _COMPUTING = 0.5, 0.04
# Delays for some of the calls. They make the average, median, and maximum of the five timed calls
# differ, so that a wrong answer reveals which of these it returns.
_DISTURBED = {1: 0.06, 3: 0.2, 5: 0.12}


class _Pending:
    """A part of a result. It becomes ready some time after the call returns."""

    def __init__(self, wait: float, waited: Callable[[], None]) -> None:
        self.ready, self.waited = time.perf_counter() + wait, waited

    def block_until_ready(self) -> _Pending:
        time.sleep(max(0.0, self.ready - time.perf_counter()))
        self.waited()
        return self

    def __array__(self, *_: Any, **__: Any) -> np.ndarray[Any, Any]:
        self.block_until_ready()
        return np.zeros(())


def verify_seconds(answer: Callable[..., Any]) -> None:
    """Test the answer on a fake jitted function with a slow first call and delayed results.

    Three of the later calls are slowed down, as on a busy machine. In each result, the middle part
    is the last to become ready.
    """
    started: list[float] = []
    ended: list[float] = []
    waited: list[int] = []

    def pretended(scale: float) -> dict[str, _Pending]:
        number = len(started)
        started.append(time.perf_counter())
        time.sleep(_DISTURBED.get(number, 0.0) if number else _COMPILING)
        ended.append(time.perf_counter() + _COMPUTING)

        def wait() -> None:
            ended[number] = max(ended[number], time.perf_counter())
            waited.append(number)

        waits = {"loss": _COMPUTING / 4, "state": _COMPUTING, "step": _COMPUTING / 4}
        return {name: _Pending(wait_for, wait) for name, wait_for in waits.items()}

    told = call(answer, pretended, 2.0)
    if isinstance(told, bool) or np.ndim(told) != 0 or np.asarray(told).dtype.kind != "f":
        raise AnswerRejected(
            f"your function must return a number of seconds, got a {type(told).__name__}"
        )
    told = float(told)
    if len(started) < 2:
        raise AnswerRejected(
            "your function calls the given function only once, but the first call includes "
            "compilation; time later calls"
            if started
            else "your function never calls the given function"
        )
    if not waited:
        raise AnswerRejected(
            "your function never waits for a result, so it measures only how fast calls return"
        )
    if not told >= 0.9 * _COMPUTING:
        raise AnswerRejected(
            f"your function returns {1e3 * told:.1f} ms, but a call takes "
            f"{1e3 * _COMPUTING:.0f} ms; after each call, wait for the whole result before you "
            "read the clock again"
        )
    if len(started) != 6:
        raise AnswerRejected(
            f"your function must call the given function 6 times, got {len(started)}; call it "
            "once to compile it, and five times to time it"
        )
    _must_be_shortest(told, [end - start for start, end in zip(started, ended, strict=True)])


def _must_be_shortest(told: float, took: list[float]) -> None:
    """Reject a result that is not the shortest time, and name the statistic that it resembles."""
    shortest = min(took[1:])
    if told <= 1.5 * shortest + 0.005:
        return
    instead = {
        "the time of the first call": took[0],
        "the average that includes the first call": statistics.mean(took),
        "the average": statistics.mean(took[1:]),
        "the median": statistics.median(took[1:]),
        "the longest": max(took[1:]),
        "the last": took[-1],
    }
    if told > 1.5 * max(took):
        raise AnswerRejected(
            f"your function returns {told:.3g} s, more than any of the calls took; return the "
            "time in seconds, the unit of time.perf_counter"
        )
    name = min(instead, key=lambda name: abs(told - instead[name]))
    what = f"your function returns {1e3 * told:.0f} ms"
    if abs(told - instead[name]) < 0.1 * told:
        what += f", which is {name}" + (" of the five times" if "first" not in name else "")
    why = "disturbances can only slow a call down, so return the shortest of the five times"
    if "first" in name:
        why = (
            "the first call includes compilation, so leave it out and return the shortest of the "
            "other times"
        )
    raise AnswerRejected(f"{what}, but an undisturbed call takes {1e3 * shortest:.0f} ms; {why}")


def begin(params: Any) -> dict[str, Any]:
    """Return a state with copies of params, so that donating the state does not delete params."""
    raise NotImplementedError


def solve_begin(params: Any) -> dict[str, Any]:
    """Copy twice, so that neither entry shares arrays with the other or the caller."""
    return {
        "params": jax.tree.map(jnp.copy, params),
        "average": jax.tree.map(jnp.copy, params),
    }


def verify_begin(answer: Callable[..., Any]) -> None:
    """Donate the two parts of the state in turn, and check which arrays JAX deletes."""
    params = {"w": jnp.arange(3.0), "layers": [jnp.ones((2, 2))]}
    kept = jax.tree.map(np.array, params)
    state = call(answer, params)
    if not isinstance(state, dict) or set(state) != {"params", "average"}:
        raise AnswerRejected(
            'your function must return a dictionary with the keys "params" and "average"'
        )
    shape: Any = jax.tree.structure(params)
    for name, part in state.items():
        if jax.tree.structure(part) != shape:
            raise AnswerRejected(f'state["{name}"] must have the same tree structure as params')
        leaves = jax.tree.leaves(part)
        if not all(isinstance(leaf, jax.Array) for leaf in leaves):
            raise AnswerRejected(
                f'state["{name}"] must contain JAX arrays, because only those are donated'
            )
        if not all(map(np.array_equal, leaves, jax.tree.leaves(kept))):
            raise AnswerRejected(f'state["{name}"] must have the same values as params')
    # Donate one part at a time, because XLA prints its own error if a call donates a buffer twice.
    for name, other in (("params", "average"), ("average", "params")):
        jax.block_until_ready(_step(state[name]))
        if name == "params" and _deleted(state[other]):
            raise AnswerRejected(
                'state["params"] and state["average"] share their arrays, so the first step with a '
                'donated state raises "Attempt to donate the same buffer twice"'
            )
        if _deleted(params):
            raise AnswerRejected(
                "after the first step with a donated state, the caller's params are "
                f'deleted, because state["{name}"] holds the same arrays instead of copies'
            )


_step = jax.jit(lambda part: jax.tree.map(lambda leaf: leaf + 1, part), donate_argnums=0)


def _deleted(tree: Any) -> bool:
    return any(leaf.is_deleted() for leaf in jax.tree.leaves(tree))


EXERCISES = (
    Exercise(
        id="async-dispatch/1",
        title="a time worth quoting",
        stub=seconds,
        hints=(
            "Call the function once before you read the clock, and wait for its result.",
            "Then repeat these steps five times: read the clock, call the function, wait for the "
            "whole result, and read the clock again.",
            "jax.block_until_ready(function(x)) waits for a whole pytree. Return min(times), "
            "because other programs can only make a call slower.",
        ),
        verify=verify_seconds,
        solution=solve_seconds,
    ),
    Exercise(
        id="async-dispatch/2",
        title="a state that may be donated",
        stub=begin,
        hints=(
            "Donation deletes every array in the state. Which of these arrays does the caller "
            "still use?",
            "jnp.copy always makes a new array, whereas jnp.asarray and x[:] may return x itself.",
            "jax.tree.map(jnp.copy, params) copies a whole pytree, and you need two copies.",
        ),
        verify=verify_begin,
        solution=solve_begin,
    ),
)
