"""Labeled cases for functions of `jax.pmap`, whose values can be seen on a single device."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from labelled_cases import registry

CASES, case, add = registry()

X = jnp.arange(4.0)[None]
PIXELS = jnp.array([[200, 100]], jnp.uint8)
DARK = jnp.array([[20, 10]], jnp.uint8)
INDICES = jnp.array([[1, 3]])
TOO_LARGE = jnp.array([[1, 9]])
REPEATED = jnp.array([[1, 1]])
over_devices = functools.partial(jax.pmap, axis_name="devices")


@over_devices
def doubles_pixels(x, pixels):
    return (pixels * 2).sum() + x.sum()


@over_devices
def averages_doubled_pixels(x, pixels):
    return jax.lax.pmean((pixels * 2).astype(jnp.float32).mean() + x.mean(), "devices")


@over_devices
def reads(x, indices):
    return x[indices].sum()


@over_devices
def sums_what_it_reads(x, indices):
    total = jax.lax.psum(x[indices].sum(), "devices")
    return total + jax.lax.axis_index("devices")


@over_devices
def counts(x, indices):
    return x.at[indices].set(x[indices] + 1)


@over_devices
def slope(x, indices):
    return jax.grad(lambda v: jnp.where(v > 0, jnp.sqrt(v), 0.0).sum())(x) + indices.sum()


add("overflow", True, doubles_pixels, X, PIXELS)
add("overflow", False, doubles_pixels, X, DARK)
add("overflow", True, averages_doubled_pixels, X, PIXELS)
add("overflow", False, averages_doubled_pixels, X, DARK)
add("out_of_bounds", True, reads, X, TOO_LARGE)
add("out_of_bounds", False, reads, X, INDICES)
add("out_of_bounds", True, sums_what_it_reads, X, TOO_LARGE)
add("out_of_bounds", False, sums_what_it_reads, X, INDICES)
add("duplicate_indices", True, counts, X, REPEATED)
add("duplicate_indices", False, counts, X, INDICES)
add("nan", True, slope, X, INDICES)
add("nan", False, slope, X + 1, INDICES)
