"""What a function that calls jitted functions, but is not jitted itself, does on every call.

A tracing run of such a function shows two kinds of effects. The effects of the function itself
happen on every call, because nothing compiles it. The effects of the jitted functions happen only
while JAX traces them. A second tracing run, in which JAX finds their programs in its caches, shows
only the first kind.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from jaxbits import _jax_compat
from jaxbits._analysis import inner_programs
from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.call_monitor import CallLog
from jaxbits._analysis.python_state.references import Reference
from jaxbits._analysis.python_state.snapshot import StateChange
from jaxbits._analysis.trace import Trace

Retrace = Callable[..., Trace]


def trace_repeated_call(retrace: Retrace) -> Trace | None:
    """Return a trace of the user's function that finds all jitted functions in the caches.

    If the user's function creates a jitted function on every call, no cache has its program. The
    result is None in that case, because the trace shows both kinds of effects.

    Args:
        retrace: A function that traces the user's function again. It takes `keeps_caches`.
    """
    with _jax_compat.fresh_caches(), _jax_compat.keep_pmap_traces():
        first, second = retrace(keeps_caches=True), retrace(keeps_caches=True)
    is_cached = _inner_programs(second).keys() <= _inner_programs(first).keys()
    return second if is_cached else None


def keeps_old_program(retrace: Retrace, reference: Reference, value: Any) -> bool:
    """Return whether a jitted function keeps its program although a value that it reads changes.

    Args:
        retrace: A function that traces the user's function again. It takes `keeps_caches`.
        reference: The name of the value. Its current value is restored afterward.
        value: The new value.
    """
    original = reference.get()
    with _jax_compat.fresh_caches(), _jax_compat.keep_pmap_traces():
        retrace(keeps_caches=True)
        try:
            reference.set(value)
            cached = retrace(keeps_caches=True).fingerprint()
            return cached != retrace().fingerprint()
        finally:
            reference.set(original)


def is_same_change(change: StateChange, other: StateChange) -> bool:
    """Return whether two changes of a piece of Python state look alike."""
    return _identity(change.reference) == _identity(other.reference) and (
        change.kind,
        change.before,
        change.after,
    ) == (other.kind, other.before, other.after)


def changing_arrays(log: CallLog) -> Iterator[Any]:
    """Yield the arrays that a function replaces in Python state."""
    for change in log.changes:
        value = change.reference.get()
        inside = None if callable(value) else object_fields.fields(value)
        for leaf in jax.tree.leaves((value, inside)):
            # A generator of keys may store those that it has not returned yet in a deque.
            for part in leaf if isinstance(leaf, collections.deque) else (leaf,):
                if isinstance(part, (jax.Array, np.ndarray)):
                    yield part


def _inner_programs(trace: Trace) -> dict[int, Any]:
    """Return the programs of the jitted functions that a traced function calls, keyed by `id`."""
    equations = trace.program.jaxpr.eqns if trace.program else ()
    programs = map(inner_programs.compiled_program, equations)
    return {id(program): program for program in programs if program is not None}


def _identity(reference: Reference) -> tuple[Any, ...]:
    return reference.kind, reference.name, id(reference.holder), repr(reference.key)
