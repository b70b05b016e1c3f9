"""What happens once a trace instead of once a call: effects, leaks, spent iterators."""

from __future__ import annotations

from collections.abc import Iterator

import jax

from jaxbits.detect.detector import detector
from jaxbits.detect.finding import Finding, place_of_error
from jaxbits.detect.iterators import is_iterator
from jaxbits.detect.state import Reference
from jaxbits.detect.subject import Subject


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


def named(reference: Reference) -> str:
    """Return what to call a piece of state in a message."""
    if reference.kind == "object":
        return f"an attribute of `self`, a {type(reference.holder).__name__},"
    if reference.kind == "argument":
        return f"argument {reference.name}, a {type(reference.holder).__name__},"
    if reference.kind == "cache":
        return f"the cache of `{reference.name}`"
    return f"{reference.kind} `{reference.name}`"


def environment(subject: Subject, check: str) -> Iterator[Finding]:
    """Yield a finding for each line that reads a variable of the environment."""
    for place in dict.fromkeys(subject.trace.seen.environment):
        yield Finding(
            check,
            "warning",
            "the environment is read while tracing, and by no cached call",
            "1 read in a trace, 0 in a call after it",
            "read it outside, and pass the value as an argument",
            place,
        )


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


@detector
def iterator(subject: Subject) -> Iterator[Finding]:
    """Find iterators that a trace spends: a cached call takes nothing from them.

    It looks for iterators among the arguments, for those in globals, closures, defaults and
    attributes that one trace advanced, and for calls of `next` in the body of a loop of JAX's on an
    iterator from around it. It cannot see a local one that a `for` advances in such a body. JAX has
    no switch for it.

    >>> from jaxbits import detect
    >>> numbers = iter([1.0, 2.0, 3.0])
    >>> print(detect.iterator(lambda x: x + next(numbers), 1.0)[0].message)
    global iterator `numbers` is advanced while tracing, and by no cached call
    >>> next(numbers)
    1.0
    """
    leaves = jax.tree.leaves((subject.args, subject.kwargs), is_leaf=is_iterator)
    for leaf in leaves:
        if is_iterator(leaf):
            yield Finding(
                "iterator",
                "error",
                "an iterator is passed as an argument",
                f"a {type(leaf).__name__}; `jax.jit` takes arrays",
                "pass what it holds, as one array",
            )
    for change in subject.trace.seen.changes:
        if change.kind == "iterator":
            yield Finding(
                "iterator",
                "warning",
                f"{change.reference.kind} iterator `{change.reference.name}` is advanced while "
                "tracing, and by no cached call",
                "advanced in one trace; a call after it would use the same value again",
                "call `next` outside, and pass the value as an argument",
                change.reference.place,
            )
    for error in subject.errors:
        at = place_of_error(error.__traceback__)
        for place, kind, function in subject.trace.seen.passed:
            if at and (at.file, at.line) == (place.file, place.line):
                yield Finding(
                    "iterator",
                    "error",
                    "an iterator is passed to a function of JAX's, which takes arrays",
                    f"a {kind}, to `{function}`; {type(error).__name__}",
                    "pass what it holds as an array: `jnp.stack(list(values))`",
                    place,
                )
                return
    for place in dict.fromkeys(subject.trace.seen.advanced):
        yield Finding(
            "iterator",
            "warning",
            "an iterator is advanced in the body of a loop that is traced once",
            "`next` is called once a trace, not once a turn",
            "pass what it holds as an array, and loop over that",
            place,
        )
