"""The exercises of chapter 12, asynchronous dispatch."""

from __future__ import annotations

import statistics
import time
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
from jaxbits.book.exercises.registry import Exercise


def seconds(function: Callable[..., Any], x: Any) -> float:
    """Return the shortest time of five calls that come after the first, each waited for."""
    raise NotImplementedError


def solve_seconds(function: Callable[..., Any], x: Any) -> float:
    """Compile with one call, then time five, waiting for each before reading the clock again."""
    from time import perf_counter

    jax.block_until_ready(function(x))
    times = []
    for _ in range(5):
        start = perf_counter()
        jax.block_until_ready(function(x))
        times.append(perf_counter() - start)
    return min(times)


_COMPILING, _COMPUTING = 0.5, 0.04
# Calls that take longer than the others; the five have a different average, median, and maximum.
_DISTURBED = {1: 0.06, 3: 0.2, 5: 0.12}


class _Pending:
    """A part of a result that is ready some time after the call."""

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
    """Pass a function that acts like a jitted one: slow at first, and back before it is done.

    Three of the later calls are disturbed, as on a busy machine. The middle part of the result is
    ready later than the others.
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
        raise AnswerRejected(f"it returns a {type(told).__name__} instead of a number of seconds")
    told = float(told)
    if len(started) < 2:
        raise AnswerRejected(
            "the function was called once, and the first call compiles"
            if started
            else "the function was not called"
        )
    if not waited:
        raise AnswerRejected(
            "it never waits for a result, so the clock sees only how fast calls return"
        )
    if not told >= 0.9 * _COMPUTING:
        raise AnswerRejected(
            f"it returns {1e3 * told:.1f} ms, but a call takes {1e3 * _COMPUTING:.0f} ms: in each "
            "of the calls, wait for the whole result before you read the clock again"
        )
    if len(started) != 6:
        raise AnswerRejected(
            f"the function was called {len(started)} times instead of 6: once to compile, and "
            "five times with the clock running"
        )
    _must_be_shortest(told, [end - start for start, end in zip(started, ended, strict=True)])


def _must_be_shortest(told: float, took: list[float]) -> None:
    """Compare with what six calls took, and name the statistic that was returned instead."""
    shortest = min(took[1:])
    if told <= 1.5 * shortest + 0.005:
        return
    instead = {
        "the time of the first call": took[0],
        "the average with the first call": statistics.mean(took),
        "the average": statistics.mean(took[1:]),
        "the median": statistics.median(took[1:]),
        "the longest": max(took[1:]),
        "the last": took[-1],
    }
    if told > 1.5 * max(took):
        raise AnswerRejected(
            f"it returns {told:.3g} s, more than any of the calls took: return seconds, as "
            "time.perf_counter counts them"
        )
    name = min(instead, key=lambda name: abs(told - instead[name]))
    what = f"it returns {1e3 * told:.0f} ms"
    if abs(told - instead[name]) < 0.1 * told:
        what += f", which is {name}" + (" of the five times" if "first" not in name else "")
    why = "disturbances only make a call slower, so return the shortest of the five times"
    if "first" in name:
        why = "the first call compiles, so leave it out, and return the shortest of the other times"
    raise AnswerRejected(f"{what}, but an undisturbed call takes {1e3 * shortest:.0f} ms: {why}")


def begin(params: Any) -> dict[str, Any]:
    """Return a state of params and their average that may be donated; the caller keeps params."""
    raise NotImplementedError


def solve_begin(params: Any) -> dict[str, Any]:
    """Copy twice: the caller's arrays, the state's, and the average must all be different ones."""
    return {
        "params": jax.tree.map(jnp.copy, params),
        "average": jax.tree.map(jnp.copy, params),
    }


def verify_begin(answer: Callable[..., Any]) -> None:
    """Donate both parts of the state, one after the other, and look at what is deleted."""
    params = {"w": jnp.arange(3.0), "layers": [jnp.ones((2, 2))]}
    kept = jax.tree.map(np.array, params)
    state = call(answer, params)
    if not isinstance(state, dict) or set(state) != {"params", "average"}:
        raise AnswerRejected('it should return a dictionary with the keys "params" and "average"')
    shape: Any = jax.tree.structure(params)
    for name, part in state.items():
        if jax.tree.structure(part) != shape:
            raise AnswerRejected(f'state["{name}"] should be a tree like params')
        leaves = jax.tree.leaves(part)
        if not all(isinstance(leaf, jax.Array) for leaf in leaves):
            raise AnswerRejected(
                f'state["{name}"] should hold JAX arrays, because only those are donated'
            )
        if not all(map(np.array_equal, leaves, jax.tree.leaves(kept))):
            raise AnswerRejected(f'state["{name}"] should start with the values of params')
    # One part at a time: to donate a buffer twice in one call makes XLA print an error of its own.
    for name, other in (("params", "average"), ("average", "params")):
        jax.block_until_ready(_step(state[name]))
        if name == "params" and _deleted(state[other]):
            raise AnswerRejected(
                'state["params"] and state["average"] share their arrays, so the first step with a '
                'donated state raises "Attempt to donate the same buffer twice"'
            )
        if _deleted(params):
            raise AnswerRejected(
                "after the first step with a donated state, the caller's params are deleted: "
                f'state["{name}"] holds the same arrays, not copies'
            )


_step = jax.jit(lambda part: jax.tree.map(lambda leaf: leaf + 1, part), donate_argnums=0)


def _deleted(tree: Any) -> bool:
    return any(leaf.is_deleted() for leaf in jax.tree.leaves(tree))


def curve(x: jax.Array, places: jax.Array, values: jax.Array) -> jax.Array:
    """Return np.interp(x, places, values) as float32 in the shape of x, also under jit and vmap."""
    raise NotImplementedError


def solve_curve(x: jax.Array, places: jax.Array, values: jax.Array) -> Any:
    """Declare shape, dtype, and how to batch; inside the callback, convert to NumPy first."""
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)

    def read(*given: Any) -> Any:
        x, places, values = map(np.asarray, given)
        return np.interp(x, places, values).astype(np.float32)

    return jax.pure_callback(read, shape, x, places, values, vmap_method="sequential")


def verify_curve(answer: Callable[..., Any]) -> None:
    """Check values, shapes, jit, and vmap, and that only NumPy runs inside the callback."""
    places, values = jnp.array([0.0, 1.0, 3.0]), jnp.array([0.0, 10.0, 30.0])
    x = jnp.array([0.5, 2.0, 4.0])
    expected = np.array([5.0, 20.0, 30.0], np.float32)
    assert_returns(answer, x, places, values, expected=expected)
    assert_returns_under_jit(answer, x, places, values, expected=expected)
    assert_returns_under_jit(answer, jnp.float32(2.0), places, values, expected=np.float32(20.0))
    program = str(call(jax.make_jaxpr(answer), x, places, values, how="while tracing, "))
    if "callback" not in program:
        raise AnswerRejected(
            "it returns the right numbers without calling NumPy: use jax.pure_callback"
        )
    with _watching() as seen:
        jax.block_until_ready(call(answer, x, places, values))
    if "jnp.interp" in seen:
        raise AnswerRejected(
            "the callback calls jnp.interp, and a callback that calls JAX may wait forever: "
            "inside it, use NumPy only"
        )
    if "an argument" in seen:
        raise AnswerRejected(
            "inside the callback, np.interp receives a JAX array. Convert every argument with "
            "np.asarray first, because a callback that computes with JAX arrays may wait forever"
        )
    if "a result" in seen:
        raise AnswerRejected(
            "the callback returns a JAX array, and a callback that calls JAX may wait forever: "
            "inside it, use NumPy only"
        )
    rows = jnp.array([[0.5, 2.0], [1.0, 0.0]])
    each = np.array([[5.0, 20.0], [10.0, 0.0]], np.float32)
    mapped = jax.vmap(lambda *given: answer(*given), in_axes=(0, None, None))
    found = call(
        answer, rows, places, values, how="under vmap over the rows of x, ", through=mapped
    )
    if np.shape(found) != (2, 2) or not np.allclose(np.asarray(found), each):
        raise AnswerRejected(
            f"under vmap over the rows of {rows.tolist()}, it returns {np.asarray(found).tolist()} "
            f"instead of {each.tolist()}"
        )
    if found.dtype != jnp.float32:
        raise AnswerRejected(f"under vmap it returns {found.dtype} instead of float32")


@contextmanager
def _watching() -> Iterator[set[str]]:
    """Yield a set that collects where a callback meets JAX: a call, an argument, or a result."""
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
        id="async-dispatch/1",
        title="a time worth quoting",
        stub=seconds,
        hints=(
            "Call the function once before you start any clock, and wait for its result.",
            "Then do this five times: read the clock, call, wait for the whole result, and read "
            "the clock again.",
            "jax.block_until_ready(function(x)) waits for a whole tree. Return min(times), because "
            "other programs can only make a call slower.",
        ),
        verify=verify_seconds,
        solution=solve_seconds,
    ),
    Exercise(
        id="async-dispatch/2",
        title="a state that may be donated",
        stub=begin,
        hints=(
            "Donation deletes every array of the state. Which of these arrays does somebody else "
            "still hold?",
            "jnp.copy makes a new array. jnp.asarray and x[:] may return the old one.",
            "jax.tree.map(jnp.copy, params) copies a whole tree, and you need two copies.",
        ),
        verify=verify_begin,
        solution=solve_begin,
    ),
    Exercise(
        id="async-dispatch/3",
        title="NumPy inside a compiled program",
        stub=curve,
        hints=(
            "jax.pure_callback(f, result, *args) calls f(*args) when the program runs. Inside f, "
            "convert every argument with np.asarray before you use it.",
            "The result is described by jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32), and "
            "np.interp itself returns float64.",
            'For vmap, pass vmap_method="sequential": one call for each element of the batch.',
        ),
        verify=verify_curve,
        solution=solve_curve,
    ),
)
