"""The exercises of chapter 12, asynchronous dispatch."""

from __future__ import annotations

import time
import unittest.mock
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call, returns, returns_under_jit


def seconds(function: Callable[..., Any], x: Any) -> float:
    """Return the shortest of five warm calls of the function, each waited for."""
    raise NotImplementedError


def solve_seconds(function: Callable[..., Any], x: Any) -> float:
    """One call compiles; each of the five is waited for before the clock is read again."""
    from time import perf_counter

    jax.block_until_ready(function(x))
    times = []
    for _ in range(5):
        start = perf_counter()
        jax.block_until_ready(function(x))
        times.append(perf_counter() - start)
    return min(times)


_COMPILING, _COMPUTING, _DISTURBED = 0.5, 0.04, 0.2


class _Pending:
    """A result that is there a while after the call, and says whether it was waited for."""

    def __init__(self, wait: float, seen: list[str]) -> None:
        self.ready, self.seen = time.perf_counter() + wait, seen

    def block_until_ready(self) -> _Pending:
        time.sleep(max(0.0, self.ready - time.perf_counter()))
        self.seen.append("waited")
        return self

    def __array__(self, *_: Any, **__: Any) -> np.ndarray[Any, Any]:
        self.block_until_ready()
        return np.zeros(())


def verify_seconds(answer: Callable[..., Any]) -> None:
    """Hand over a function that acts as a jitted one does: slow once, and back before it is done.

    Three of the later calls are disturbed, as on a busy machine; a part of the result, the middle
    one, is there later than the others.
    """
    seen: list[str] = []

    def pretended(scale: float) -> dict[str, _Pending]:
        calls = seen.count("called")
        seen.append("called")
        if not calls:
            time.sleep(_COMPILING)
        if calls in (1, 3, 5):
            time.sleep(_DISTURBED)
        waits = {"loss": _COMPUTING / 4, "state": _COMPUTING, "step": _COMPUTING / 4}
        return {name: _Pending(wait, seen) for name, wait in waits.items()}

    told = call(answer, pretended, 2.0)
    if not isinstance(told, (int, float, np.floating)):
        raise NotYet(f"it should return a number, was {type(told).__name__}")
    calls = seen.count("called")
    if calls < 2:
        raise NotYet(
            "the function was called once: that call compiles"
            if calls
            else "the function was not called"
        )
    if "waited" not in seen:
        raise NotYet("nobody waited for the results: the clock only saw the calls return")
    if told < 0.9 * _COMPUTING:
        raise NotYet(
            f"a call takes {1e3 * _COMPUTING:.0f} ms, and it says {1e3 * told:.1f}: "
            "wait for the whole result, in each of the calls, before the clock is read again"
        )
    if calls != 6:
        raise NotYet(
            f"the function was called {calls} times, should be 6: one to compile, and five"
        )
    if told >= 3 * _COMPUTING:
        raise NotYet(
            f"it says {1e3 * told:.0f} ms, and a call takes {1e3 * _COMPUTING:.0f}. The first call "
            "compiles, and others are disturbed: leave the first out, and take the shortest"
        )


def begin(params: Any) -> dict[str, Any]:
    """Return a state of params and their average that may be donated; params stay the caller's."""
    raise NotImplementedError


def solve_begin(params: Any) -> dict[str, Any]:
    """Three names need three arrays: the caller's, the state's, and the average's."""
    return {
        "params": jax.tree.map(jnp.copy, params),
        "average": jax.tree.map(jnp.copy, params),
    }


def verify_begin(answer: Callable[..., Any]) -> None:
    """Donate the state to a step, and look at what the caller still has."""
    params = {"w": jnp.arange(3.0), "layers": [jnp.ones((2, 2))]}
    kept = jax.tree.map(np.array, params)
    state = call(answer, params)
    if not isinstance(state, dict) or set(state) != {"params", "average"}:
        raise NotYet('it should return a dictionary with the keys "params" and "average"')
    shape: Any = jax.tree.structure(params)
    for name, part in state.items():
        if jax.tree.structure(part) != shape:
            raise NotYet(f'state["{name}"] should be a tree like params: {shape}')
        leaves = jax.tree.leaves(part)
        if not all(isinstance(leaf, jax.Array) for leaf in leaves):
            raise NotYet(f'state["{name}"] should hold JAX arrays: others are not donated')
        if not all(map(np.array_equal, leaves, jax.tree.leaves(kept))):
            raise NotYet(f'state["{name}"] should begin with the values of params')
    step = jax.jit(lambda s: jax.tree.map(lambda leaf: leaf + 1, s), donate_argnums=0)
    try:
        jax.block_until_ready(step(state))
    except Exception as error:
        if "same buffer twice" not in str(error):
            raise NotYet(f"donating the state raises {type(error).__name__}: {error}") from error
        raise NotYet(
            'the first step raises "donate the same buffer twice": params and average are one array'
        ) from error
    if any(leaf.is_deleted() for leaf in jax.tree.leaves(params)):
        raise NotYet("after the first step the caller's params are deleted: the state holds them")


