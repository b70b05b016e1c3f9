"""Read and restore what caches, loggers, buffers, queues, and similar objects hold."""

from __future__ import annotations

import contextvars
import functools
import gc
import hashlib
import io
import logging
import queue
import zlib
from collections.abc import Callable
from typing import Any

LruCache = type(functools.lru_cache(lambda: None))
"""The type of functions decorated with `functools.lru_cache` or `functools.cache`."""
_LOGGER_SETTINGS = ("level", "disabled", "propagate")
# OpenSSL and Python each bring types of their own for the same algorithms.
_HASH_TYPES = {type(hashlib.new(name)) for name in hashlib.algorithms_guaranteed}
_Compressor = type(zlib.compressobj())
_BUFFERS = (io.StringIO, io.BytesIO)
HOLDER_TYPES = (
    *(LruCache, contextvars.ContextVar, logging.Logger, queue.SimpleQueue, _Compressor),
    *_BUFFERS,
    *_HASH_TYPES,
)
"""The types that `held_values` reads."""


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
    """Return what one of these objects holds, or None for objects of other types.

    A logger holds its settings. What else it stores is a cache. Of a queue, only the length can be
    read.
    """
    if isinstance(value, LruCache):
        return tuple(cached_results(value))
    if isinstance(value, contextvars.ContextVar):
        return (value.get(None),)
    if isinstance(value, logging.Logger):
        return {name: getattr(value, name) for name in _LOGGER_SETTINGS}
    if isinstance(value, _BUFFERS):
        return None if value.closed else {"text": value.getvalue(), "position": value.tell()}
    if isinstance(value, queue.SimpleQueue):
        return {"length": value.qsize()}
    if isinstance(value, _Compressor):
        try:
            return value.copy().flush()
        except ValueError:  # It has finished.
            return None
    if type(value) in _HASH_TYPES:
        # The digests of SHAKE have no length of their own.
        return value.hexdigest() if value.digest_size else value.hexdigest(32)
    return None


def restore_held_values(value: Any, before: Any) -> None:
    """Restore such an object, or clear a cache, whose entries cannot be removed one by one.

    A hash object or a compressor stays as it is, because no method sets its state. What was taken
    from a queue stays lost.

    Args:
        value: The object.
        before: What `held_values` returned.
    """
    if isinstance(value, contextvars.ContextVar):
        value.set(before[0])
    elif isinstance(value, LruCache):
        value.cache_clear()
    elif isinstance(value, logging.Logger):
        value.setLevel(before["level"])
        value.disabled, value.propagate = before["disabled"], before["propagate"]
    elif isinstance(value, queue.SimpleQueue):
        items = [value.get_nowait() for _ in range(value.qsize())]
        for item in items[: before["length"]]:
            value.put(item)
    elif isinstance(value, _BUFFERS) and before is not None and not value.closed:
        value.seek(0)
        value.truncate()
        value.write(before["text"])
        value.seek(before["position"])
