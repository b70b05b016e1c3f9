"""Compare eager and jitted execution of a mean over 1000 floats and of its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from book_tools.benchmarking.timing import quartiles, ratio_quartiles, time_interleaved

TITLE = "mean((x + 2)**2 + 3) of 1000 floats, eager and jit"
ROUNDS = 201


def _mean_square(x: jax.Array) -> jax.Array:
    """Return the same mean that chapter 01 computes."""
    return jnp.mean((x + 2) ** 2 + 3)


def run() -> dict[str, Any]:
    """Time the eager and the jitted mean and gradient alternately."""
    x = jnp.linspace(-1.0, 1.0, 1000)
    gradient = jax.grad(_mean_square)
    timed: dict[str, tuple[Callable[[jax.Array], jax.Array], int]] = {
        "forward, eager": (_mean_square, 40),
        "forward, jit": (jax.jit(_mean_square), 200),
        "gradient, eager": (gradient, 4),
        "gradient, jit": (jax.jit(gradient), 200),
    }

    def finished(function: Callable[[jax.Array], jax.Array]) -> Callable[[], object]:
        return lambda: function(x).block_until_ready()

    functions = {name: finished(function) for name, (function, _) in timed.items()}
    for function in functions.values():  # The first calls trace and compile.
        for _ in range(3):
            function()
    samples = time_interleaved(
        functions, ROUNDS, {name: calls for name, (_, calls) in timed.items()}
    )
    return {
        "results": {
            name: quartiles([1e6 * s for s in seconds], "µs") for name, seconds in samples.items()
        },
        "ratios": {
            what: ratio_quartiles(samples[f"{what}, eager"], samples[f"{what}, jit"])
            for what in ("forward", "gradient")
        },
    }
