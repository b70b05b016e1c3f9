"""Find, replace, and convert the parts of arguments, such as the arrays in a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Path = tuple[Any, ...]
"""The keys and positions that lead to a part."""
Axis = tuple[Path, int]
"""The path of an array or a list, and one of its axes."""
_MAX_SEARCHED = 20


def is_key(value: Any) -> bool:
    """Return whether a value is an array of typed PRNG keys."""
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def is_number(value: Any) -> bool:
    """Return whether a value is a number of Python or a scalar of NumPy."""
    return type(value) in (bool, int, float) or isinstance(value, np.generic)


def is_array(value: Any) -> bool:
    """Return whether a value is an array of NumPy or JAX."""
    return isinstance(value, np.ndarray | jax.Array)


def parts_of(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the parts of nested containers that are no containers themselves.

    Example:
        >>> list(parts_of({"a": [1, 2]}))
        [(('a', 0), 1), (('a', 1), 2)]
    """
    if type(value) is dict:
        for key, part in value.items():
            yield from parts_of(part, (*path, key))
    elif _is_sequence(value):
        for n, part in enumerate(value):
            yield from parts_of(part, (*path, n))
    else:
        yield path, value


def lengths_of(value: Any, path: Path = ()) -> Iterator[tuple[Axis, int]]:
    """Yield the length of each axis of each array, and of each list.

    Example:
        >>> list(lengths_of({"a": np.zeros((2, 3))}))
        [((('a',), 0), 2), ((('a',), 1), 3)]
    """
    if type(value) is dict:
        for key, part in value.items():
            yield from lengths_of(part, (*path, key))
    elif _is_sequence(value):
        if not hasattr(value, "_fields"):
            yield (path, 0), len(value)
        if len(value) <= _MAX_SEARCHED:
            for n, part in enumerate(value):
                yield from lengths_of(part, (*path, n))
    elif is_array(value):
        yield from (((path, axis), n) for axis, n in enumerate(value.shape))


def _is_sequence(value: Any) -> bool:
    return type(value) in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields"))


def part_at(value: Any, path: Path) -> Any:
    """Return the part at a path."""
    for key in path:
        value = value[key]
    return value


def with_part(value: Any, path: Path, new: Any) -> Any:
    """Return a copy of nested containers with another part at a path.

    Example:
        >>> with_part({"a": [1, 2]}, ("a", 0), 5)
        {'a': [5, 2]}
    """
    if not path:
        return new
    key, *rest = path
    part = with_part(value[key], tuple(rest), new)
    if type(value) is dict:
        return {**value, key: part}
    parts = [*value[:key], part, *value[key + 1 :]]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def without_positions(path: Path) -> Path:
    """Return a path in which all positions in lists are the same."""
    return tuple("*" if isinstance(key, int) else key for key in path)


def take(value: Any, axis: int, places: Sequence[int]) -> Any:
    """Return the entries of an array or a list at the given places along an axis."""
    if isinstance(value, np.ndarray):
        return np.take(value, places, axis)
    if isinstance(value, jax.Array):
        return jnp.take(value, jnp.asarray(places, jnp.int32), axis)
    return type(value)(value[place] for place in places)


def convert(value: Any, kind: str) -> Any:
    """Return a number or an array as another kind, or unchanged if this would change its numbers.

    Args:
        value: The number or the array.
        kind: The kind, such as "int", "np", or "jnp.float16".

    Example:
        >>> convert(3, "np.int8"), convert(0.5, "int")
        (np.int8(3), 0.5)
    """
    package, _, dtype = kind.partition(".")
    try:
        array = np.asarray(value)
        if kind in ("int", "float", "bool"):
            new: Any = {"int": int, "float": float, "bool": bool}[kind](array[()])
        elif package in ("np", "jnp"):
            module: Any = np if package == "np" else jnp
            new = module.asarray(array, getattr(jnp, dtype) if dtype else array.dtype)
            new = new[()] if package == "np" and is_number(value) else new
        else:
            return value
        same = np.array_equal(np.asarray(new, np.float64), array.astype(np.float64), equal_nan=True)
    except (TypeError, ValueError, OverflowError):
        return value
    return new if same else value
