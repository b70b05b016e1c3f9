"""Read where the updates of a scatter go, and rearrange them."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

_MAX_POSITIONS = 2**31


def indexed_dimensions(equation: Any) -> list[int]:
    """Return the dimensions of a scatter's array for which its indices select a position."""
    numbers = equation.params["dimension_numbers"]
    dimensions = {*numbers.scatter_dims_to_operand_dims, *numbers.operand_batching_dims}
    return sorted(map(int, dimensions))


def count_updates(equation: Any) -> int:
    """Return how many updates a scatter applies, for each element of its batch."""
    numbers = equation.params["dimension_numbers"]
    batch = set(map(int, numbers.scatter_indices_batching_dims))
    shape = equation.invars[1].aval.shape[:-1]
    return math.prod(size for d, size in enumerate(shape) if d not in batch)


def positions(equation: Any, indices: Any) -> Any:
    """Return the position that each update goes to, as one number of dtype int32.

    An update that JAX drops has a negative number, and these numbers all differ.

    Args:
        equation: The scatter.
        indices: Its indices.

    Raises:
        ValueError: If the array has 2**31 positions or more.
    """
    numbers, shape = equation.params["dimension_numbers"], equation.invars[0].aval.shape
    dimensions = indexed_dimensions(equation)
    sizes = [shape[d] for d in dimensions]
    if math.prod(sizes) >= _MAX_POSITIONS:
        raise ValueError(f"positions must be fewer than 2**31, got {math.prod(sizes)}")
    rows = indices.shape[:-1]
    if indices.dtype.itemsize < 4:  # A small dtype may not hold the size of the array.
        indices = indices.astype(jnp.int32)
    columns: dict[int, Any] = {}
    is_inside = jnp.ones(rows, bool)
    for column, dimension in enumerate(numbers.scatter_dims_to_operand_dims):
        index, limit = indices[..., column], shape[dimension] - window_size(equation, dimension)
        if "CLIP" in str(equation.params["mode"]):
            index = jnp.clip(index, 0, limit)
        is_inside &= (index >= 0) & (index <= limit)
        columns[int(dimension)] = index.astype(jnp.int32)
    batching = zip(
        numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True
    )
    for dimension, axis in batching:
        columns[int(dimension)] = lax.broadcasted_iota(jnp.int32, rows, int(axis))
    position = jnp.zeros(rows, jnp.int32)
    for dimension, size in zip(dimensions, sizes, strict=True):
        position = position * size + columns[dimension]
    dropped = -1 - jnp.arange(math.prod(rows), dtype=jnp.int32).reshape(rows)
    return jnp.where(is_inside, position, dropped)


def window_size(equation: Any, dimension: int) -> int:
    """Return how many elements an update spans along a dimension of the array."""
    numbers = equation.params["dimension_numbers"]
    single = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    window = [d for d in range(len(equation.invars[0].aval.shape)) if d not in single]
    if dimension not in window:
        return 1
    return int(equation.invars[2].aval.shape[numbers.update_window_dims[window.index(dimension)]])


def _update_axes(equation: Any) -> list[int]:
    """Return the axes of the updates that number them. The others belong to the windows."""
    window = equation.params["dimension_numbers"].update_window_dims
    return [d for d in range(len(equation.invars[2].aval.shape)) if d not in window]


def as_rows(equation: Any, updates: Any) -> Any:
    """Return the updates as an array with one row for each."""
    axes = _update_axes(equation)
    count = math.prod(updates.shape[d] for d in axes)
    rows = jnp.moveaxis(updates, axes, range(len(axes)))
    if jnp.issubdtype(rows.dtype, jax.dtypes.prng_key):
        rows = jax.random.key_data(rows)
    return rows.reshape(count, -1)


def choose_updates(equation: Any, updates: Any, chosen: Any) -> Any:
    """Return updates of the same shape, each of which is a copy of a chosen one.

    Args:
        equation: The scatter.
        updates: Its updates.
        chosen: For each update, the number of the one to copy.
    """
    axes = _update_axes(equation)
    rows = jnp.moveaxis(updates, axes, range(len(axes)))
    flat = rows.reshape(-1, *rows.shape[len(axes) :])[chosen]
    return jnp.moveaxis(flat.reshape(rows.shape), range(len(axes)), axes)


def spread_mask(equation: Any, updates: Any, mask: Any) -> Any:
    """Return a mask with a shape that can be broadcast with the updates of a scatter.

    Args:
        equation: The scatter.
        updates: Its updates.
        mask: The mask, with one element for each update.
    """
    axes = _update_axes(equation)
    shape = [updates.shape[d] if d in axes else 1 for d in range(updates.ndim)]
    return mask.reshape(shape)
