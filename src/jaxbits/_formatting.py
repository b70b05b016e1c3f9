"""One-line formatting."""

from __future__ import annotations


def first_line(error: BaseException, limit: int = 100) -> str:
    r"""Return the first line of an error's message.

    Args:
        error: The error.
        limit: The maximum number of characters to return.

    >>> first_line(ValueError("no such axis: 3\nThe array has 2."))
    'no such axis: 3'
    """
    return (str(error).splitlines() or [""])[0][:limit]
