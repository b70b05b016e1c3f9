"""Time updates to one element of a large array, swaps in a loop, and reads of single elements."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from book_tools.benchmarking.timing import (
    quartiles,
    ratio_quartiles,
    round_significant,
    time_interleaved,
)

TITLE = "changing one element by size of the array; 300 updates, swaps and reads"
SIZES = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
STEPS, ROUNDS = 300, 15
KINDS = ("NumPy, in place", "eager .at", "jit", "jit, donated")


def _first_to_one(x: jax.Array) -> jax.Array:
    """Return the array with its first element set to 1."""
    return x.at[0].set(1.0)


def _one_update(size: int) -> dict[str, list[float]]:
    """Time four ways to change one element of an array of the given size."""
    given, held = jnp.zeros(size), np.zeros(size, np.float32)
    state = [jnp.zeros(size)]
    keeping, donating = jax.jit(_first_to_one), jax.jit(_first_to_one, donate_argnums=0)

    def in_numpy() -> None:
        held[0] = 1.0

    def donated() -> None:
        state[0] = donating(state[0])
        state[0].block_until_ready()

    functions: dict[str, Callable[[], object]] = {
        "NumPy, in place": in_numpy,
        "eager .at": lambda: _first_to_one(given).block_until_ready(),
        "jit": lambda: keeping(given).block_until_ready(),
        "jit, donated": donated,
    }
    for function in functions.values():
        for _ in range(3):
            function()
    few = 3 if size > 100_000 else 50
    calls = {"NumPy, in place": 2000, "eager .at": few, "jit": few, "jit, donated": 50}
    return time_interleaved(functions, ROUNDS, calls)


def _swapped(one_write: bool) -> Callable[[jax.Array], jax.Array]:
    """Return a jitted loop of 300 swaps, each with either one or two writes."""

    def body(i: jax.Array, x: jax.Array) -> jax.Array:
        j = x.size - 1 - i
        if one_write:
            return x.at[jnp.array([i, j])].set(x[jnp.array([j, i])])
        return x.at[i].set(x[j]).at[j].set(x[i])

    return jax.jit(lambda x: lax.fori_loop(0, STEPS, body, x), donate_argnums=0)


def _many(size: int = 100_000) -> dict[str, list[float]]:
    """Time a slow and a fast way to do 300 updates, 300 swaps, and 300 reads."""
    start, numbers = jnp.zeros(size), np.zeros(STEPS, np.float32)
    few = jnp.zeros(STEPS)
    states = {way: [jnp.zeros(size)] for way in (False, True)}
    programs = {way: _swapped(way) for way in (False, True)}
    loop = jax.jit(
        lambda x: lax.fori_loop(0, STEPS, lambda i, x: x.at[i].set(i.astype(x.dtype)), x)
    )

    def eagerly() -> None:
        x = start
        for i in range(STEPS):
            x = x.at[i].set(i)
        x.block_until_ready()

    def swap(way: bool) -> Callable[[], object]:
        def function() -> None:
            states[way][0] = programs[way](states[way][0])
            states[way][0].block_until_ready()

        return function

    functions: dict[str, Callable[[], object]] = {
        "updates, eager": eagerly,
        "updates, fori_loop": lambda: loop(start).block_until_ready(),
        "swaps, two writes": swap(False),
        "swaps, one write": swap(True),
        "reads, JAX": lambda: [float(few[i]) for i in range(STEPS)],
        "reads, NumPy": lambda: [float(numbers[i]) for i in range(STEPS)],
    }
    for function in functions.values():
        for _ in range(2):
            function()
    return time_interleaved(functions, ROUNDS, dict.fromkeys(functions, 1) | {"reads, NumPy": 20})


def run() -> dict[str, Any]:
    """Time each way of changing an element at each size, and the loops at one size."""
    updates = {size: _one_update(size) for size in SIZES}
    loops = _many()
    largest = updates[SIZES[-1]]
    series: dict[str, Any] = {"floats": SIZES}
    for kind in KINDS:
        medians = [statistics.median(updates[size][kind]) for size in SIZES]
        series[f"{kind}, µs"] = [round_significant(1e6 * m) for m in medians]
    results = {f"40 MB, {k}": quartiles([1e6 * s for s in v], "µs") for k, v in largest.items()}
    results |= {f"300 {k}": quartiles([1e6 * s for s in v], "µs") for k, v in loops.items()}
    return {
        "results": results,
        "series": series,
        "ratios": {
            "40 MB, eager against donated": ratio_quartiles(
                largest["eager .at"], largest["jit, donated"]
            ),
            "300 updates, eager against fori_loop": ratio_quartiles(
                loops["updates, eager"], loops["updates, fori_loop"]
            ),
            "300 swaps, two writes against one": ratio_quartiles(
                loops["swaps, two writes"], loops["swaps, one write"]
            ),
            "300 reads, JAX against NumPy": ratio_quartiles(
                loops["reads, JAX"], loops["reads, NumPy"]
            ),
        },
    }
