"""Read and restore what the caches of functions and context variables hold."""

from __future__ import annotations

import contextvars
import functools
import gc
from collections.abc import Callable
from typing import Any

LruCache = type(functools.lru_cache(lambda: None))
"""The type of functions decorated with `functools.lru_cache` or `functools.cache`."""


def cached_results(function: Callable[..., Any]) -> list[Any]:
    """Return the results that `functools.lru_cache` stores for a function.

    Python has no function that lists these results, but its garbage collector knows which objects
    the cache refers to.

    >>> @functools.cache
    ... def twice(n):
    ...     return [2 * n]
    >>> _ = twice(3)
    >>> [2 * 3] in cached_results(twice)
    True
    """
    attributes = vars(function)
    held = [item for item in gc.get_referents(function) if item is not attributes]
    results = [item for item in held if not isinstance(item, (dict, type))]
    return results + [v for item in held if isinstance(item, dict) for v in item.values()]


def held_values(value: Any) -> Any:
    """Return what a cache or context variable holds, or None for any other value."""
    if isinstance(value, LruCache):
        return tuple(cached_results(value))
    if isinstance(value, contextvars.ContextVar):
        return (value.get(None),)
    return None


def restore_held_values(value: Any, before: Any) -> None:
    """Restore a context variable, or clear a cache, whose entries cannot be removed one by one.

    Args:
        value: The context variable or cached function.
        before: What `held_values` returned.
    """
    if isinstance(value, contextvars.ContextVar):
        value.set(before[0])
    else:
        value.cache_clear()
