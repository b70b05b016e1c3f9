"""The one place for what JAX does not offer in public, with the versions it was tried on.

Tried on jax 0.7.2, 0.10.2 and 0.12.0.1. Everything here degrades: where a version lacks what is
looked for, the functions say so by their result instead of raising.
"""

from __future__ import annotations

from typing import Any


def source_line(equation: Any) -> int | None:
    """Return the line of the reader's code that an equation of a jaxpr came from.

    Args:
        equation: one of ``jax.make_jaxpr(f)(*args).eqns``.

    Returns:
        The line in its file, or in its cell; None where this JAX does not tell.

    >>> import jax
    >>> jaxpr = jax.make_jaxpr(lambda x: x + 1)(2.0)
    >>> source_line(jaxpr.eqns[0])
    1
    """
    try:
        from jax._src.source_info_util import user_frame
    except ImportError:
        return None
    try:
        frame = user_frame(equation.source_info.traceback)
    except (AttributeError, TypeError):
        return None
    return None if frame is None else int(frame.start_line)
