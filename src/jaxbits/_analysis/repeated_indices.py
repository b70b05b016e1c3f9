"""Measure which updates of a scatter go to a position that another of its updates goes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbits import _jax_compat
from jaxbits._analysis.probes import contradict
from jaxbits._analysis.scatter_updates import (
    as_rows,
    choose_updates,
    positions,
    spread_mask,
    window_size,
)

_ROUNDING_ERRORS = 4
"""Values that differ by this many rounding errors are equal, because the compiler may compute the
elements of one array in different ways, for example the last ones that fill no vector register."""


class Repeats(NamedTuple):
    """The repeated indices of one scatter. Each array has one element for each update.

    Attributes:
        position: The position that the update goes to, as one number, or a negative number if JAX
            drops the update.
        is_repeat: Whether an earlier update goes to the same position.
        is_change: Whether the last of these earlier updates has another value.
    """

    position: Any
    is_repeat: Any
    is_change: Any


def find_repeats(equation: Any, inputs: Sequence[Any]) -> Repeats:
    """Return which updates of a scatter go to the same position.

    Args:
        equation: The scatter.
        inputs: Its array, indices, and updates.

    Raises:
        ValueError: If the array has 2**31 positions or more.
    """
    position = positions(equation, jnp.asarray(inputs[1]))
    order, is_repeat, is_change = _sort_updates(equation, inputs, position)
    columns = (_unsort(order, column).reshape(position.shape) for column in (is_repeat, is_change))
    return Repeats(position, *columns)


def _sort_updates(equation: Any, inputs: Sequence[Any], position: Any) -> tuple[Any, Any, Any]:
    """Return the order of the updates by their position, and in this order the two masks.

    Equal positions are then next to each other, with their updates in the original order.
    """
    number = jnp.arange(position.size, dtype=jnp.int32)
    ordered, order = lax.sort((position.reshape(-1), number), num_keys=1, is_stable=True)
    values = as_rows(equation, jnp.asarray(inputs[2]))[order]
    is_new_value = jnp.any(_differ(values[1:], values[:-1]), axis=1)
    first = jnp.zeros(1, bool)
    is_repeat = jnp.concatenate([first, ordered[1:] == ordered[:-1]])
    return order, is_repeat, is_repeat & jnp.concatenate([first, is_new_value])


def _group_updates(equation: Any, inputs: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Return what `_sort_updates` returns, and in the same order the number of each position."""
    position = positions(equation, jnp.asarray(inputs[1]))
    order, is_repeat, is_change = _sort_updates(equation, inputs, position)
    return order, is_repeat, is_change, jnp.cumsum(~is_repeat, dtype=jnp.int32) - 1


def _unsort(order: Any, column: Any) -> Any:
    return jnp.zeros_like(column).at[order].set(column, unique_indices=True)


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
        tuple(window_size(equation, d) for d in range(array.ndim)),
        mode="clip",
    )
    new = as_rows(equation, jnp.asarray(inputs[2]))
    is_changed = jnp.any(_differ(as_rows(equation, old), new), axis=1)
    return is_changed.reshape(inputs[1].shape[:-1])


def write_another(equation: Any, inputs: Sequence[Any]) -> list[Any]:
    """Apply a scatter as if, at each position with different updates, another one had won.

    Args:
        equation: The scatter.
        inputs: Its array, indices, and updates.
    """
    array, indices, updates = inputs
    order, _, is_change, group = _group_updates(equation, inputs)
    changed_at = jnp.where(is_change, jnp.arange(order.size, dtype=jnp.int32), 0)
    # The update before the last change differs from the last update, which wins on a CPU.
    last = jnp.zeros_like(order).at[group].max(changed_at)[group]
    other = _unsort(order, order[jnp.maximum(last - 1, 0)])
    is_replaced = spread_mask(equation, updates, _unsort(order, last > 0))
    replaced = jnp.where(is_replaced, choose_updates(equation, updates, other), updates)
    return _jax_compat.bind(equation, [array, indices, replaced])


def write_contradictory(equation: Any, inputs: Sequence[Any]) -> list[Any]:
    """Apply a scatter with other values at each position to which only equal updates go.

    Args:
        equation: The scatter.
        inputs: Its array, indices, and updates.
    """
    array, indices, updates = inputs
    order, is_repeat, is_change, group = _group_updates(equation, inputs)
    has_several, has_changes = (
        jnp.zeros(order.size, bool).at[group].max(mask)[group] for mask in (is_repeat, is_change)
    )
    if jnp.issubdtype(updates.dtype, jnp.bool_):
        opposite = ~updates
    elif jnp.issubdtype(updates.dtype, jnp.number):
        opposite = contradict(updates)
    else:
        opposite = updates
    is_replaced = spread_mask(equation, updates, _unsort(order, has_several & ~has_changes))
    return _jax_compat.bind(equation, [array, indices, jnp.where(is_replaced, opposite, updates)])


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
