"""Accumulate measurements, which are the count and the range of the bad values at each site."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from jaxbits._analysis.probes import Measurement, Plan

Sums = dict[int, tuple[Any, Any, Any]]
"""The count of bad values (int32[]), the smallest one, and the largest one, keyed by site."""


def _empty_range(dtype: Any) -> tuple[float, float]:
    """Return initial values for the smallest and the largest value in a range."""
    is_integer = jnp.issubdtype(dtype, jnp.integer)
    return (2**31 - 1, -(2**31)) if is_integer else (math.inf, -math.inf)


def empty_sums(plan: Plan, numbers: Sequence[int]) -> Sums:
    """Return initial sums, in which no bad values have been counted.

    Args:
        plan: The plan that contains the sites.
        numbers: The numbers of the sites to include.
    """
    return {n: _empty(plan.sites[n].probe.dtype) for n in numbers}


def _empty(dtype: Any) -> tuple[Any, Any, Any]:
    low, high = _empty_range(dtype)
    return jnp.int32(0), jnp.asarray(low, dtype), jnp.asarray(high, dtype)


def add_sums(sums: Sums, more: Sums) -> Sums:
    """Add more sums to `sums` in place, and return `sums`. Counts saturate at 2**31.

    Args:
        sums: The sums to update.
        more: The sums to add.
    """
    for number, (count, low, high) in more.items():
        if number in sums:
            old_count, old_low, old_high = sums[number]
            total = jnp.minimum(old_count, 2**30) + jnp.minimum(count, 2**30)
            sums[number] = (total, jnp.minimum(old_low, low), jnp.maximum(old_high, high))
        else:
            sums[number] = (count, low, high)
    return sums


def summarize(measurement: Measurement, dtype: Any, lanes: Any) -> tuple[Any, Any, Any]:
    """Return the count and range of the bad values in a measurement.

    Args:
        measurement: The measurement to summarize.
        dtype: The dtype of the range's lower and upper ends.
        lanes: In a batched loop, a boolean mask of the lanes that are still running. Otherwise,
            None.
    """
    bad, value = measurement
    bad = jnp.asarray(bad)
    if lanes is not None and lanes.shape:
        bad = bad & _broadcast_lanes(lanes, bad.shape)
    low, high = _empty_range(dtype)
    value = jnp.asarray(value).astype(dtype)
    smallest = jnp.min(jnp.where(bad, value, low), initial=low)
    largest = jnp.max(jnp.where(bad, value, high), initial=high)
    return jnp.sum(bad, dtype=jnp.int32), smallest.astype(dtype), largest.astype(dtype)


def _broadcast_lanes(lanes: Any, shape: tuple[int, ...]) -> Any:
    """Return a mask, broadcastable to a shape, of the values that belong to running lanes."""
    if shape[: lanes.ndim] == lanes.shape:
        return lanes.reshape(lanes.shape + (1,) * (len(shape) - lanes.ndim))
    if lanes.ndim == 1 and lanes.size in shape:
        axis = shape.index(lanes.size)
        return lanes.reshape([-1 if d == axis else 1 for d in range(len(shape))])
    return jnp.any(lanes)
