"""Compare the compile and run times of an unrolled Python loop and of `fori_loop`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from book_tools.benchmarking.timing import quartiles, round_significant

TITLE = "tracing and compiling a loop of n steps, unrolled and as fori_loop"
LENGTHS = [10, 30, 100, 300, 1000]
REPEATS = 7
CALLS = 100


def _step(i: int | jax.Array, x: jax.Array) -> jax.Array:
    """Return the value after one iteration of either loop."""
    return jnp.sin(x) + i


def _unrolled(n: int) -> Callable[[jax.Array], jax.Array]:
    """Return a Python loop, whose body JAX traces n times."""

    def function(x: jax.Array) -> jax.Array:
        for i in range(n):
            x = _step(i, x)
        return x

    return function


def _rolled(n: int) -> Callable[[jax.Array], jax.Array]:
    """Return a `fori_loop`, whose body JAX traces once."""
    return lambda x: lax.fori_loop(0, n, _step, x)


def _equations(jaxpr: Any) -> int:
    """Return the number of equations in a jaxpr, including those in its loops."""
    inner = [
        value for eqn in jaxpr.eqns for value in eqn.params.values() if hasattr(value, "jaxpr")
    ]
    return len(jaxpr.eqns) + sum(_equations(value.jaxpr) for value in inner)


def _once(
    function: Callable[[jax.Array], jax.Array], x: jax.Array
) -> tuple[float, float, int, float]:
    """Return the tracing and compile times in ms, the number of equations, and the µs per call."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    started = time.perf_counter()
    traced = jax.jit(function).trace(x)
    between = time.perf_counter()
    compiled = traced.lower().compile()
    ended = time.perf_counter()
    compiled(x).block_until_ready()
    called = time.perf_counter()
    for _ in range(CALLS):
        compiled(x).block_until_ready()
    call = 1e6 * (time.perf_counter() - called) / CALLS
    count = _equations(traced.jaxpr.jaxpr)
    return 1000 * (between - started), 1000 * (ended - between), count, call


def run() -> dict[str, Any]:
    """Build both loops for each length, alternately and with empty caches."""
    x = jnp.ones(8)
    kinds = {"unrolled": _unrolled, "fori_loop": _rolled}
    seen: dict[str, dict[int, list[tuple[float, float, int, float]]]] = {
        kind: {n: [] for n in LENGTHS} for kind in kinds
    }
    _once(_unrolled(10), x)
    _once(_rolled(10), x)
    for _ in range(REPEATS):
        for n in LENGTHS:
            for kind, make in kinds.items():
                seen[kind][n].append(_once(make(n), x))
    series: dict[str, Any] = {"n": LENGTHS}
    results = {}
    for kind in kinds:
        for column, what in enumerate(("trace", "compile")):
            medians = [statistics.median(s[column] for s in seen[kind][n]) for n in LENGTHS]
            series[f"{kind}, {what} ms"] = [round_significant(m) for m in medians]
        series[f"{kind}, operations"] = [seen[kind][n][0][2] for n in LENGTHS]
        calls = [statistics.median(s[3] for s in seen[kind][n]) for n in LENGTHS]
        series[f"{kind}, run µs"] = [round_significant(c) for c in calls]
        for n in (LENGTHS[0], LENGTHS[-1]):
            results[f"{kind}, n = {n}"] = quartiles([sum(s[:2]) for s in seen[kind][n]], "ms")
    return {"results": results, "series": series}
