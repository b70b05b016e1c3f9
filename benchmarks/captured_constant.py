"""Measure the compile time of a function that captures an array or takes it as an argument."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from book_tools.benchmarking.timing import quartiles, ratio_quartiles, round_significant

TITLE = "compiling a function of a table of n floats: captured, or passed as an argument"
SIDES = [10, 20, 40, 80, 160]
REPEATS = 5
Body = Callable[[jax.Array, jax.Array], jax.Array]


def _project(table: jax.Array, x: jax.Array) -> jax.Array:
    """Multiply the table by the argument, so that XLA cannot fold the table as a constant."""
    return (table @ x).sum()


def _rank(table: jax.Array, x: jax.Array) -> jax.Array:
    """Sort the table first. If the table is captured, the compiler sorts it as a constant."""
    return (jnp.sort(table, axis=1) @ x).sum()


def _table_of(side: int) -> jax.Array:
    """Return a float32 table whose elements all differ."""
    numbers = np.random.default_rng(side).normal(size=(side, side))
    return jnp.asarray(numbers, jnp.float32)


def _once(body: Body, side: int, captured: bool) -> tuple[float, int]:
    """Return the time for tracing and compiling, in ms, and the length of the program's text."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    table, x = _table_of(side), jnp.ones(side)
    started = time.perf_counter()
    if captured:
        lowered = jax.jit(lambda x: body(table, x)).lower(x)
    else:
        lowered = jax.jit(lambda table, x: body(table, x)).lower(table, x)
    lowered.compile()
    return 1000 * (time.perf_counter() - started), len(lowered.as_text())


def run() -> dict[str, Any]:
    """Compile all four functions for each size, alternately and with empty caches."""
    kinds: dict[str, tuple[Body, bool]] = {
        "captured and sorted": (_rank, True),
        "captured": (_project, True),
        "argument, sorted": (_rank, False),
        "argument": (_project, False),
    }
    seen: dict[str, dict[int, list[tuple[float, int]]]] = {
        kind: {side: [] for side in SIDES} for kind in kinds
    }
    _once(_rank, 10, True)
    _once(_rank, 10, False)
    for _ in range(REPEATS):
        for side in SIDES:
            for kind, (body, captured) in kinds.items():
                seen[kind][side].append(_once(body, side, captured))
    series: dict[str, Any] = {"floats": [side * side for side in SIDES]}
    for kind in kinds:
        medians = [statistics.median(ms for ms, _ in seen[kind][side]) for side in SIDES]
        series[f"{kind}, ms"] = [round_significant(ms) for ms in medians]
        series[f"{kind}, letters"] = [seen[kind][side][0][1] for side in SIDES]
    largest = SIDES[-1]
    times = {kind: [ms for ms, _ in seen[kind][largest]] for kind in kinds}
    return {
        "results": {kind: quartiles(times[kind], "ms") for kind in kinds},
        "ratios": {
            "captured and sorted, to argument": ratio_quartiles(
                times["captured and sorted"], times["argument, sorted"]
            ),
            "captured, to argument": ratio_quartiles(times["captured"], times["argument"]),
        },
        "series": series,
    }
