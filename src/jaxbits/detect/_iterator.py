"""The detector `iterator`: iterators that a trace advances."""

from __future__ import annotations

from collections.abc import Iterator

import jax

from jaxbits._analysis.code_location import CodeLocation, location_of_error
from jaxbits._analysis.copying import NotCopied
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.repeated_calls import is_same_change
from jaxbits._analysis.tracing_errors import error_signature


@detector(reads=["log", "state"])
def iterator(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find iterators that tracing advances but a cached call does not.

    The detector looks for iterators among the arguments, and for iterators in globals, closures,
    defaults, and attributes that one trace advances. It also looks for calls to `next` in the body
    of a JAX loop on an iterator created outside the body. If the function is not jitted but calls
    jitted functions, what it advances itself does not count, because that happens in every call. It
    cannot see a local iterator that is in a container or an object, as in `next(iterators[0])`, or
    other objects that are used up, such as a queue. JAX has no switch for this.

    >>> from jaxbits import detect
    >>> numbers = iter([1.0, 2.0, 3.0])
    >>> print(detect.iterator(lambda x: x + next(numbers), 1.0)[0].message)
    global iterator `numbers` is advanced only while JAX traces the function
    >>> next(numbers)
    1.0
    """
    leaves = jax.tree.leaves((target.args, target.kwargs), is_leaf=is_iterator)
    not_copied = [error for error in target.errors if isinstance(error, NotCopied)]
    for leaf in leaves:
        # A function that calls jitted functions may well take an iterator, such as batches.
        if is_iterator(leaf) and not target.names_jitted_functions:
            yield Finding(
                "error",
                "an iterator is passed as an argument",
                f"a {type(leaf).__name__}; `jax.jit` expects arrays",
                "pass its elements as one array",
                explains=error_signature(not_copied[0]) if not_copied else "",
            )
    for change in target.trace.log.changes:
        if change.kind == "iterator" and not any(
            is_same_change(change, other) for other in target.every_call.changes
        ):
            yield Finding(
                "warning",
                f"{change.reference.kind} iterator `{change.reference.name}` is advanced only "
                "while JAX traces the function",
                "advanced in one trace; later calls use the same value again",
                "call `next` outside, and pass the value as an argument",
                change.reference.stored_at or change.reference.location,
                subject=change.reference.describe(),
            )
    for error in target.errors:
        error_location = location_of_error(error.__traceback__)
        for location, kind, function in target.trace.log.passed:
            if _is_same_line(error_location, location):
                yield Finding(
                    "error",
                    "an iterator is passed to a JAX function, which expects arrays",
                    f"a {kind}, to `{function}`; {type(error).__name__}",
                    "pass its elements as an array: `jnp.stack(list(values))`",
                    location,
                    explains=error_signature(error),
                )
                return
    for location in dict.fromkeys(target.trace.log.advanced):
        yield Finding(
            "warning",
            "an iterator is advanced in the body of a loop that is traced once",
            "`next` is called once per trace, not once per iteration",
            "pass its elements as an array, and loop over that",
            location,
        )


def _is_same_line(a: CodeLocation | None, b: CodeLocation) -> bool:
    return a is not None and (a.file, a.line) == (b.file, b.line)
