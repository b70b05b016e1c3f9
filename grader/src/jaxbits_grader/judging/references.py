"""Find out whether a test uses an argument again after passing it to an answer."""

from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np

from jaxbits_grader.judging.array_data import Data

_MUTABLE = (list, dict, set, np.ndarray, jax.Array)


def find_used_again(args: tuple[Any, ...], kwargs: dict[str, Any]) -> set[str]:
    """Return the arguments of a call to a `Remote` to which something else refers, too.

    Args:
        args: The positional arguments, which `Remote.__call__` passes on as they are.
        kwargs: The keyword arguments.

    Returns:
        The positions of the arguments as text, and the names of the keyword arguments.
    """
    counts = _count_references(args, kwargs)
    temporary = _OF_TEMPORARY_WITH_NAMES if kwargs else _OF_TEMPORARY
    return {key for key, count in counts.items() if count > temporary}


def _count_references(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, int]:
    positional = {str(n): sys.getrefcount(arg) for n, arg in enumerate(args)}
    return positional | {name: sys.getrefcount(arg) for name, arg in kwargs.items()}


class _Probe:
    """Passes its arguments on in the same way as `Remote` does."""

    def __call__(self, *args: Any, **kwargs: Any) -> int:
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        return max(_count_references(args, kwargs).values())


# The number of references to an argument to which nothing but the call refers. Python copies the
# positional arguments if there are keyword arguments, too.
_OF_TEMPORARY, _OF_TEMPORARY_WITH_NAMES = _Probe()([]), _Probe()([], named=[])


def changed_part(value: Any, old: Data | None, new: Data | None, *, is_used: bool) -> Any:
    """Return a part of an argument that has changed and that the test can still see.

    Args:
        value: The judge's copy of the argument, or a part of it.
        old: The value as the student's process encoded it before the call, or None if it could not.
        new: The value as the student's process encoded it after the call, or None if it could not.
        is_used: Whether something else refers to the value.

    Returns:
        The part, or None.

    Example:
        >>> kept = [1, 2]
        >>> old = ["list", [["list", [["int", 1], ["int", 2]]]]]
        >>> new = ["list", [["list", [["int", 0], ["int", 2]]]]]
        >>> changed_part([kept], old, new, is_used=False)
        [1, 2]
        >>> changed_part([[1, 2]], old, new, is_used=False) is None
        True
    """
    if old == new:
        return None
    if isinstance(value, _MUTABLE) and (is_used or _shows_used_array(value)):
        return value
    before, after = _parts(old), _parts(new)
    keys = list(value) if isinstance(value, dict) else range(len(before))
    if len(keys) == len(before) == len(after) and isinstance(value, dict | list | tuple):
        for key, was, now in zip(keys, before, after, strict=True):
            is_shared = is_used or sys.getrefcount(value[key]) > _ONLY_IN_CONTAINER
            found = changed_part(value[key], was, now, is_used=is_shared)
            if found is not None:
                return found
    return None


def _parts(data: Data | None) -> list[Data]:
    """Return the data of the parts of a container, or an empty list."""
    if data is None or data[0] not in ("list", "tuple", "dict"):
        return []
    return [part[1] for part in data[1]] if data[0] == "dict" else data[1]


def _in_container(value: list[Any]) -> int:
    return sys.getrefcount(value[0])


_ONLY_IN_CONTAINER = _in_container([[]])


def _shows_used_array(value: Any) -> bool:
    """Return whether a value is a view of an array to which something else refers, too."""
    is_view = isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray)
    return is_view and sys.getrefcount(value.base) > _ONLY_IN_VIEW


_ONLY_IN_VIEW = sys.getrefcount(np.zeros(1)[:].base)
