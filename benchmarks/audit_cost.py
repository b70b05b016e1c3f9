"""Measure the cost of an audit relative to a first call, by check, and by program size."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax

from book_tools.benchmarking.timing import quartiles, ratio_quartiles, round_significant
from jaxbits import audit, detect
from jaxbits._analysis.function_under_test import FunctionUnderTest

TITLE = "an audit beside the first call of the same function, and as the program grows"
REPEATS = 5
EQUATIONS = [1000, 2000, 5000, 10000, 20000]
TIMES, LINEAR = 10, 2.0


def _network() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a training step for a three-layer network with `optax.adamw`, and its arguments."""
    optimiser = optax.adamw(1e-3)
    keys = jax.random.split(jax.random.key(0), 3)
    sizes = [(16, 64), (64, 64), (64, 1)]
    shapes = zip(keys, sizes, strict=True)
    params = [(0.1 * jax.random.normal(k, size), jnp.zeros(size[1])) for k, size in shapes]

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        for weight, bias in params[:-1]:
            x = jax.nn.relu(x @ weight + bias)
        weight, bias = params[-1]
        return jnp.mean((x @ weight + bias - y) ** 2)

    def step(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimiser.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    return step, (params, optimiser.init(params), jnp.ones((32, 16)), jnp.ones((32, 1)))


def _recurrent() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a recurrent network with 2000 steps, and its arguments."""

    def run(params: Any, xs: jax.Array) -> Any:
        def cell(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            h = jnp.tanh(params["h"] @ h + params["x"] @ x)
            return h, h

        return lax.scan(cell, jnp.zeros(16), xs)

    return run, ({"h": 0.5 * jnp.eye(16), "x": 0.1 * jnp.ones((16, 4))}, jnp.ones((2000, 4)))


def _lookup() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function that sums 40,000 rows from a table, and its arguments."""
    rows = jax.random.randint(jax.random.key(1), (40_000,), 0, 1000)
    return lambda table, rows: (table[rows] ** 2).sum(), (jnp.ones((1000, 16)), rows)


WORKLOADS = {
    "a training step": _network,
    "an RNN of 2000 steps": _recurrent,
    "40 000 look-ups": _lookup,
}


def _straight(n: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """Return a program of about `n` sequential equations that ends in an indexed array."""

    def run(x: jax.Array, i: jax.Array) -> jax.Array:
        for step in range(n // 3):
            x = jnp.sin(x) * 0.5 + step
        return x[i]

    return run


def _seconds(call: Callable[[], object]) -> float:
    """Return the duration of a call in seconds, with all of JAX's caches empty."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    gc.collect()
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _parts(fn: Callable[..., Any], args: tuple[Any, ...]) -> dict[str, float]:
    """Return the durations, in seconds, of the shared trace and of each check."""
    checks = detect.detectors()
    probes = [probe for check in checks.values() for probe in check.probes]
    target = FunctionUnderTest(fn, args, probes=probes)
    began = time.perf_counter()
    assert target.trace.program is not None
    found = {"the trace": time.perf_counter() - began}
    for name, check in checks.items():
        began = time.perf_counter()
        check.on(target)
        found[name] = time.perf_counter() - began
    return found


def _least(fn: Callable[..., Any], args: tuple[Any, ...]) -> dict[str, float]:
    """Return the minimum time of each part in milliseconds, with JAX's caches warm."""
    _parts(fn, args)
    runs = [_parts(fn, args) for _ in range(REPEATS)]
    return {part: round_significant(1000 * min(run[part] for run in runs), 3) for part in runs[0]}


def run() -> dict[str, Any]:
    """Measure the workloads alternately, then the parts of an audit, and then program sizes."""
    made = {name: make() for name, make in WORKLOADS.items()}
    first: dict[str, list[float]] = {name: [] for name in made}
    whole: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(REPEATS + 1):
        for name, (fn, args) in made.items():
            jitted = jax.jit(lambda *given, fn=fn: fn(*given))
            call = lambda jitted=jitted, args=args: jax.block_until_ready(jitted(*args))  # noqa: E731
            first[name].append(_seconds(call))
            whole[name].append(_seconds(lambda fn=fn, args=args: audit(fn, *args)))
    ratios = {name: ratio_quartiles(whole[name][1:], first[name][1:]) for name in made}
    by_part = {name: _least(fn, args) for name, (fn, args) in made.items()}
    sizes = [_parts(_straight(n), (jnp.ones(8), jnp.int32(3))) for n in EQUATIONS]
    growth = {part: [round_significant(size[part], 3) for size in sizes] for part in sizes[0]} | {
        "whole": [round_significant(sum(size.values()), 3) for size in sizes]
    }
    each = [t / n for t, n in zip(growth["whole"], EQUATIONS, strict=True)]
    results = {
        f"first call, {name}": quartiles([1000 * s for s in first[name][1:]], "ms") for name in made
    }
    results |= {
        f"audit, {name}": quartiles([1000 * s for s in whole[name][1:]], "ms") for name in made
    }
    return {
        "results": results,
        "ratios": ratios,
        "series": {
            "equations": EQUATIONS,
            "seconds": growth,
            "parts": {part: {n: by_part[n][part] for n in made} for part in sizes[0]},
        },
        "checks": {
            f"an audit takes at most {TIMES} times the first call": all(
                r["median"] <= TIMES for r in ratios.values()
            ),
            f"20 000 equations take at most {LINEAR:.0f} times as long, each, as 1000": each[-1]
            <= LINEAR * each[0],
        },
    }
