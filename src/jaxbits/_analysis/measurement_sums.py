"""Accumulate measurements over the iterations of loops, either as flags or with all details."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from jaxbits._analysis.probes import Measurement, Plan, Site

Details = dict[int, tuple[Any, Any, Any]]
"""The count of bad values (int32[]), the smallest one, and the largest one, keyed by site."""
Flags = dict[tuple[int, ...], Any]
"""Whether there are bad values (bool[sites]), keyed by the numbers of some sites."""


class FlagSums:
    """Sums that only say which sites have bad values.

    They need few operations for each site, so a program with many sites compiles quickly.
    """

    def summarize(self, site: Site, measurement: Measurement, lanes: Any) -> Flags:
        """Return the sums for one measurement.

        Args:
            site: The measured site.
            measurement: The measurement.
            lanes: In a batched loop, a boolean mask of the lanes that are still running. Otherwise,
                None.
        """
        return {(site.number,): jnp.any(_in_lanes(measurement.bad, lanes)).reshape(1)}

    def collect(self, found: Flags, numbers: Sequence[int]) -> Any:
        """Return what a loop carries or a branch returns, given the sums of its body.

        Args:
            found: The sums.
            numbers: The sites in the loop or in any of the branches.
        """
        parts, missing = [], sorted(set(numbers).difference(*found))
        keys = sorted([*found, *((number,) for number in missing)])
        for key in keys:
            parts.append(found.get(key, jnp.zeros(1, bool)))
        return jnp.concatenate(parts) if parts else jnp.zeros(0, bool)

    def add(self, carried: Any, more: Any) -> Any:
        """Return the sum of two values that `collect` returned."""
        return carried | more

    def spread(self, carried: Any, numbers: Sequence[int]) -> Flags:
        """Return the sums for a value that `collect` returned for these sites."""
        return {tuple(sorted(numbers)): carried} if numbers else {}


class DetailSums:
    """Sums with the count and the range of the bad values at each site."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def summarize(self, site: Site, measurement: Measurement, lanes: Any) -> Details:
        """Return the sums for one measurement.

        Args:
            site: The measured site.
            measurement: The measurement.
            lanes: In a batched loop, a boolean mask of the lanes that are still running. Otherwise,
                None.
        """
        dtype = site.probe.dtype
        bad = _in_lanes(measurement.bad, lanes)
        low, high = _empty_range(dtype)
        value = jnp.asarray(measurement.value).astype(dtype)
        smallest = jnp.min(jnp.where(bad, value, low), initial=low)
        largest = jnp.max(jnp.where(bad, value, high), initial=high)
        count = jnp.sum(bad, dtype=jnp.int32)
        return {site.number: (count, smallest.astype(dtype), largest.astype(dtype))}

    def collect(self, found: Details, numbers: Sequence[int]) -> Details:
        """Return what a loop carries or a branch returns, given the sums of its body.

        Args:
            found: The sums.
            numbers: The sites in the loop or in any of the branches.
        """
        return {**{n: _empty(self._plan.sites[n].probe.dtype) for n in numbers}, **found}

    def add(self, carried: Details, more: Details) -> Details:
        """Return the sum of two values that `collect` returned. Counts saturate at 2**31."""
        return {n: _add(values, more[n]) for n, values in carried.items()}

    def spread(self, carried: Details, numbers: Sequence[int]) -> Details:
        """Return the sums for a value that `collect` returned for these sites."""
        return carried


def flagged_sites(flags: Mapping[tuple[int, ...], Any]) -> set[int]:
    """Return the numbers of the sites with bad values.

    >>> sorted(flagged_sites({(0,): [True], (1, 2, 3): [False, True, True]}))
    [0, 2, 3]
    """
    return {n for key, bits in flags.items() for n, bit in zip(key, bits, strict=True) if bit}


def _empty_range(dtype: Any) -> tuple[float, float]:
    """Return initial values for the smallest and the largest value in a range."""
    is_integer = jnp.issubdtype(dtype, jnp.integer)
    return (2**31 - 1, -(2**31)) if is_integer else (math.inf, -math.inf)


def _empty(dtype: Any) -> tuple[Any, Any, Any]:
    low, high = _empty_range(dtype)
    return jnp.int32(0), jnp.asarray(low, dtype), jnp.asarray(high, dtype)


def _add(old: tuple[Any, Any, Any], new: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    count = jnp.minimum(old[0], 2**30) + jnp.minimum(new[0], 2**30)
    return count, jnp.minimum(old[1], new[1]), jnp.maximum(old[2], new[2])


def _in_lanes(bad: Any, lanes: Any) -> Any:
    """Return a mask of bad values without those in lanes of a batched loop that have finished."""
    bad = jnp.asarray(bad)
    if lanes is not None and lanes.shape:
        bad = bad & _broadcast_lanes(lanes, bad.shape)
    return bad


def _broadcast_lanes(lanes: Any, shape: tuple[int, ...]) -> Any:
    """Return a mask, broadcastable to a shape, of the values that belong to running lanes."""
    if shape[: lanes.ndim] == lanes.shape:
        return lanes.reshape(lanes.shape + (1,) * (len(shape) - lanes.ndim))
    if lanes.ndim == 1 and lanes.size in shape:
        axis = shape.index(lanes.size)
        return lanes.reshape([-1 if d == axis else 1 for d in range(len(shape))])
    return jnp.any(lanes)
