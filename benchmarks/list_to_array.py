"""Compare `jnp.array` on a list with `jnp.array` on a NumPy array made from the list."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from book_tools.benchmarking.timing import quartiles, ratio_quartiles, time_interleaved

TITLE = "a list made an array of JAX's, directly and by way of NumPy"
ROUNDS = 9


def run() -> dict[str, Any]:
    """Time both conversions for 20,000 Python numbers and for 1000 losses that are JAX arrays."""
    numbers = [float(n) for n in range(20_000)]
    losses = [jnp.float32(n) for n in range(1000)]
    jax.block_until_ready(losses)  # type: ignore[no-untyped-call]
    ways = {
        "20 000 floats, jnp.array": lambda: jnp.array(numbers).block_until_ready(),
        "20 000 floats, by NumPy": lambda: jnp.asarray(
            np.array(numbers, np.float32)
        ).block_until_ready(),
        "1000 jax scalars, jnp.array": lambda: jnp.array(losses).block_until_ready(),
        "1000 jax scalars, jnp.stack": lambda: jnp.stack(losses).block_until_ready(),
        "1000 jax scalars, by NumPy": lambda: jnp.asarray(
            np.array(jax.device_get(losses))
        ).block_until_ready(),
    }
    for way in ways.values():
        way()  # Compile before the timing.
    samples = time_interleaved(ways, ROUNDS, dict.fromkeys(ways, 1))
    slow = [name for name in ways if name.endswith("jnp.array")]
    return {
        "results": {
            name: quartiles([1000 * s for s in seconds], "ms") for name, seconds in samples.items()
        },
        "ratios": {
            name.split(",")[0]: ratio_quartiles(
                samples[name], samples[name.split(",")[0] + ", by NumPy"]
            )
            for name in slow
        },
    }
