"""Contexts that bypass JAX's caches of traces and compiled programs, or complete them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import jax
from jax.core import Tracer

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


@contextmanager
def keep_pmap_traces() -> Iterator[None]:
    """Let JAX trace each function of `jax.pmap` only once in the block, even inside another trace.

    When JAX runs such a function, it looks for its program in a cache, as for a function of
    `jax.jit`. However, where `jax.pmap` has a primitive of its own, as in JAX 0.7.2, a surrounding
    trace makes JAX trace the function on every call. This context replaces a private function that
    traces such functions. In a version without it, the context does nothing:
    https://github.com/jax-ml/jax/blob/jax-v0.7.2/jax/_src/interpreters/partial_eval.py

    >>> import jax
    >>> import jax.numpy as jnp
    >>> traces = []
    >>> f = jax.pmap(lambda x: traces.append(1) or x)
    >>> with keep_pmap_traces():
    ...     _ = [jax.make_jaxpr(lambda x: f(x))(jnp.ones((1, 2))) for _ in range(2)]
    >>> len(traces)
    1
    """
    try:
        from jax._src import config
        from jax._src.interpreters import partial_eval
    except ImportError:
        yield
        return
    process_map = getattr(partial_eval.DynamicJaxprTrace, "process_map", None)
    trace = getattr(partial_eval, "trace_to_jaxpr_dynamic", None)
    trace_context = getattr(config, "trace_context", None)
    if process_map is None or trace is None or trace_context is None:
        yield
        return
    kept: dict[Any, tuple[Any, Any]] = {}

    def trace_once(function: Any, types: Sequence[Any], **options: Any) -> Any:
        if sys._getframe(1).f_code is not process_map.__code__:
            return trace(function, types, **options)
        # These are the keys of JAX's own cache of functions that it has wrapped:
        # https://github.com/jax-ml/jax/blob/jax-v0.7.2/jax/_src/linear_util.py
        key = (function.f, function.transforms, function.params, tuple(types), trace_context())
        if key in kept:
            result, stores = kept[key]
            function.populate_stores(stores)
            return result
        result = trace(function, types, **options)
        # A program that captures tracers is of no use in another trace.
        if not any(isinstance(constant, Tracer) for constant in result[-1]):
            kept[key] = result, function.stores
        return result

    partial_eval.trace_to_jaxpr_dynamic = trace_once
    try:
        yield
    finally:
        partial_eval.trace_to_jaxpr_dynamic = trace
