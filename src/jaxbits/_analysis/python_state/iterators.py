"""Values that reading spends: where they stand, and copies of them."""

from __future__ import annotations

import copy
import gc
import io
import types
import warnings
from collections.abc import Iterator
from typing import Any

from jaxbits._analysis.python_state import object_fields


def is_iterator(value: Any) -> bool:
    """Whether a value is spent by reading it; files are not counted."""
    spent = isinstance(value, Iterator) or hasattr(type(value), "__next__")
    return spent and not isinstance(value, (io.IOBase, type))


def copy_of_iterator(value: Any) -> Any:
    """Return an iterator at the same position that shares none; None where there is no way.

    >>> pairs = zip([1, 2], "ab")
    >>> list(copy_of_iterator(pairs)), next(pairs)
    ([(1, 'a'), (2, 'b')], (1, 'a'))
    >>> copy_of_iterator(n for n in range(3))
    """

    def part(given: Any) -> Any:
        if not is_iterator(given):
            return given
        made = copy_of_iterator(given)
        if made is None:
            raise TypeError("no copy")
        return made

    if isinstance(value, types.GeneratorType):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(getattr(value, "__dict__", None), dict):
                made = copy.copy(value)
                for key, given in vars(value).items():
                    object.__setattr__(made, key, part(given))
                return None if made is value else made
            make, given, *state = value.__reduce__()
            made = make(*map(part, given))
            for at in state[:1]:
                if at is not None:
                    made.__setstate__(tuple(map(part, at)) if isinstance(at, tuple) else at)
    except Exception:  # a class of the user's may raise anything
        return None
    return None if made is value else made


def position(iterator: Any, depth: int = 8) -> Any:
    """Return what tells how far an iterator is, without taking from it."""
    if isinstance(iterator, types.GeneratorType):
        frame = iterator.gi_frame
        if frame is None or not depth:
            return frame and frame.f_lasti
        inner = [position(v, depth - 1) for v in frame.f_locals.values() if is_iterator(v)]
        return frame.f_lasti, {k: id(v) for k, v in frame.f_locals.items()}, inner
    own = object_fields.fields(iterator)
    if own is not None:
        parts = tuple(own.values())
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                parts = tuple(iterator.__reduce__()[1:])
        except Exception:  # some cannot be taken apart
            parts = ()
        parts += tuple(gc.get_referents(iterator))
    return [_position_of_part(part, depth) for part in parts] + [repr(iterator)[:80]]


def _position_of_part(part: Any, depth: int) -> Any:
    if isinstance(part, (int, float, str, type(None))):
        return part
    if depth and isinstance(part, tuple):
        return [_position_of_part(p, depth - 1) for p in part]
    return position(part, depth - 1) if depth and is_iterator(part) else id(part)
