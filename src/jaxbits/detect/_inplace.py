"""Arguments and arrays that are changed in place."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

import jax
import numpy as np

from jaxbits._analysis.code_location import place_of_error
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject, copied
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import arguments
from jaxbits._analysis.python_state.snapshot import Change, Memory
from jaxbits._analysis.source import at_updates
from jaxbits._finding import Finding

_FIX = "return the new value: `x = x.at[i].set(v)`, `{**d, key: v}`"


@detector
def inplace(subject: Subject) -> Iterator[Finding]:
    """Find arguments that a function changes in place, and assignments to items of JAX arrays.

    It compares the containers and your objects among the arguments before and after one trace,
    and, where there are NumPy arrays, those before and after one plain call; and it reads the error
    that an assignment to a traced array raises. In the function's source it looks for a NumPy array
    that is written to after `jnp.asarray` has taken it, further down or in the next turn of a loop
    that keeps what JAX made of it, as they may share memory; and for updates with `.at` whose
    result is dropped. It cannot see what is done to objects of a library's. JAX
    raises for its own arrays; it has no switch for the rest.

    >>> import numpy as np
    >>> from jaxbits import detect
    >>> def halve(x):
    ...     x /= 2
    ...     return x
    >>> given = np.ones(2)
    >>> print(detect.inplace(halve, given)[0].message, given)
    argument args[0] is changed in place [1. 1.]
    >>> detect.inplace(lambda x: x / 2, given)
    []
    """
    errors = list(subject.errors)
    changes = list(subject.trace.changed_arguments)
    leaves = jax.tree.leaves((subject.args, subject.kwargs), is_leaf=is_iterator)
    views = any(isinstance(e, jax.errors.TracerArrayConversionError) for e in errors)
    if views or any(isinstance(leaf, np.ndarray) for leaf in leaves):
        changed, errors = _plain_call(subject)
        changes += changed
    for name, change in {change.reference.name: change for change in changes}.items():
        yield Finding(
            "inplace",
            "error",
            f"argument {name} is changed in place",
            f"{change.before} → {change.after}; under `jax.jit` the caller's stays as it was",
            _FIX,
            bit="augmented-assignment-rebinds",
        )
    for error in errors:
        what = _refused(error)
        if what:
            yield Finding(
                "inplace",
                "error",
                f"{what} assigned to or deleted",
                f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:70]}",
                _FIX,
                place_of_error(error.__traceback__),
            )
            break
    for place in at_updates.dropped(subject.function):
        yield Finding(
            "inplace",
            "warning",
            "the result of an update with `.at` is thrown away: the array stays as it was",
            "an expression on its own, assigned to nothing",
            "`x = x.at[i].set(v)`",
            place,
            "update-discarded",
        )
    for place, name in at_updates.refilled(subject.function):
        yield Finding(
            "inplace",
            "warning",
            f"NumPy array `{name}` is written to after JAX has taken it",
            "on a CPU the two may share memory",
            "hand over a copy of its own: `a.copy()`",
            place,
            "host-buffer-shared",
        )


def _refused(error: Exception) -> str:
    """Say what an error refused to have changed; nothing where it is about something else."""
    text = str(error)
    if isinstance(error, TypeError) and "item assignment" in text:
        return "an item of a JAX array is" * ("JAX" in text or "Tracer" in text)
    if isinstance(error, ValueError) and "destination is read-only" in text:
        return "a read-only view of a JAX array is"
    if isinstance(error, AttributeError):
        if text == "__delitem__":
            return "an item of a JAX array is"
        if isinstance(error, dataclasses.FrozenInstanceError) or "can't set attr" in text:
            return "a field of a frozen object is"
        if re.search(r"'(\w*Tracer|ArrayImpl)' object has no setter", text):
            return "an attribute of a JAX array is"
    return ""


def _plain_call(subject: Subject) -> tuple[list[Change], list[Exception]]:
    args, kwargs = copied(subject.args), copied(subject.kwargs)
    memory = Memory(arguments(args, kwargs), objects=False)
    failed = []
    with subject.put_back():
        try:
            subject.function(*args, **kwargs)
        except Exception as error:  # what it raises may be what is looked for
            failed.append(error)
        changes = memory.changes()
    return changes, failed
