"""The detector `transfer`: hidden transfers of values between host and device."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import (
    CodeLocation,
    is_user_code,
    location_of,
    location_of_error,
)
from jaxbits._analysis.detector import detector
from jaxbits._analysis.execution_cost import estimate_microseconds
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.numpy_arguments import NumpyArguments
from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.reachable_state import used_names
from jaxbits._analysis.tracing_errors import error_signature

_MIN_BYTES, _MIN_CALLS = 1 << 12, 3
# A debugging callback added 60 to 100 µs to an iteration on a CPU with JAX 0.10.2. A loop body with
# one operation on a few numbers takes less than 1 µs. With a body above this limit, the callback
# makes the loop at most about ten times slower, even in a program that is tiny for a test.
_MIN_BODY_MICROSECONDS = 10.0
_CALLBACKS = {"pure_callback", "io_callback", "outside_call"}
_DEBUG_CALLBACKS = {"debug_callback", "debug_print"}
_TEXT_FUNCTIONS = {
    "print",
    "str",
    "repr",
    "format",
    "device_get",
    "info",
    "warning",
    "debug",
    "write",
}
_CONVERSION = re.compile(r"(\b(?:float|int|bool|complex)\(|\.(?:item|tolist)\()")
_READS = {
    "__float__": "float()",
    "__int__": "int()",
    "__bool__": "a truth test",
    "__index__": "an index",
    "__complex__": "complex()",
    "__array__": "a NumPy function",
    "__dlpack__": "DLPack",
    "__repr__": "a string",
    "__str__": "a string",
    "__format__": "a string",
    "item": ".item()",
    "tolist": ".tolist()",
    "get": "jax.device_get",
}


@detector(needs="calls", reads=[])
def transfer(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find hidden transfers of values between host and device.

    If the function is not jitted, the detector runs it once and records what Python reads from
    arrays with `float`, `.item()`, `print`, `if`, NumPy, or DLPack. It warns about callbacks in the
    program. However, it reports only a note for a callback in a branch, and for a debugging
    callback that is outside a loop or in a loop whose body does much other work. It also reports
    NumPy arrays that are passed to jitted functions if they take up at least 4 KiB or one line
    passes them in three calls. If the function also takes parameters, a state, or a PRNG key, as a
    training step does, a NumPy array is only a note unless `calls` pass the same array again,
    because it is probably a new batch in every call. The same holds for arrays that a function
    which calls jitted functions gets from an object among its arguments. The detector assumes that
    you intend transfers with `jax.device_put` and `jnp.asarray`. It cannot see more than the first
    line where NumPy reads memory directly, which happens on a CPU. `jax.transfer_guard("disallow")`
    comes closest, but on a CPU it sees less.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.transfer(lambda x: x / float(x.sum()), jnp.ones(3))[0]
    >>> found.message, found.evidence
    ('Python reads a value from the device', 'float() waits for it, 1 time')
    """
    yield from _callbacks(target.trace.program, None)
    arguments = NumpyArguments(target, _MIN_BYTES)
    if target.is_jitted:
        yield from _failed_conversion(target)
        for leaf, kind in arguments.large:
            yield _numpy_finding(leaf.nbytes, 1, None, kind)
    elif arguments.large or _may_read(target):
        yield from _host_reads(target)
        yield from _numpy_inputs(target, arguments)


def _callbacks(
    program: Any, call: CodeLocation | None, loop: Any = None, is_optional: bool = False
) -> Iterator[Finding]:
    """Yield a finding for each callback.

    Args:
        program: The jaxpr to search.
        call: The line that calls the library function to which the jaxpr belongs, if any.
        loop: The jaxpr of the body of the innermost loop around it, or None outside a loop.
        is_optional: Whether it is one of several branches. For example, a check that raises an
            error calls Python only in the branch with the error.
    """
    for equation in program.jaxpr.eqns if program else ():
        name = equation.primitive.name
        if name in _CALLBACKS or name in _DEBUG_CALLBACKS:
            is_repeated = loop is not None
            where = ", in one branch" * is_optional
            if is_repeated:
                # XLA may move a pure callback out of the loop, so it may run only once.
                is_pure = name == "pure_callback"
                body = ", in the body of a loop" if is_pure else ", in every iteration of a loop"
                where = body + where
            evidence, is_costly = name, (name in _CALLBACKS or is_repeated) and not is_optional
            if is_costly and name in _DEBUG_CALLBACKS:
                is_costly = estimate_microseconds(loop) < _MIN_BODY_MICROSECONDS
                evidence += "" if is_costly else ", but an iteration also does much else"
            fix = (
                "return the value, and read it"
                if name in _DEBUG_CALLBACKS
                else "write it with `jax.numpy`, or call it"
            )
            yield Finding(
                "warning" if is_costly else "note",
                f"the program waits for a Python function{where}",
                evidence,
                f"{fix} outside the {'loop' if is_repeated else 'function'}",
                call or location_of(equation),
                "callback-not-called" if name in _CALLBACKS else "callback-makes-the-call-wait",
            )
        for jaxpr in jaxpr_utils.sub_jaxprs(equation):
            is_hidden = call is None and jaxpr_utils.is_library_jaxpr(jaxpr)
            inner_call = location_of(equation) if is_hidden else call
            inner_loop = jaxpr if name in ("scan", "while") else loop
            yield from _callbacks(jaxpr, inner_call, inner_loop, is_optional or name == "cond")


