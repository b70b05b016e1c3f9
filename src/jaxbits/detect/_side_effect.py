"""The detector `side_effect`: what runs once per trace instead of once per call."""

from __future__ import annotations

from collections.abc import Iterator

from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.state_messages import environment, named
from jaxbits._finding import Finding


@detector
def side_effect(subject: Subject) -> Iterator[Finding]:
    """Find what a function does to the world, or reads from it, while it is traced.

    It traces the function once, with caches off, and sees the calls that the user's own lines make
    to print, log, warn, read clocks, draw random numbers outside of JAX, open files and start
    programs; and which globals, closures, defaults, attributes and containers in them changed.
    It cannot see effects inside of libraries and C code, nor in a branch that this trace did not
    take. JAX has no switch for it; `jax.checking_leaks()` finds a tracer that was stored.

    >>> from jaxbits import detect
    >>> def step(x):
    ...     print("step", x)
    ...     return x + 1
    >>> print(detect.side_effect(step, 1.0)[0].message)
    `print` runs while tracing, and on no cached call
    >>> detect.side_effect(lambda x: x + 1, 1.0)
    []
    """
    seen = subject.trace.seen
    for (name, place), times in seen.calls.items():
        yield Finding(
            "side_effect",
            "warning",
            f"`{name}` runs while tracing, and on no cached call",
            f"{times} time{'s' * (times > 1)} in one trace, 0 in a call after it",
            "`jax.debug.print` or `jax.debug.callback`; `jax.random` for random numbers; "
            "clocks and files outside of the function",
            place,
        )
    yield from environment(subject, "side_effect")
    if seen.written.strip() and not seen.calls:
        yield Finding(
            "side_effect",
            "warning",
            "something is printed while tracing, and on no cached call",
            f"{len(seen.written)} letters, {seen.written.strip()[:40]!r}",
            "`jax.debug.print`",
        )
    for change in seen.changes:
        yield Finding(
            "side_effect",
            "warning",
            f"{named(change.reference)} is {_DONE[change.kind]} while tracing",
            f"{change.before} → {change.after}; a cached call changes nothing",
            "return the new value",
            change.reference.place,
        )


_DONE = {"state": "changed", "leak": "given a traced value", "iterator": "advanced"}
