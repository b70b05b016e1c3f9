"""The detector `leak`: tracers that outlive their trace."""

from __future__ import annotations

from collections.abc import Iterator

import jax

from jaxbits._analysis.code_location import location_of_error
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding, Severity
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.snapshot import StateChange
from jaxbits._analysis.tracing_errors import error_signature
from jaxbits._formatting import first_line

_RETURN = "return it (`has_aux=True` for `jax.grad`, the carry or the outputs of a loop)"
_CACHED = "cache NumPy arrays, or compute the table outside the function"


@detector(reads=["log", "state"])
def leak(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find traced values that a function stores where they outlive the trace.

    The detector compares the state that the function can reach before and after one trace, up to
    the 5000 nearest objects. This state includes globals, closures, defaults, and attributes of the
    function's object, classes, and functions. The detector cannot see values that are stored in a
    list, a dict, or a library's object among the arguments, or only in a library's module. The
    check `inplace` reports lists and dicts among the arguments that the function changes. JAX's
    closest equivalent is `jax.checking_leaks()`, which finds leaks anywhere but also reports
    references that are not leaks. If the function is not jitted but calls jitted functions, the
    detector reports only a note for values that the function itself stores, because they are not
    tracers unless you jit the function. A value that an inner transformation traced, such as the
    loss inside `jax.grad`, is an error even then.

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
    for change in target.trace.log.changes:
        if change.kind == "leak":
            yield _change_finding(target, change)
    for error in target.errors:
        if isinstance(error, jax.errors.UnexpectedTracerError):
            yield Finding(
                "error",
                "a traced value is used after the transformation that made it has ended",
                f"UnexpectedTracerError: {first_line(error, 70)}",
                _RETURN,
                target.trace.escaped_at or location_of_error(error.__traceback__),
                explains=error_signature(error),
            )
            break


def _change_finding(target: FunctionUnderTest, change: StateChange) -> Finding:
    reference = change.reference
    state = reference.describe().rstrip(",")
    place = reference.stored_at or reference.location
    advice = _CACHED if reference.kind == "cache" else _RETURN
    severity: Severity = "error"
    message, evidence = f"a traced value is stored in {state}", f"{change.before} → {change.after}"
    if not _outlives_call(target, change):
        severity, message = "note", f"{state} would hold a traced value if you jitted the function"
        evidence += " in a trace, but nothing jits the function"
        advice += ", if you jit the function"
    return Finding(severity, message, evidence, advice, place, subject=reference.describe())


def _outlives_call(target: FunctionUnderTest, change: StateChange) -> bool:
    """Return whether a call leaves a tracer behind even though nothing jits the function.

    A value that belongs to the function's own trace is an array when the function is called. Only a
    value that belongs to the trace of an inner transformation is a tracer then, too.
    """
    outermost = target.trace.outermost
    return not target.may_be_driver or any(trace is not outermost for trace in change.traces)
