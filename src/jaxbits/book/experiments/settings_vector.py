"""Settings as they travel: a dict of groups of numbers, flattened into a segment for each group.

The numbers are the same either way; what they are when they come out again is not. A number out of
a list is Python's, which gives way to what it meets; one out of an array has the array's dtype.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

Numbers: TypeAlias = Mapping[str, Any]
"""Numbers by name; a group may hold groups."""


class Packed(NamedTuple):
    """A segment for each group, and how long each is."""

    segments: list[list[float]] | list[jax.Array]
    lengths: list[int]


def pack(settings: Mapping[str, Numbers], *, as_arrays: bool) -> Packed:
    """Flatten a nested dict of numbers, group by group, in the order in which it is written.

    Args:
        settings: groups of numbers; a group may hold further groups.
        as_arrays: a segment is a `jax.numpy` array, else a list of the numbers as they are.

    Raises:
        TypeError: when a group is no dict.

    >>> settings = {"wave": {"gamma": 0.5, "delta": -1.0}, "noise": {"scale": 0.25}}
    >>> pack(settings, as_arrays=False)
    Packed(segments=[[0.5, -1.0], [0.25]], lengths=[2, 1])
    >>> [str(segment.dtype) for segment in pack(settings, as_arrays=True).segments]
    ['float32', 'float32']
    """
    for name, group in settings.items():
        if not isinstance(group, Mapping):
            raise TypeError(f"the group {name!r} should be a dict of numbers, was {group!r}")
    lists = [list(_leaves(group)) for group in settings.values()]
    lengths = [len(numbers) for numbers in lists]
    return Packed([jnp.array(numbers) for numbers in lists] if as_arrays else lists, lengths)


def unpack(
    segments: Sequence[Sequence[Any] | jax.Array], like: Mapping[str, Numbers]
) -> dict[str, dict[str, Any]]:
    """Give the numbers of packed segments their names back.

    Args:
        segments: one for each group, as `pack` made them.
        like: the settings that they were packed from: the names.

    Raises:
        ValueError: when there are not as many segments as groups, or a segment has another
            length than its group.

    >>> settings = {"wave": {"gamma": 0.5, "delta": -1.0}, "noise": {"scale": 0.25}}
    >>> unpack(pack(settings, as_arrays=False).segments, settings) == settings
    True
    """
    if len(segments) != len(like):
        raise ValueError(f"there are {len(like)} groups, and {len(segments)} segments")
    named = {}
    for (name, group), segment in zip(like.items(), segments, strict=True):
        names = sum(1 for _ in _leaves(group))
        if len(segment) != names:
            raise ValueError(f"the group {name!r} has {names} numbers, its segment {len(segment)}")
        named[name] = _refill(group, iter(segment))
    return named


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
