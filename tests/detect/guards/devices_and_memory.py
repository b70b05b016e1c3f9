"""Programs that the detectors named in the catalogue of chapter 20 must find."""

import jax
import jax.numpy as jnp

lengths = {"calls": [(jnp.ones(length),) for length in (2, 3, 4)]}

EXAMPLES = [
    ("programs-fill-memory", "recompile", jax.jit(jnp.tanh), (), lengths),
]
