"""The detector `iterator`: iterators that a trace advances."""

from __future__ import annotations

from collections.abc import Iterator

import jax

from jaxbits._analysis.code_location import place_of_error
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._finding import Finding


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
