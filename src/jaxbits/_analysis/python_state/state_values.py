"""Copy, compare, and restore the contents of values in Python state, one level deep."""

from __future__ import annotations

import array
import collections
import contextlib
import copy
import decimal
import random
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxbits._analysis.python_state import foreign_buffers, held_values, object_fields
from jaxbits._analysis.python_state.iterators import is_iterator, iterator_position, paused_position
from jaxbits._analysis.python_state.object_copies import (
    CONTAINER_TYPES,
    fill_container,
    items_of,
)
from jaxbits._analysis.python_state.references import ABSENT
from jaxbits._formatting import format_state

MAX_OBJECTS = 5000
MAX_ARRAY_BYTES = 1 << 22
PLAIN_TYPES = (bool, int, float, complex, str, bytes, type(None))
BUFFER_TYPES = (bytearray, array.array)
"""Mutable sequences of numbers that are no arrays."""
_DECIMAL_SETTINGS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
OPAQUE_TYPES = (type, types.ModuleType, types.FunctionType, types.MethodType, jax.Array, Tracer)


def describe_value(value: Any) -> str:
    """Describe a value in at most 40 characters. A tracer is described by its type."""
    return "nothing" if value is ABSENT else format_state(value)


def decimal_settings(context: decimal.Context) -> dict[str, Any]:
    """Return the settings of a context without its flags, which record past calculations."""
    settings = {name: getattr(context, name) for name in _DECIMAL_SETTINGS}
    return settings | {"traps": dict(context.traps)}


def restore_decimal_settings(context: decimal.Context, settings: Mapping[str, Any]) -> None:
    """Set a context to what `decimal_settings` returned."""
    for name, setting in settings.items():
        setattr(context, name, setting)


def copy_contents(value: Any) -> Any:
    """Return a one-level copy of a mutable value's contents, or None for other values."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.nbytes <= MAX_ARRAY_BYTES else None
    if isinstance(value, np.random.Generator):
        return copy_contents(value.bit_generator)
    if isinstance(value, np.random.RandomState):
        return value.get_state(legacy=False)
    if isinstance(value, np.random.BitGenerator):
        # `spawn` counts the children, and leaves the rest of the state as it is.
        return copy.deepcopy(value.state), getattr(value.seed_seq, "n_children_spawned", None)
    if isinstance(value, np.random.SeedSequence):
        return value.n_children_spawned
    if isinstance(value, (types.AsyncGeneratorType, types.CoroutineType)):
        return paused_position(value)
    if isinstance(value, random.SystemRandom):
        return None  # It takes its numbers from the operating system and has no state.
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, decimal.Context):
        return decimal_settings(value)
    if isinstance(value, CONTAINER_TYPES):
        items = items_of(value)
        is_list = isinstance(value, (list, collections.deque))
        return items if is_list else dict(items) if isinstance(value, dict) else set(items)
    if isinstance(value, BUFFER_TYPES):
        return value[:] if len(value) <= MAX_ARRAY_BYTES else None
    if is_iterator(value):
        return iterator_position(value)
    if isinstance(value, (*OPAQUE_TYPES, *PLAIN_TYPES)):
        return None
    if isinstance(value, held_values.HOLDER_TYPES):
        return held_values.held_values(value)
    if foreign_buffers.is_foreign_buffer(value):
        return foreign_buffers.read(value, MAX_ARRAY_BYTES)
    return object_fields.fields(value)


def nested_values(value: Any) -> list[Any]:
    """Return the values inside a value, except for those that cannot contain other values."""
    if isinstance(value, (list, tuple, collections.deque)):
        parts = items_of(value)
    elif isinstance(value, dict):
        parts = [item for _, item in items_of(value)]
    else:
        parts = list(_field_values(value))
    return [part for part in parts if not isinstance(part, PLAIN_TYPES)]


def _field_values(value: Any) -> Iterable[Any]:
    """Return the values that an object, a cache, or a context variable holds."""
    if isinstance(value, held_values.HOLDER_TYPES):
        return held_values.held_values(value) or ()
    return (object_fields.fields(value) or {}).values()


def is_same(a: Any, b: Any) -> bool:
    """Return whether a value is unchanged.

    Plain values, arrays, and containers are compared by equality, and other objects by identity.
    Numbers of different types are not equal, and neither are 0.0 and -0.0, but NaN equals NaN.

    Args:
        a: The earlier value.
        b: The current value.

    Example:
        >>> is_same([float("nan"), 1], [float("nan"), 1]), is_same([0.0], [-0.0]), is_same(1, True)
        (True, False, False)
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        kept = a.shape == b.shape and a.dtype == b.dtype
        return kept and (a.tobytes() == b.tobytes() if a.dtype != object else is_same([*a], [*b]))
    if isinstance(a, dict):
        # A function can keep state in the order of the keys, too.
        return is_same([*a], [*b]) and all(is_same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(is_same, a, b))
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    if isinstance(a, np.generic):
        return bool(a.tobytes() == b.tobytes())
    if isinstance(a, set):
        return bool(a == b) and set(map(type, a)) == set(map(type, b))
    if isinstance(a, (*PLAIN_TYPES, *BUFFER_TYPES)):
        return bool(a == b)
    return False


def find_tracers(value: Any) -> Iterator[Any]:
    """Yield the tracers that a value holds at any depth."""
    waiting, seen = collections.deque([value]), set[int]()
    while waiting and len(seen) < MAX_OBJECTS:
        current = waiting.popleft()
        if isinstance(current, Tracer):
            yield current
        elif isinstance(current, types.FunctionType):
            # A stored function keeps alive the values that it closes over.
            waiting.extend(_closure_tracers(current))
        elif id(current) not in seen and not isinstance(current, (*OPAQUE_TYPES, *PLAIN_TYPES)):
            seen.add(id(current))
            is_set = isinstance(current, set)
            waiting.extend(items_of(current) if is_set else nested_values(current))


def _closure_tracers(function: types.FunctionType) -> Iterator[Any]:
    """Yield the tracers that a function closes over."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # The closure cell may not have a value yet.
            if isinstance(cell.cell_contents, Tracer):
                yield cell.cell_contents


def restore_contents(value: Any, contents: Any) -> None:
    """Restore the earlier contents of a mutable value.

    Args:
        value: The value to restore.
        contents: The contents, as returned by `copy_contents`.
    """
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = contents
    elif isinstance(value, np.random.Generator):
        restore_contents(value.bit_generator, contents)
    elif isinstance(value, np.random.RandomState):
        value.set_state(contents)
    elif isinstance(value, np.random.BitGenerator):
        value.state = contents[0]
    elif isinstance(value, (np.random.SeedSequence, types.AsyncGeneratorType, types.CoroutineType)):
        pass  # The number of children and the position are read-only.
    elif isinstance(value, random.Random):
        value.setstate(contents)
    elif isinstance(value, decimal.Context):
        restore_decimal_settings(value, contents)
    elif isinstance(value, CONTAINER_TYPES):
        fill_container(value, contents.items() if isinstance(contents, dict) else contents)
    elif isinstance(value, BUFFER_TYPES):
        value[:] = contents
    elif isinstance(value, held_values.HOLDER_TYPES):
        held_values.restore_held_values(value, contents)
    elif foreign_buffers.is_foreign_buffer(value):
        foreign_buffers.restore(value, contents)
    elif not is_iterator(value):
        object_fields.restore_fields(value, contents)
