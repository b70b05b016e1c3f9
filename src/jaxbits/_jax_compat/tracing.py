"""Functions that query and restore JAX's current trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import jax


@contextmanager
def keep_current_trace() -> Iterator[None]:
    """Restore JAX's current trace after the block, even if an exception stops the block inside JAX.

    An exception raised from another thread may arrive before JAX resets the trace itself. In a
    version without the global `trace_ctx`, nothing is restored. JAX 0.7.2 through 0.12 store the
    trace there:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/core.py
    """
    context = _trace_context()
    before = getattr(context, "trace", None)
    try:
        yield
    finally:
        if context is not None and context.trace is not before:
            context.set_trace(before)


def _trace_context() -> Any:
    try:
        from jax._src.core import trace_ctx
    except ImportError:
        return None
    return trace_ctx if hasattr(trace_ctx, "set_trace") else None


def current_trace() -> Any:
    """Return the object that represents JAX's current trace, or None if JAX has no such object."""
    return getattr(_trace_context(), "trace", None)


def trace_of(tracer: Any) -> Any:
    """Return the object that represents the trace of a tracer, or None if JAX has no such object.

    In JAX 0.7.2 through 0.12, a tracer refers to its trace:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/core.py
    """
    return getattr(tracer, "_trace", None)


def is_tracing() -> bool:
    """Return whether JAX is tracing, or False if this version of JAX cannot tell.

    This function looks for `trace_state_clean` in `jax.core`, and then where JAX 0.10.2 defines it:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/core.py
    """
    is_clean = getattr(jax.core, "trace_state_clean", None)
    if is_clean is None:
        with suppress(ImportError):
            from jax._src.core import trace_state_clean as is_clean
    return is_clean is not None and not is_clean()


def is_jit_frame(frame: FrameType) -> bool:
    """Return whether a frame belongs to the implementation of `jax.jit`.

    In JAX 0.7.2 through 0.12, this implementation is the module `pjit`. In a version without this
    module, the result is False:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/pjit.py

    Args:
        frame: The frame, such as one that leads from a transformation to the user's function.
    """
    return str(frame.f_globals.get("__name__", "")) == "jax._src.pjit"
