"""Measure which updates of a scatter go to a position that another of its updates goes to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbits import _jax_compat
from jaxbits._analysis.probes import contradict

_MAX_POSITIONS = 2**31
_ROUNDING_ERRORS = 4
"""Values that differ by this many rounding errors are equal, because the compiler may compute the
elements of one array in different ways, for example the last ones that fill no vector register."""


class Repeats(NamedTuple):
    """The repeated indices of one scatter. Each array has one element for each update.

    Attributes:
        position: The position that the update goes to, as one number, or a negative number if JAX
            drops the update.
        is_repeat: Whether an earlier update goes to the same position.
        is_shared: Whether any other update goes to the same position.
        differs: Whether the updates that go to the same position differ in value.
        other: If they differ, the index of one that differs from the last of them.
    """

    position: Any
    is_repeat: Any
    is_shared: Any
    differs: Any
    other: Any


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


def find_repeats(equation: Any, inputs: Sequence[Any]) -> Repeats:
    """Return which updates of a scatter go to the same position.

    Args:
        equation: The scatter.
        inputs: Its array, indices, and updates.

    Raises:
        ValueError: If the array has 2**31 positions or more.
    """
    position = _positions(equation, jnp.asarray(inputs[1]))
    shape, count = position.shape, position.size
    number = jnp.arange(count, dtype=jnp.int32)
    # Sorting puts equal positions next to each other, and keeps the order of their updates.
    ordered, order = lax.sort((position.reshape(-1), number), num_keys=1, is_stable=True)
    values = _as_rows(equation, jnp.asarray(inputs[2]))[order]
    is_repeat = jnp.concatenate([jnp.zeros(1, bool), ordered[1:] == ordered[:-1]])
    changes = jnp.any(_differ(values[1:], values[:-1]), axis=1)
    changes = is_repeat & jnp.concatenate([jnp.zeros(1, bool), changes])
    group = jnp.cumsum(~is_repeat, dtype=jnp.int32) - 1
    last_change = jnp.zeros(count, jnp.int32).at[group].max(jnp.where(changes, number, 0))[group]
    is_shared = jnp.zeros(count, bool).at[group].max(is_repeat)[group]
    other = order[jnp.maximum(last_change - 1, 0)]

    def unsort(column: Any) -> Any:
        return jnp.zeros_like(column).at[order].set(column).reshape(shape)

    columns = (is_repeat, is_shared, last_change > 0, other)
    return Repeats(position, *map(unsort, columns))


def changes_elements(equation: Any, inputs: Sequence[Any]) -> Any:
    """Return which updates of a scatter that overwrites differ from what they replace.

    Args:
        equation: The scatter.
        inputs: Its array, indices, and updates.
    """
    numbers, array = equation.params["dimension_numbers"], jnp.asarray(inputs[0])
    old = lax.gather(
        array,
        jnp.asarray(inputs[1]),
        lax.GatherDimensionNumbers(
            offset_dims=numbers.update_window_dims,
            collapsed_slice_dims=numbers.inserted_window_dims,
            start_index_map=numbers.scatter_dims_to_operand_dims,
            operand_batching_dims=numbers.operand_batching_dims,
            start_indices_batching_dims=numbers.scatter_indices_batching_dims,
        ),
        tuple(_window_size(equation, d) for d in range(array.ndim)),
        mode="clip",
    )
    new = _as_rows(equation, jnp.asarray(inputs[2]))
    is_changed = jnp.any(_differ(_as_rows(equation, old), new), axis=1)
    return is_changed.reshape(inputs[1].shape[:-1])


def write_another(equation: Any, inputs: Sequence[Any]) -> list[Any]:
    """Apply a scatter as if, at each position with different updates, another one had won.

    Args:
        equation: The scatter.
        inputs: Its array, indices, and updates.
    """
    repeats = find_repeats(equation, inputs)
    other = _as_updates(equation, inputs[2], repeats.other.reshape(-1))
    is_changed = _spread(equation, inputs[2], repeats.differs)
    updates = jnp.where(is_changed, other, inputs[2])
    return _jax_compat.bind(equation, [inputs[0], inputs[1], updates])


def write_contradictory(equation: Any, inputs: Sequence[Any]) -> list[Any]:
    """Apply a scatter with other values at each position to which equal updates go.

    Args:
        equation: The scatter.
        inputs: Its array, indices, and updates.
    """
    repeats, updates = find_repeats(equation, inputs), jnp.asarray(inputs[2])
    if jnp.issubdtype(updates.dtype, jnp.bool_):
        opposite = ~updates
    elif jnp.issubdtype(updates.dtype, jnp.number):
        opposite = contradict(updates)
    else:
        opposite = updates
    is_changed = _spread(equation, updates, repeats.is_shared & ~repeats.differs)
    updates = jnp.where(is_changed, opposite, updates)
    return _jax_compat.bind(equation, [inputs[0], inputs[1], updates])


def _positions(equation: Any, indices: Any) -> Any:
    """Return the position that each update goes to (int32[updates]), or a negative number.

    The negative numbers, for updates that JAX drops, all differ.
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
        index, limit = indices[..., column], shape[dimension] - _window_size(equation, dimension)
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


def _window_size(equation: Any, dimension: int) -> int:
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


def _as_rows(equation: Any, updates: Any) -> Any:
    """Return the updates as an array with one row for each."""
    axes = _update_axes(equation)
    count = math.prod(updates.shape[d] for d in axes)
    rows = jnp.moveaxis(updates, axes, range(len(axes)))
    if jnp.issubdtype(rows.dtype, jax.dtypes.prng_key):
        rows = jax.random.key_data(rows)
    return rows.reshape(count, -1)


def _as_updates(equation: Any, updates: Any, chosen: Any) -> Any:
    """Return updates of the same shape, of which each is a copy of the one with a given number."""
    axes = _update_axes(equation)
    rows = jnp.moveaxis(updates, axes, range(len(axes)))
    flat = rows.reshape(-1, *rows.shape[len(axes) :])[chosen]
    return jnp.moveaxis(flat.reshape(rows.shape), range(len(axes)), axes)


def _spread(equation: Any, updates: Any, mask: Any) -> Any:
    """Return a mask of updates with a shape that can be broadcast with the updates."""
    axes = _update_axes(equation)
    shape = [updates.shape[d] if d in axes else 1 for d in range(updates.ndim)]
    return mask.reshape(shape)


def _differ(a: Any, b: Any) -> Any:
    """Return where two arrays differ by more than rounding. NaN equals NaN."""
    if not jnp.issubdtype(a.dtype, jnp.inexact):
        return a != b
    tolerance = _ROUNDING_ERRORS * float(jnp.finfo(a.dtype).eps)  # type: ignore[no-untyped-call]
    if a.dtype.itemsize < 4:
        a, b = a.astype(jnp.float32), b.astype(jnp.float32)
    is_close = jnp.abs(a - b) <= tolerance * jnp.maximum(jnp.abs(a), jnp.abs(b))
    is_close &= jnp.isfinite(a) & jnp.isfinite(b)
    return ~((a == b) | is_close | (jnp.isnan(a) & jnp.isnan(b)))
