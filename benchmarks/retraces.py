"""Measure the times of 30 calls to a jitted function, and find which of them compile."""

from __future__ import annotations

import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp

from book_tools.benchmarking.timing import quartiles, round_significant

TITLE = "30 calls of a jitted gradient while the length of its argument changes"
LENGTHS = [1000] * 8 + [1001] * 7 + [1000] * 5 + [1002] * 10
REPEATS = 15
COMPILED = "/jax/core/compile/backend_compile_duration"


def _once(compiled: list[str]) -> tuple[list[float], list[int], list[int]]:
    """Return the time of each call and which calls traced and compiled."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    traces = 0

    @jax.jit
    @jax.grad
    def gradient(x: jax.Array) -> jax.Array:
        nonlocal traces
        traces += 1  # This line runs only while JAX traces.
        return jnp.mean((x + 2) ** 2 + 3)

    arguments = {n: jnp.zeros(n).block_until_ready() for n in set(LENGTHS)}
    times, traced, built = [], [], []
    for call, length in enumerate(LENGTHS, 1):
        before = traces, len(compiled)
        started = time.perf_counter()
        gradient(arguments[length]).block_until_ready()
        times.append(1000 * (time.perf_counter() - started))
        traced += [call] * (traces > before[0])
        built += [call] * (len(compiled) > before[1])
    return times, traced, built


def run() -> dict[str, Any]:
    """Repeat the 30 calls with empty caches, and take the median time of each call."""
    compiled: list[str] = []

    def note(event: str, duration_secs: float, **_: str | int) -> None:
        if event == COMPILED:
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    _once(compiled)  # Exclude JAX's own startup.
    runs = [_once(compiled) for _ in range(REPEATS)]
    traced, built = runs[0][1:]
    first = {"first call at a length": traced, "every other call": set(range(1, 31)) - set(traced)}
    return {
        "results": {
            name: quartiles([times[call - 1] for times, *_ in runs for call in calls], "ms")
            for name, calls in first.items()
        },
        "series": {
            "call": list(range(1, len(LENGTHS) + 1)),
            "length": LENGTHS,
            "ms": [
                round_significant(statistics.median(t[i] for t, *_ in runs))
                for i in range(len(LENGTHS))
            ],
            "traced": traced,
            "compiled": built,
        },
        "checks": {
            "every repetition traced at the same calls": all(r[1] == traced for r in runs),
            "every repetition compiled at the same calls": all(r[2] == built for r in runs),
            "it compiled where it traced": traced == built,
        },
    }
