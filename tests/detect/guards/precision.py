"""Programs with problems that the guards in chapter 10-precision catch."""

import jax.numpy as jnp
import numpy as np
from jax import lax

halves = jnp.ones(4, jnp.bfloat16)
pixels = jnp.array([200, 100], jnp.uint8)


def running_sum(values):
    return lax.scan(lambda c, v: (c + v, None), jnp.zeros((), values.dtype), values)[0]


EXAMPLES = [
    ("float64-cut", "x64", lambda t: jnp.asarray(t) - 1, (np.array([1763645590.25]),), {}),
    ("x64-mid-process", "x64", lambda t: t * jnp.float64(2), (jnp.ones(2),), {}),
    ("int-overflow", "overflow", lambda n: n * n, (jnp.int32(50_000),), {}),
    ("uint8-wraps", "overflow", lambda p: p + p, (pixels,), {}),
    ("uint8-wraps", "cast", lambda p: p + 300, (pixels,), {}),
    ("cast-stops-or-wraps", "cast", lambda a: a.astype(jnp.uint8), (jnp.array([300.0]),), {}),
    ("integers-become-halves", "promotion", lambda a, n: a * n, (halves, jnp.int32(257)), {}),
    ("numpy-number-widens", "promotion", lambda a: a * np.float32(0.1), (halves,), {}),
    ("running-sum-stops", "overflow", running_sum, (jnp.full(9, 3e4, jnp.float16),), {}),
    ("subnormal-is-zero", "nan", lambda a: 1 / (a / 2), (jnp.float32(1.2e-38),), {}),
    ("int64-array-cut", "x64", jnp.asarray, (np.array([2**40]),), {}),
    ("abs-of-the-least", "overflow", jnp.abs, (jnp.array([-128], jnp.int8),), {}),
]
