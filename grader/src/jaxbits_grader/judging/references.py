"""Find out whether a test uses an argument again after passing it to an answer."""

from __future__ import annotations

import sys
from typing import Any


def count_references(args: tuple[Any, ...]) -> list[int]:
    """Return the number of references to each argument of a call.

    Compare only numbers from the same call depth, because each call adds references.
    """
    return [sys.getrefcount(arg) for arg in args]


class _Probe:
    """Passes its arguments on in the same way as `Remote` does."""

    def __call__(self, *args: Any, **kwargs: Any) -> int:
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        return count_references(args)[0]


TEMPORARY = _Probe()([])
"""The number of references to an argument that nothing but the call refers to."""
