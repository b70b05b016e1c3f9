"""The detector `leak`: tracers that outlive their trace."""

from __future__ import annotations

from collections.abc import Iterator

import jax

from jaxbits._analysis.code_location import place_of_error
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.state_messages import named
from jaxbits._finding import Finding


@detector
def leak(subject: Subject) -> Iterator[Finding]:
    """Find traced values that a function stores where they outlive the trace.

    It compares all that the function reaches by globals, closures, defaults, and attributes of its
    object, its classes and functions, before and after one trace, in the 5000 objects that are
    nearest. It cannot see what is stored on an argument, or only in a library's module.
    `jax.checking_leaks()` comes closest: it finds a leak anywhere, and also references that are
    none.

    >>> from jaxbits import detect
    >>> kept = []
    >>> def loss(w):
    ...     kept.append(w * 2)
    ...     return w * w
    >>> found = detect.leak(jax.grad(loss), 3.0)[0]
    >>> found.message, kept
    ('a traced value is stored in global `kept`', [])
    >>> detect.leak(jax.grad(lambda w: w * w), 3.0)
    []
    """
    for change in subject.trace.seen.changes:
        if change.kind == "leak":
            yield Finding(
                "leak",
                "error",
                f"a traced value is stored in {named(change.reference)}".rstrip(","),
                f"{change.before} → {change.after}",
                _CACHED if change.reference.kind == "cache" else _RETURN,
                change.reference.place,
            )
    for error in subject.errors:
        if isinstance(error, jax.errors.UnexpectedTracerError):
            yield Finding(
                "leak",
                "error",
                "a traced value is used after the transformation that made it has ended",
                f"UnexpectedTracerError: {str(error).splitlines()[0][:70]}",
                _RETURN,
                subject.trace.escaped_at or place_of_error(error.__traceback__),
            )
            break


_RETURN = "return it (`has_aux=True` for `jax.grad`, the carry or the outputs of a loop)"
_CACHED = "cache NumPy arrays, or compute the table outside of the function"
