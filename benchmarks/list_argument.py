"""Measure the first call to a jitted function with a list of n numbers or with an array."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from book_tools.benchmarking.timing import quartiles, ratio_quartiles, round_significant

TITLE = "the first call of a jitted sum of n numbers, handed over as a list and as an array"
LENGTHS = [10, 30, 100, 300, 1000, 3000]
REPEATS = 3
KINDS: dict[str, Callable[[int], Any]] = {
    "list": lambda n: [1.0] * n,
    "array": lambda n: np.ones(n, np.float32),
}


def _total(numbers: Any) -> jax.Array:
    """Return the sum of numbers in a list or an array."""
    return jnp.sum(jnp.array(numbers))


def _first_call(numbers: Any) -> tuple[float, int]:
    """Return the duration of a first call, in ms, and the number of inputs to the program."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    started = time.perf_counter()
    jax.jit(_total)(numbers).block_until_ready()
    took = 1000 * (time.perf_counter() - started)
    return took, len(jax.make_jaxpr(_total)(numbers).jaxpr.invars)


def run() -> dict[str, Any]:
    """Time calls with a list and with an array of each length, alternately."""
    for kind in KINDS.values():
        _first_call(kind(10))
    seen: dict[str, dict[int, list[tuple[float, int]]]] = {
        name: {n: [] for n in LENGTHS} for name in KINDS
    }
    for _ in range(REPEATS):
        for n in LENGTHS:
            for name, kind in KINDS.items():
                seen[name][n].append(_first_call(kind(n)))
    series: dict[str, Any] = {"n": LENGTHS}
    results, ratios = {}, {}
    for name in KINDS:
        series[f"{name}, ms"] = [
            round_significant(statistics.median(took for took, _ in seen[name][n])) for n in LENGTHS
        ]
        series[f"{name}, inputs"] = [seen[name][n][0][1] for n in LENGTHS]
        for n in (LENGTHS[0], LENGTHS[-1]):
            results[f"{name}, n = {n}"] = quartiles([took for took, _ in seen[name][n]], "ms")
    for n in (100, LENGTHS[-1]):
        slow, fast = ([took for took, _ in seen[name][n]] for name in ("list", "array"))
        ratios[f"list to array, n = {n}"] = ratio_quartiles(slow, fast)
    return {"results": results, "ratios": ratios, "series": series}
