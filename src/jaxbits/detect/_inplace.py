"""The detector `inplace`: arguments and arrays that are modified in place."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

import jax
import numpy as np

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import (
    CodeLocation,
    location_of,
    location_of_error,
    location_of_function,
)
from jaxbits._analysis.copying import copy_tree
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import argument_references
from jaxbits._analysis.python_state.snapshot import StateChange, StateSnapshot
from jaxbits._analysis.source import at_updates
from jaxbits._analysis.source.argument_writes import find_argument_write
from jaxbits._analysis.tracing_errors import error_signature, parameter_names
from jaxbits._analysis.wrapped_call import is_plain_jit
from jaxbits._formatting import first_line

_FIX = "return the new value: `x = x * 2`, `x = x.at[i].set(v)`, `{**d, key: v}`"


@detector(needs="calls", reads=["log", "state"])
def inplace(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find arguments that a function modifies in place, and item assignments to JAX arrays.

    The detector compares the containers and user objects among the arguments before and after one
    trace. If there are NumPy arrays and the function is not jitted, it also compares them before
    and after one call. It also reports an object, such as a module, that a function compiled with
    `jax.jit` updates without returning it. It recognizes the error that an item assignment to a
    traced array raises. In the function's source and that of the functions that it calls, it looks
    for `.at` updates whose results are discarded. It also looks for a NumPy array that the function
    passes to `jnp.asarray` and then writes to, later in the function or in the next iteration of a
    loop, because the two arrays may share memory. If the function is not jitted but calls jitted
    functions, what it changes itself is only a note, because it changes the caller's objects in
    every call. It cannot see changes to a library's objects if their classes are not pytrees. JAX
    raises an error for its own arrays, and it has no switch for the rest.

    >>> import numpy as np
    >>> from jaxbits import detect
    >>> def halve(x):
    ...     x /= 2
    ...     return x
    >>> given = np.ones(2)
    >>> print(detect.inplace(halve, given)[0].message, given)
    argument `x` is changed in place [1. 1.]
    >>> detect.inplace(lambda x: x / 2, given)
    []
    """
    errors = list(target.errors)
    changes = list(target.trace.changed_arguments)
    leaves = jax.tree.leaves((target.args, target.kwargs), is_leaf=is_iterator)
    needs_numpy = any(isinstance(e, jax.errors.TracerArrayConversionError) for e in errors)
    has_numpy = needs_numpy or any(isinstance(leaf, np.ndarray) for leaf in leaves)
    # A jitted function receives tracers in place of NumPy arrays, so the trace has shown all.
    if has_numpy and not target.is_jitted:
        call_changes, errors = _call_on_copies(target)
        changes += call_changes
    # A traced argument rejects what changes an array of NumPy.
    explains = next((error_signature(e) for e in target.errors if _refused_target(e)), "")
    for change in {change.reference.name: change for change in changes}.values():
        name = _parameter_name(target, change)
        if _happens_in_every_call(target, change):
            yield Finding(
                "note",
                f"argument `{name}` is changed in place in every call",
                f"{change.before} → {change.after}; nothing jits the function",
                f"none needed; if you jit the function, {_FIX}",
                find_argument_write(target.function, name),
                "augmented-assignment-rebinds",
                explains=explains,
            )
            continue
        yield Finding(
            "error",
            f"argument `{name}` is changed in place",
            f"{change.before} → {change.after}; under `jax.jit`, the caller's does not change",
            _FIX,
            find_argument_write(target.function, name),
            "augmented-assignment-rebinds",
            explains=explains,
        )
    lost = target.trace.wrapped_call.lost_updates if is_plain_jit(target.function) else {}
    for name, count in lost.items():
        yield Finding(
            "error",
            f"argument {name} is changed inside `jax.jit`, which works on a copy",
            f"{count} array{'s' * (count > 1)} replaced and not returned; the caller's "
            f"{'do' if count > 1 else 'does'} not change",
            "return the changed object, or use a `jit` that returns changes, such as `nnx.jit`",
            location_of_function(target.function),
            "augmented-assignment-rebinds",
        )
    for error in errors:
        subject = _refused_target(error)
        if subject:
            yield Finding(
                "error",
                f"{subject} assigned to or deleted",
                f"{type(error).__name__}: {first_line(error, 70)}",
                _FIX,
                location_of_error(error.__traceback__),
                explains=error_signature(error),
            )
            break
    for location in _discarded_updates(target):
        method = at_updates.method_of_update(location)
        yield Finding(
            "error",
            "the result of an update with `.at` is discarded, so the array does not change",
            "the result is not assigned to a name",
            f"`x = x.at[i].{method}({'f' if method == 'apply' else 'v'})`",
            location,
            "update-discarded",
        )
    for location, name in at_updates.find_refilled_buffers(target.function):
        yield Finding(
            "warning",
            f"NumPy array `{name}` is written to after it was passed to JAX",
            "on a CPU, the two arrays may share memory",
            "pass a copy: `a.copy()`",
            location,
            "host-buffer-shared",
        )


def _happens_in_every_call(target: FunctionUnderTest, change: StateChange) -> bool:
    """Return whether a function that nothing jits changes an argument itself, and with an array.

    A jitted function that it calls changes the argument only while JAX traces it. If JAX traces
    that function in every call, the argument then holds a tracer.
    """
    if not target.may_be_driver:
        return False
    if any(trace is not target.trace.outermost for trace in change.traces):
        return False
    repeated, name = target.repeated_trace, change.reference.name
    return (
        repeated is None
        or name in _names(repeated.changed_arguments)
        or name not in _names(target.trace.changed_arguments)
    )


def _names(changes: Iterable[StateChange]) -> set[str]:
    return {change.reference.name for change in changes}


def _discarded_updates(target: FunctionUnderTest) -> Iterator[CodeLocation]:
    """Yield the lines that discard an update, in the function and in those that it calls."""
    found = list(at_updates.find_discarded_updates(target.function))
    program = target.trace.program
    for equation in jaxpr_utils.all_equations(program) if program else ():
        if equation.primitive.name.startswith(("scatter", "dynamic_update_slice")):
            location = location_of(equation)
            update = at_updates.discarded_update_at(location) if location else None
            found += [update] if update else []
    by_line: dict[tuple[str, int], CodeLocation] = {}
    for place in found:
        by_line.setdefault((place.file, place.line), place)
    yield from by_line.values()


def _parameter_name(target: FunctionUnderTest, change: StateChange) -> str:
    """Return the name of the parameter whose argument changed."""
    key = change.reference.key
    names = parameter_names(target.function) if isinstance(key, int) else []
    return names[key] if key in range(len(names)) else change.reference.name


def _refused_target(error: Exception) -> str:
    """Return what, according to an error, could not be modified, or "" if it is unrelated."""
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


def _call_on_copies(target: FunctionUnderTest) -> tuple[list[StateChange], list[Exception]]:
    args, kwargs = copy_tree(target.args), copy_tree(target.kwargs)
    snapshot = StateSnapshot(argument_references(args, kwargs), objects=False)
    errors = []
    with target.restore_state():
        try:
            target.function(*args, **kwargs)
        except Exception as error:  # The error may be what the check looks for.
            errors.append(error)
            target.add_call_error(1, error)
        else:
            target.has_seen_call = True
        changes = snapshot.changes()
    return changes, errors
