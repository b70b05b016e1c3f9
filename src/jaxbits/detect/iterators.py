"""Values that reading spends: where they stand, and copies of them."""

from __future__ import annotations

import copy
import io
import types
import warnings
from collections.abc import Iterator
from typing import Any


def is_iterator(value: Any) -> bool:
    """Whether a value is spent by reading it; files are not counted."""
    return isinstance(value, Iterator) and not isinstance(value, io.IOBase)


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


def position(iterator: Any) -> Any:
    """Return where an iterator stands, as something to compare."""
    if isinstance(iterator, types.GeneratorType):
        frame = iterator.gi_frame
        return frame and (frame.f_lasti, repr(frame.f_locals))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return repr(iterator), repr(iterator.__reduce__()[1:])
    except TypeError:
        return repr(iterator)