def _may_read(target: FunctionUnderTest) -> bool:
    """Return whether an eager run could show more than the trace did."""
    trace = target.trace
    if trace.program is None or trace.log.calls or trace.log.printed:
        return True
    if _TEXT_FUNCTIONS & used_names(target.function).keys():
        return True
    jaxpr = trace.program.jaxpr
    captured = {
        variable: math.prod(variable.aval.shape) * int(np.dtype(constant.dtype).itemsize)
        for variable, constant in zip(jaxpr.constvars, trace.program.consts, strict=True)
        if getattr(constant, "ndim", 0) and not isinstance(constant, jax.Array)
    }
    if len(captured) >= _MIN_CALLS and sum(captured.values()) >= _MIN_BYTES:
        return True
    return (
        sum(
            variable in captured
            for equation in jaxpr.eqns
            for variable in equation.invars
            if captured
            and not isinstance(variable, Literal)
            and _is_user_program(jaxpr_utils.called_jaxpr(equation))
        )
        >= _MIN_CALLS
    )


def _is_user_program(program: Any) -> bool:
    """Return whether a program was traced from user code."""
    jaxpr = getattr(program, "jaxpr", program)
    return jaxpr is not None and is_user_code(_jax_compat.source_file(jaxpr))


def _host_reads(target: FunctionUnderTest) -> Iterator[Finding]:
    run = target.eager_run
    times: Counter[CodeLocation] = Counter()
    reads: dict[CodeLocation, str] = {}
    for event in run.events:
        if event.kind in ("read", "get") and event.location and not event.is_tracing:
            read = _READS.get("get" if event.kind == "get" else event.name, event.name)
            if reads.setdefault(event.location, read) == read:
                times[event.location] += 1
    explains: dict[CodeLocation | None, str] = {}
    for found in _failed_conversion(target):
        explains[found.place] = found.explains
        # A conversion that a complete run does not record converts a NumPy array. The run cannot
        # see NumPy functions, which read memory directly.
        is_seen = isinstance(target.trace.error, jax.errors.ConcretizationTypeError)
        if found.place not in times and not (is_seen and run.is_complete):
            yield replace(found, severity="note") if run.stopped_after else found
    returns_numpy = any(
        isinstance(v, (np.ndarray, np.generic)) for v in jax.tree.leaves(run.output)
    )
    for location, count in times.items():
        # A run that was stopped does not show what the function returns.
        may_return = returns_numpy or bool(run.stopped_after)
        is_meant = reads[location] == "jax.device_get" and count == 1 and may_return
        yield Finding(
            "note" if is_meant else "warning",
            "Python reads a value from the device",
            f"{reads[location]} waits for it, {count} time{'s' * (count > 1)}",
            "keep it a JAX array, and read it once, after the loop",
            location,
            explains=explains.get(location, ""),
        )


def _failed_conversion(target: FunctionUnderTest) -> Iterator[Finding]:
    """Yield a finding if a conversion of a tracer made tracing fail."""
    error = target.trace.error
    location = location_of_error(error.__traceback__) if error else None
    if error is None or location is None:
        return
    conversion = type(error).__name__ == "ConcretizationTypeError" and _CONVERSION.search(
        location.text
    )
    if conversion or _is_numpy_conversion(error):
        yield Finding(
            "warning",
            "Python reads a value from the device",
            f"{conversion[1] if conversion else 'NumPy'} waits for it; under `jax.jit` it raises",
            "keep it a JAX array: use `jax.numpy` instead of NumPy, and do not convert it",
            location,
            "element-by-element" if conversion else "numpy-takes-over",
            explains=error_signature(error),
        )


def _is_numpy_conversion(error: Exception) -> bool:
    """Return whether a NumPy function that user code calls needs a traced array's values."""
    if type(error).__name__ != "TracerArrayConversionError":
        return False
    below: list[str] = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_code(code.co_filename):
            below = []
        elif "numpy" not in code.co_filename.split("jax")[-1]:
            below.append(code.co_name)
        traceback = traceback.tb_next
    return set(below) <= {"__array__", "reraise_with_filtered_traceback"}


