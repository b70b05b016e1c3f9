"""A context that bypasses JAX's caches of traces and compiled programs."""

from __future__ import annotations

import itertools
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

# JAX adds every new user context to the keys of all caches, so creating one makes JAX retrace
# everything. Create it on import, when nothing has usually been compiled yet, rather than at the
# first check. (JAX 0.12 retraces at the first check anyway.)
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/config.py
_user_context: Any = getattr(jax, "make_user_context", lambda _: None)(None)
_counter = itertools.count()


def fresh_caches() -> AbstractContextManager[Any]:
    """Return a context in which JAX retraces every function, although its caches are not cleared.

    The keys of JAX's caches include a value that callers can set. In versions such as 0.10.2 and
    0.12, `jax.make_user_context` sets it, and in 0.7.2, it is the XLA metadata. This function sets
    a value that has never been used and therefore matches no entry in any cache. In a version with
    neither, the returned context does nothing.

    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/config.py
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/xla_metadata.py

    >>> import jax
    >>> traces = []
    >>> f = jax.jit(lambda x: traces.append(1) or x)
    >>> _ = f(1.0), f(1.0)
    >>> with fresh_caches():
    ...     _ = f(1.0)
    >>> len(traces)
    2
    """
    if _user_context is not None:
        context: AbstractContextManager[Any] = _user_context(f"jaxbits {next(_counter)}")
        return context
    try:
        from jax.experimental.xla_metadata import set_xla_metadata
    except ImportError:
        return nullcontext()
    metadata: AbstractContextManager[Any] = set_xla_metadata(jaxbits=str(next(_counter)))
    return metadata
