"""Generate different values to try in place of a piece of Python state."""

from __future__ import annotations

import collections
import enum
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.mutability import is_function_like
from jaxbits._analysis.python_state.object_copies import (
    CONTAINER_TYPES,
    copy_container,
    copy_object,
    is_shared,
    items_of,
)


def changed_values(value: Any, is_meant: bool) -> Iterator[Any]:
    """Yield values to try in place of the current one.

    Args:
        value: The current value.
        is_meant: Whether the value is meant to change. If it is, the function also yields
            containers of different sizes.
    """
    changed = changed_value(value, change_functions=is_meant)
    if changed is not value:
        yield changed
    if is_meant and isinstance(value, (list, collections.deque)) and (items := items_of(value)):
        longer = copy_container(value, [*items, items[-1]])
        if longer is not None:
            yield longer
    if is_meant and type(value) is dict and value:
        yield dict(list(value.items())[:-1])
    if is_meant and type(value) is set:
        yield _ComplementSet(value)


_LARGE = 2**20
"""In float32, adding 1 changes only numbers below 2**24. This leaves room for some arithmetic."""


class _ComplementSet(set[Any]):
    """A set that appears to contain exactly the items that another set lacks."""

    def __contains__(self, item: object) -> bool:
        return not super().__contains__(item)


def changed_value(value: Any, change_functions: bool = False, depth: int = 4) -> Any:
    """Return a value of the same kind that differs everywhere, or the value if none is known.

    Args:
        value: The current value.
        change_functions: Whether to replace functions with functions that return different values.
        depth: How many levels of nested values to change.

    >>> changed_value({"rate": 0.5, "on": True, "name": "sgd"})
    {'rate': 1.5, 'on': False, 'name': 'sgd_'}
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, enum.Enum):
        return next((changed for changed in type(value) if changed is not value), value)
    if isinstance(value, (int, float, complex)):
        return _changed_number(value)
    if isinstance(value, str):
        return value + "_"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return ~value if value.dtype.kind == "b" else _changed_array(value)
    if isinstance(value, Tracer):  # An earlier trace leaked it, so nobody can compute with it.
        return value
    if isinstance(value, jax.Array):
        return _changed_jax_array(value) if jnp.issubdtype(value.dtype, jnp.number) else value
    if is_function_like(value):
        return _plus_one(value) if change_functions else value
    if not depth or is_shared(value):
        return value
    change_item = functools.partial(
        changed_value, change_functions=change_functions, depth=depth - 1
    )
    if isinstance(value, types.MappingProxyType):
        return types.MappingProxyType(change_item(dict(value)))
    if isinstance(value, CONTAINER_TYPES):
        return _changed_container(value, change_item, change_functions)
    if isinstance(value, tuple):
        duplicate = map(change_item, value)
        return type(value)(*duplicate) if hasattr(value, "_fields") else tuple(duplicate)
    return _changed_object(value, change_item)


def _changed_number(value: Any) -> Any:
    if abs(value) < _LARGE:
        return value + 1
    return value // 2 if isinstance(value, int) else value / 2


def _changed_array(value: Any) -> Any:
    changed = value + value.dtype.type(1)
    if value.dtype.kind in "fc":
        changed = np.where(np.abs(value) < _LARGE, changed, value / value.dtype.type(2))
    return changed


def _changed_jax_array(value: Any) -> Any:
    """Return a different array, or the array itself if nobody can read or compute with it."""
    if value.is_deleted():
        return value
    try:
        return value + 1
    except Exception:  # The array may belong to another mesh than the current one.
        is_readable = value.is_fully_addressable and not value.weak_type
    return jax.device_put(np.asarray(value) + 1, value.sharding) if is_readable else value


def _changed_container(
    value: Any, change_item: Callable[[Any], Any], change_functions: bool
) -> Any:
    items = items_of(value)
    if not items and change_functions:  # Replace an empty container with a nonempty one.
        items = [("_", 1.0)] if isinstance(value, dict) else [1.0]
    elif isinstance(value, dict):
        items = [(key, change_item(item)) for key, item in items]
    else:
        items = list(map(change_item, items))
    duplicate = copy_container(value, items) if items else None
    return value if duplicate is None else duplicate


def _plus_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that adds 1 to the result of another function."""

    def plus_one(*args: Any, **kwargs: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf + 1, function(*args, **kwargs))

    return plus_one


def _changed_object(value: Any, change_item: Callable[[Any], Any]) -> Any:
    fields = object_fields.fields(value)
    if fields is None:
        return value
    changed_values = {key: change_item(item) for key, item in fields.items()}
    if all(changed_values[key] is fields[key] for key in fields):
        return value
    duplicate = copy_object(value, changed_values)
    return value if duplicate is None else duplicate
