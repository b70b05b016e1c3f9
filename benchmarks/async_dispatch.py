"""Measure when a JAX call returns and when its result is ready."""

from __future__ import annotations

import queue
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from book_tools.benchmarking.timing import (
    quartiles,
    ratio_quartiles,
    round_significant,
    time_interleaved,
)

TITLE = "returned against done: one step, loops of steps, and small arrays"
SIZE, PRODUCTS, STEPS, ROUNDS = 500, 12, 5, 9
SIZES = [10, 1_000, 100_000, 300_000, 1_000_000]


@jax.jit
def _step(weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Do some work, and return new weights and a number to read."""
    made = jax.lax.fori_loop(0, PRODUCTS, lambda _, w: w @ weights, weights)
    return made, made[0, 0]


def _loop(loading: float, read: bool) -> dict[str, list[float]]:
    """Run a loop of steps, and record the times at which each step reached each stage."""
    waiting: queue.Queue[jax.Array | None] = queue.Queue()
    marks: dict[str, list[float]] = {"loaded": [], "called": [], "returned": [], "read": []}
    done: list[float] = []
    began = time.perf_counter()

    def now() -> float:
        return 1e3 * (time.perf_counter() - began)

    def watch() -> None:
        while (result := waiting.get()) is not None:
            result.block_until_ready()
            done.append(now())

    watcher = threading.Thread(target=watch)
    watcher.start()
    weights = jnp.eye(SIZE)
    weights.block_until_ready()
    began = time.perf_counter()
    for _ in range(STEPS):
        marks["loaded"].append(now())  # Loading begins here and ends when the call begins.
        if loading:
            time.sleep(loading)
        marks["called"].append(now())
        weights, loss = _step(weights)
        marks["returned"].append(now())
        waiting.put(loss)
        if read:
            float(loss)
        marks["read"].append(now())
    waiting.put(None)
    watcher.join()
    return marks | {"done": done}


def _median_run(loading: float, read: bool) -> tuple[dict[str, list[float]], list[float]]:
    """Return the rounded times of the run with the median duration, and all runs' durations."""
    runs = sorted((_loop(loading, read) for _ in range(ROUNDS)), key=lambda run: run["done"][-1])
    middle = runs[len(runs) // 2]
    lengths = [run["done"][-1] for run in runs]
    return {name: [round(t, 3) for t in times] for name, times in middle.items()}, lengths


def _small() -> dict[str, list[float]]:
    """Time x * 2 + 1 for each size in NumPy, in JAX without jit, and in JAX with jit.

    NumPy is timed twice, with new arrays for the results and with an array that it reuses. The
    difference is the time that the operating system takes to provide new memory.
    """

    def double(x: Any) -> Any:
        return x * 2.0 + 1.0

    def double_into(x: Any, out: Any) -> Any:
        return np.add(np.multiply(x, 2.0, out=out), 1.0, out=out)

    jitted = jax.jit(double)
    series: dict[str, list[float]] = {"floats": [float(n) for n in SIZES]}
    for kind in ("NumPy", "NumPy, memory reused", "JAX, eager", "JAX, jitted"):
        series[kind] = []
    for size in SIZES:
        here, there = np.ones(size, np.float32), jnp.ones(size)
        out = np.empty_like(here)
        functions: dict[str, Callable[[], object]] = {
            "NumPy": lambda here=here: double(here),
            "NumPy, memory reused": lambda here=here, out=out: double_into(here, out),
            "JAX, eager": lambda there=there: double(there).block_until_ready(),
            "JAX, jitted": lambda there=there: jitted(there).block_until_ready(),
        }
        for function in functions.values():
            function()
        calls = dict.fromkeys(functions, 200 if size <= 1000 else 20)
        times = time_interleaved(functions, ROUNDS, calls)
        for kind, seconds in times.items():
            series[kind].append(round_significant(1e6 * statistics.median(seconds)))
    return series


def _first_calls() -> tuple[list[float], list[float]]:
    """Return the times, in ms, of first calls and later calls to new, small jitted functions."""
    first, later = [], []
    x = jnp.ones(10)
    for _ in range(ROUNDS):
        fresh = jax.jit(lambda x: jnp.tanh(x * 2.0).sum())
        for times in (first, later):
            start = time.perf_counter()
            fresh(x).block_until_ready()
            times.append(1e3 * (time.perf_counter() - start))
    return first, later


def run() -> dict[str, Any]:
    """Time one step with and without waiting, the loops, small arrays, and first calls."""
    weights = jnp.eye(SIZE)
    _step(weights)[1].block_until_ready()
    returned, waited = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        _, loss = _step(weights)
        returned.append(1e3 * (time.perf_counter() - start))
        loss.block_until_ready()
        waited.append(1e3 * (time.perf_counter() - start))
    queued, _ = _median_run(0.0, read=False)
    loading = statistics.median(waited) / 1e3  # Loading takes as long as a step, on any machine.
    free, free_lengths = _median_run(loading, read=False)
    reading, reading_lengths = _median_run(loading, read=True)
    first, later = _first_calls()
    by_size = _small()
    return {
        "results": {
            "one step, call returned": quartiles(returned, "ms"),
            "one step, result there": quartiles(waited, "ms"),
            "first call": quartiles(first, "ms"),
            "later call": quartiles(later, "ms"),
            "loop, nothing read": quartiles(free_lengths, "ms"),
            "loop, every loss read": quartiles(reading_lengths, "ms"),
        },
        "ratios": {
            "result there against call returned": ratio_quartiles(waited, returned),
            "first call against a later one": ratio_quartiles(first, later),
            "every loss read against none": ratio_quartiles(reading_lengths, free_lengths),
        },
        "series": {
            "queued": queued,
            "nothing read": free,
            "every loss read": reading,
            "small": by_size,
        },
        "checks": {
            "ten floats are faster in NumPy": by_size["NumPy"][0] < by_size["JAX, jitted"][0],
            "new memory takes most of NumPy's time for a million floats": (
                by_size["NumPy"][-1] > 2 * by_size["NumPy, memory reused"][-1]
            ),
        },
    }
