"""Pack a nested dict of settings into one list or array per group, and unpack it again.

The numbers are equal either way, but their types differ. A number from a list is a Python number,
which adapts to the dtype of the arrays it is combined with. A number from an array keeps its dtype.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

Numbers: TypeAlias = Mapping[str, Any]
"""A dict of named numbers, which may contain nested groups."""


class Packed(NamedTuple):
    """The numbers in each group, stored as one segment, and the lengths of the segments."""

    segments: list[list[float]] | list[jax.Array]
    lengths: list[int]


def pack(settings: Mapping[str, Numbers], *, as_arrays: bool) -> Packed:
    """Flatten each group in a nested dict of numbers, in the order of the group's keys.

    Args:
        settings: A dict of groups of numbers. A group may contain nested groups.
        as_arrays: Whether to make each segment a `jax.numpy` array instead of a list.

    Raises:
        TypeError: If a group is not a mapping.

    >>> settings = {"wave": {"gamma": 0.5, "delta": -1.0}, "noise": {"scale": 0.25}}
    >>> pack(settings, as_arrays=False)
    Packed(segments=[[0.5, -1.0], [0.25]], lengths=[2, 1])
    >>> [str(segment.dtype) for segment in pack(settings, as_arrays=True).segments]
    ['float32', 'float32']
    """
    for name, group in settings.items():
        if not isinstance(group, Mapping):
            raise TypeError(f"group {name!r} must be a dict of numbers, got {group!r}")
    lists = [list(_leaves(group)) for group in settings.values()]
    lengths = [len(numbers) for numbers in lists]
    return Packed([jnp.array(numbers) for numbers in lists] if as_arrays else lists, lengths)


def unpack(
    segments: Sequence[Sequence[Any] | jax.Array], like: Mapping[str, Numbers]
) -> dict[str, dict[str, Any]]:
    """Return a nested dict with the numbers from packed segments.

    Args:
        segments: The segments that `pack` returned, one for each group.
        like: Settings with the same groups and names, such as the dict that was packed.

    Raises:
        ValueError: If the number of segments differs from the number of groups, or if the length
            of a segment differs from the size of its group.

    >>> settings = {"wave": {"gamma": 0.5, "delta": -1.0}, "noise": {"scale": 0.25}}
    >>> unpack(pack(settings, as_arrays=False).segments, settings) == settings
    True
    """
    if len(segments) != len(like):
        raise ValueError(f"expected {len(like)} segments, one for each group, got {len(segments)}")
    named = {}
    for (name, group), segment in zip(like.items(), segments, strict=True):
        size = sum(1 for _ in _leaves(group))
        if len(segment) != size:
            raise ValueError(f"segment {name!r} must have length {size}, got {len(segment)}")
        named[name] = _refill(group, iter(segment))
    return named


def from_lists(settings: Mapping[str, Numbers]) -> dict[str, dict[str, Any]]:
    """Return the settings with each number taken from a packed list, as a Python number."""
    return unpack(pack(settings, as_arrays=False).segments, settings)


def from_arrays(settings: Mapping[str, Numbers]) -> dict[str, dict[str, Any]]:
    """Return the settings with each number taken from a packed array, as an array element."""
    return unpack(pack(settings, as_arrays=True).segments, settings)


def _leaves(group: Numbers) -> Iterator[Any]:
    for value in group.values():
        if isinstance(value, Mapping):
            yield from _leaves(value)
        else:
            yield value


def _refill(group: Numbers, numbers: Iterator[Any]) -> dict[str, Any]:
    return {
        name: _refill(value, numbers) if isinstance(value, Mapping) else next(numbers)
        for name, value in group.items()
    }
