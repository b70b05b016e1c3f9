"""Measure the cost of calling a jitted function that is reused or created on each call."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from book_tools.benchmarking.timing import quartiles

TITLE = "a call of a jitted step: kept, or made on each call"
CALLS, REPEATS = 20, 7
COMPILED = "/jax/core/compile/backend_compile_duration"

Call = Callable[[jax.Array], jax.Array]


def _step(x: jax.Array, rate: float) -> jax.Array:
    """Perform a few operations, like the inner step of a longer program."""
    return x - rate * jnp.tanh(x) * jnp.exp(-jnp.square(x))


class Model:
    """An object with a method that is jitted on each use."""

    rate = 0.1

    def step(self, x: jax.Array) -> jax.Array:
        """Perform the same step with the object's rate."""
        return _step(x, self.rate)


KEPT = jax.jit(functools.partial(_step, rate=0.1))
MODEL = Model()
WAYS: dict[str, Call] = {
    "kept": KEPT,
    "a new partial": lambda x: jax.jit(functools.partial(_step, rate=0.1))(x),
    "a new lambda": lambda x: jax.jit(lambda y: _step(y, 0.1))(x),
    "a method": lambda x: jax.jit(MODEL.step)(x),
}


def _once(call: Call, x: jax.Array) -> float:
    """Return the median milliseconds per call, excluding the first call."""
    call(x).block_until_ready()
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        call(x).block_until_ready()
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


def run() -> dict[str, Any]:
    """Time each way of calling, alternately, and count the compilations."""
    compiled: list[str] = []

    def note(event: str, duration_secs: float, **_: str | int) -> None:
        if event == COMPILED:
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    x = jnp.linspace(-1.0, 1.0, 1000).block_until_ready()
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    programs: dict[str, list[int]] = {name: [] for name in WAYS}
    for _ in range(REPEATS):
        for name, call in WAYS.items():
            before = len(compiled)
            times[name].append(_once(call, x))
            programs[name].append(len(compiled) - before)
    medians = {name: statistics.median(each) for name, each in times.items()}
    return {
        "results": {name: quartiles(each, "ms") for name, each in times.items()},
        "checks": {
            "the kept one compiles nothing when warm": programs["kept"][1:] == [0] * (REPEATS - 1),
            "each other call compiles": all(
                min(programs[name]) == CALLS + 1 for name in WAYS if name != "kept"
            ),
            "the kept one is more than twenty times faster": all(
                medians[name] > 20 * medians["kept"] for name in WAYS if name != "kept"
            ),
        },
    }
