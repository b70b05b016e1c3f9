"""What an array costs to compile that a function captured, beside the same array as an argument."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from book_tools.benchmarking.timing import ratio, significant, spread

TITLE = "compiling a function of a table of n floats: captured, or passed as an argument"
SIDES = [10, 20, 40, 80, 160]
REPEATS = 5
Body = Callable[[jax.Array, jax.Array], jax.Array]


def project(table: jax.Array, x: jax.Array) -> jax.Array:
    """Use the table together with the argument: nothing can be computed beforehand."""
    return (table @ x).sum()


def rank(table: jax.Array, x: jax.Array) -> jax.Array:
    """Sort the table, too: a captured one is known, and the compiler sorts it itself."""
    return (jnp.sort(table, axis=1) @ x).sum()


def table_of(side: int) -> jax.Array:
    """Return a table that is not the same number everywhere."""
    numbers = np.random.default_rng(side).normal(size=(side, side))
    return jnp.asarray(numbers, jnp.float32)


def once(body: Body, side: int, captured: bool) -> tuple[float, int]:
    """Return the milliseconds of tracing and compiling, and the letters of the program's text."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    table, x = table_of(side), jnp.ones(side)
    started = time.perf_counter()
    if captured:
        lowered = jax.jit(lambda x: body(table, x)).lower(x)
    else:
        lowered = jax.jit(lambda table, x: body(table, x)).lower(table, x)
    lowered.compile()
    return 1000 * (time.perf_counter() - started), len(lowered.as_text())


def run() -> dict[str, Any]:
    """Compile all four at every size, in turns, each time from nothing."""
    kinds: dict[str, tuple[Body, bool]] = {
        "captured and sorted": (rank, True),
        "captured": (project, True),
        "argument, sorted": (rank, False),
        "argument": (project, False),
    }
    seen: dict[str, dict[int, list[tuple[float, int]]]] = {
        kind: {side: [] for side in SIDES} for kind in kinds
    }
    once(rank, 10, True)
    once(rank, 10, False)
    for _ in range(REPEATS):
        for side in SIDES:
            for kind, (body, captured) in kinds.items():
                seen[kind][side].append(once(body, side, captured))
    series: dict[str, Any] = {"floats": [side * side for side in SIDES]}
    for kind in kinds:
        medians = [statistics.median(ms for ms, _ in seen[kind][side]) for side in SIDES]
        series[f"{kind}, ms"] = [significant(ms) for ms in medians]
        series[f"{kind}, letters"] = [seen[kind][side][0][1] for side in SIDES]
    largest = SIDES[-1]
    times = {kind: [ms for ms, _ in seen[kind][largest]] for kind in kinds}
    return {
        "results": {kind: spread(times[kind], "ms") for kind in kinds},
        "ratios": {
            "captured and sorted, to argument": ratio(
                times["captured and sorted"], times["argument, sorted"]
            ),
            "captured, to argument": ratio(times["captured"], times["argument"]),
        },
        "series": series,
    }