def _numpy_inputs(target: FunctionUnderTest, arguments: NumpyArguments) -> Iterator[Finding]:
    run = target.eager_run
    copies = [leaf for leaf in jax.tree.leaves(run.arguments) if isinstance(leaf, np.ndarray)]
    copy_ids = {id(leaf) for leaf in copies}
    placed_ids = {
        identity for event in run.events if event.kind == "put" for identity in event.arrays
    }
    size: Counter[CodeLocation | None] = Counter()
    times: Counter[CodeLocation | None] = Counter()
    total: Counter[CodeLocation | None] = Counter()  # This includes arrays that are not arguments.
    calls: Counter[CodeLocation | None] = Counter()
    others: set[CodeLocation | None] = set()  # Lines that send other arrays, too.
    # Lines that send arrays which the function holds itself, or the same array again. All others
    # send batches that a driver gets from an object, such as a data set.
    fixed: set[CodeLocation | None] = set()
    is_loop = target.may_be_driver and _has_source(target)
    held = set(_held_arrays(target)) if is_loop else set()
    sent: set[tuple[CodeLocation | None, int]] = set()
    used: set[int] = set()
    for event in run.events:
        if event.kind != "dispatch" or event.is_tracing:
            continue
        is_user = _is_user_program(event.program)
        addressed = zip(event.numpy_inputs, event.addresses, strict=True)
        for (identities, count), address in addressed:
            if held & set(identities) or (event.location, address) in sent:
                fixed.add(event.location)
            sent.add((event.location, address))
            from_argument = copy_ids & set(identities)
            used |= from_argument
            size[event.location] += count if from_argument else 0
            total[event.location] += count
            if not from_argument:
                others.add(event.location)
        # A call sends all leaves of a batch at once, so count calls instead of arrays.
        if event.numpy_inputs:
            times[event.location] += is_user
            calls[event.location] += 1
    for location in calls:
        kind = arguments.kind_of_all  # Slices of an argument are of its kind.
        if not arguments.large and location not in others:
            kind = arguments.small_kind
        if is_loop and not size[location] and location not in fixed:
            kind = "batch"
        is_repeated = calls[location] >= _MIN_CALLS and total[location] >= _MIN_BYTES
        if size[location] >= _MIN_BYTES or times[location] >= _MIN_CALLS or is_repeated:
            yield _numpy_finding(total[location], calls[location], location, kind)
    for leaf in copies if not run.stopped_after else ():
        if (
            leaf.nbytes >= _MIN_BYTES
            and id(leaf) not in used | placed_ids
            and _is_input(target, leaf)
        ):
            yield _numpy_finding(leaf.nbytes, 1, None, arguments.kind_of_all)


def _has_source(target: FunctionUnderTest) -> bool:
    """Return whether a function may get batches from an object, such as a data set or an iterator.

    The object is among its arguments, or the function is one of its methods.
    """
    leaves = jax.tree.leaves((target.args, target.kwargs), is_leaf=is_iterator)
    kinds = {reference.kind for reference in target.references}
    return bool(kinds & {"argument", "object"}) or any(map(is_iterator, leaves))


def _held_arrays(target: FunctionUnderTest) -> Iterator[int]:
    """Yield the `id` of each NumPy array that the function itself holds, unlike its arguments."""
    for reference in target.references:
        if reference.kind != "argument":
            value = reference.get()
            inside = None if callable(value) else object_fields.fields(value)
            for leaf in jax.tree.leaves((value, inside), is_leaf=is_iterator):
                if isinstance(leaf, np.ndarray):
                    yield id(leaf)


def _is_input(target: FunctionUnderTest, leaf: Any) -> bool:
    """Return whether the traced program uses an input with the same shape as an argument."""
    program = target.trace.program
    if program is None:
        return False
    used = {v for e in program.jaxpr.eqns for v in e.invars if hasattr(v, "count")}
    return any(v in used and v.aval.shape == leaf.shape for v in program.jaxpr.invars)


_MESSAGES = {
    "": "a NumPy array is sent to the device in every call",
    "batch": "a NumPy array is sent to the device, as any new batch has to be",
    "state": "a state that starts as NumPy arrays is sent to the device in the first call",
}
_FIXES = {
    "": "move it to the device once, with `jax.device_put`",
    "batch": "none needed for a new batch; if it is the same in every call, move it to the device "
    "once, with `jax.device_put`",
    "state": "none needed; to compile only once, call `jax.device_put` before the first call",
}


def _numpy_finding(size: int, times: int, location: CodeLocation | None, kind: str) -> Finding:
    return Finding(
        "note" if kind else "warning",
        _MESSAGES[kind],
        f"{size / 1024:.0f} KiB" if times == 1 else f"{times} times",
        _FIXES[kind],
        location,
        "implicit-transfer-refused",
    )
