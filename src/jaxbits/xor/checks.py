"""Arguments that are wrong, said by their name, before they are used."""

from __future__ import annotations

import operator
from typing import Any


def whole_number(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number that lies in a range.

    Raises:
        TypeError: when it is not a whole number; a bool or a float such as 5.0 is none.
        ValueError: when it is out of range.

    >>> whole_number("epochs", 3, 0)
    3
    >>> whole_number("epochs", 3.0, 0)
    Traceback (most recent call last):
    TypeError: epochs=3.0: should be a whole number
    """
    if isinstance(value, bool):
        raise TypeError(f"{name}={value!r}: should be a whole number")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: should be a whole number") from None
    if number < low or (high is not None and number > high):
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name}={number}: should be {limits}")
    return number
