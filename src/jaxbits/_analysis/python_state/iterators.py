"""Functions that recognize iterators, copy them, and tell how far they have advanced."""

from __future__ import annotations

import gc
import io
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.object_copies import copy_object


def is_iterator(value: Any) -> bool:
    """Return whether reading a value uses it up. Files do not count."""
    spent = isinstance(value, Iterator) or hasattr(type(value), "__next__")
    return spent and not isinstance(value, (io.IOBase, type))


def copy_iterator(value: Any) -> Any:
    """Return an independent iterator at the same position, or None if it cannot be copied.

    >>> pairs = zip([1, 2], "ab")
    >>> list(copy_iterator(pairs)), next(pairs)
    ([(1, 'a'), (2, 'b')], (1, 'a'))
    >>> copy_iterator(n for n in range(3))
    """

    def copy_item(item: Any) -> Any:
        if not is_iterator(item):
            return item
        duplicate = copy_iterator(item)
        if duplicate is None:
            raise TypeError("no copy")
        return duplicate

    if isinstance(value, types.GeneratorType):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fields = object_fields.fields(value)
            if fields is not None:
                return copy_object(value, {key: copy_item(item) for key, item in fields.items()})
            construct, parameters, *state = value.__reduce__()
            duplicate = construct(*map(copy_item, parameters))
            if state and state[0] is not None:
                is_tuple = isinstance(state[0], tuple)
                duplicate.__setstate__(tuple(map(copy_item, state[0])) if is_tuple else state[0])
    except Exception:  # A user-defined class may raise any error.
        return None
    return None if duplicate is value else duplicate


def paused_position(value: Any) -> Any:
    """Return a value that changes whenever an async generator or a coroutine goes on."""
    frame = value.ag_frame if isinstance(value, types.AsyncGeneratorType) else value.cr_frame
    return frame and (frame.f_lasti, {k: id(v) for k, v in frame.f_locals.items()})


def iterator_position(iterator: Any, depth: int = 8) -> Any:
    """Return a value that changes whenever an iterator advances, without advancing it.

    Args:
        iterator: The iterator, which this function does not advance.
        depth: How many levels of nested iterators to follow.
    """
    if isinstance(iterator, types.GeneratorType):
        frame = iterator.gi_frame
        if frame is None or not depth:
            return frame and frame.f_lasti
        inner = [iterator_position(v, depth - 1) for v in frame.f_locals.values() if is_iterator(v)]
        return frame.f_lasti, {k: id(v) for k, v in frame.f_locals.items()}, inner
    attributes = object_fields.fields(iterator)
    if attributes is not None:
        parts = tuple(attributes.values())
    elif isinstance(iterator, (np.flatiter, np.broadcast)):
        parts = (iterator.index,)
    elif isinstance(iterator, np.nditer):
        parts = (_nditer_position(iterator),)
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                parts = tuple(iterator.__reduce__()[1:])
        except Exception:  # Some iterators do not support `__reduce__`.
            parts = ()
        parts += tuple(gc.get_referents(iterator))
    return [_part_position(part, depth) for part in parts] + [repr(iterator)[:80]]


def has_readable_position(iterator: Any) -> bool:
    """Return whether `iterator_position` can tell how far an iterator has advanced.

    >>> import re
    >>> has_readable_position(iter([1])), has_readable_position(re.finditer("a", "aa"))
    (True, False)
    """
    if type(iterator) is type(iter(int, 1)):  # A function computes its items.
        return False
    known = (types.GeneratorType, np.flatiter, np.broadcast, np.nditer)
    if isinstance(iterator, known) or object_fields.fields(iterator) is not None:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(iterator.__reduce__())
    except Exception:  # Some iterators do not support `__reduce__`.
        return False


def _nditer_position(iterator: np.nditer) -> Any:
    """Return the position after the next step, because the first step does not change it."""
    try:
        ahead = iterator.copy()
        return None if next(ahead, None) is None else ahead.iterindex
    except ValueError:  # The iterator was closed.
        return None


def _part_position(part: Any, depth: int) -> Any:
    if isinstance(part, (int, float, str, type(None))):
        return part
    if depth and isinstance(part, tuple):
        return [_part_position(p, depth - 1) for p in part]
    return iterator_position(part, depth - 1) if depth and is_iterator(part) else id(part)