def curve(x: jax.Array, places: jax.Array, values: jax.Array) -> jax.Array:
    """Return what np.interp gives, as float32 in the shape of x; under jit and vmap, too."""
    raise NotImplementedError


def solve_curve(x: jax.Array, places: jax.Array, values: jax.Array) -> jax.Array:
    """JAX is told shape, type and how to take a batch; inside of the callback all is NumPy."""
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)

    def read(*given: Any) -> Any:
        x, places, values = map(np.asarray, given)
        return np.interp(x, places, values).astype(np.float32)

    result: jax.Array = jax.pure_callback(read, shape, x, places, values, vmap_method="sequential")
    return result


def verify_curve(answer: Callable[..., Any]) -> None:
    """Ask for values, for another shape, for what runs under jit, and under vmap."""
    places, values = jnp.array([0.0, 1.0, 3.0]), jnp.array([0.0, 10.0, 30.0])
    x = jnp.array([0.5, 2.0, 4.0])
    expected = np.array([5.0, 20.0, 30.0], np.float32)
    returns(answer, x, places, values, expected=expected)
    returns_under_jit(answer, x, places, values, expected=expected)
    returns_under_jit(answer, jnp.float32(2.0), places, values, expected=np.float32(20.0))
    program = str(call(jax.make_jaxpr(answer), x, places, values, how="while tracing, "))
    if "callback" not in program:
        raise NotYet("it gives the right numbers without calling NumPy: use jax.pure_callback")
    with unittest.mock.patch.object(jnp, "interp", wraps=jnp.interp) as of_jax:
        jax.block_until_ready(call(answer, x, places, values))
    if of_jax.called:
        raise NotYet(
            "the callback calls jnp.interp, and may then wait for ever: inside of it, NumPy only"
        )
    batch = jnp.array([[0.5, 2.0], [1.0, 0.0]])
    each = np.array([[5.0, 20.0], [10.0, 0.0]], np.float32)

    def over_rows(batch: jax.Array) -> Any:
        return jax.vmap(lambda row: answer(row, places, values))(batch)

    seen = call(over_rows, batch, how="under vmap, ")
    if np.shape(seen) != (2, 2) or not np.allclose(np.asarray(seen), each):
        raise NotYet(
            f"under vmap it returns {np.asarray(seen).tolist()}, should be {each.tolist()}"
        )
    if seen.dtype != jnp.float32:
        raise NotYet(f"under vmap it returns {seen.dtype}, should be float32")


EXERCISES = (
    Exercise(
        id="async-dispatch/1",
        title="a time worth quoting",
        stub=seconds,
        hints=(
            "Call the function once before any clock starts, and wait for what it returns.",
            "Then five times: read the clock, call, wait for the whole result, read the clock.",
            "jax.block_until_ready(function(x)) waits for a tree; min(times) is the shortest.",
        ),
        verify=verify_seconds,
        solution=solve_seconds,
    ),
    Exercise(
        id="async-dispatch/2",
        title="a state that may be donated",
        stub=begin,
        hints=(
            "Donation deletes every array of the state. Which of them has another name as well?",
            "jnp.copy makes a new array; jnp.asarray and x[:] may be the old one.",
            "jax.tree.map(jnp.copy, params) copies a whole tree; you need it twice.",
        ),
        verify=verify_begin,
        solution=solve_begin,
    ),
    Exercise(
        id="async-dispatch/3",
        title="NumPy inside of a compiled program",
        stub=curve,
        hints=(
            "jax.pure_callback(f, what_comes_back, *args) calls f when the program runs.",
            "What comes back is jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32); np.interp itself "
            "gives float64.",
            'For vmap it wants vmap_method="sequential": one call for each element of the batch.',
        ),
        verify=verify_curve,
        solution=solve_curve,
    ),
)
