"""Values that pass between Python and the device, without being asked to."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, is_users, place_of, place_of_error
from jaxbits._analysis.detector import detector
from jaxbits._analysis.eager_run import names_in
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._finding import Finding

_BYTES, _TURNS = 1 << 12, 3
_ASKED = {"pure_callback", "io_callback", "outside_call"}
_PRINTED = {"debug_callback", "debug_print"}
_TEXTS = {"print", "str", "repr", "format", "device_get", "info", "warning", "debug", "write"}
_CONVERTED = re.compile(r"(\b(?:float|int|bool|complex)\(|\.(?:item|tolist)\()")
_WORDS = {
    "__float__": "float()",
    "__int__": "int()",
    "__bool__": "a choice",
    "__index__": "an index",
    "__complex__": "complex()",
    "__array__": "a function of NumPy's",
    "__repr__": "a text",
    "__str__": "a text",
    "__format__": "a text",
    "item": ".item()",
    "tolist": ".tolist()",
    "get": "jax.device_get",
}


@detector
def transfer(subject: Subject) -> Iterator[Finding]:
    """Find values that pass between host and device where one does not see it.

    It runs a function that is not jitted once, and records what Python reads from arrays: with
    `float`, `.item()`, `print`, `if`, NumPy. It reports callbacks in the program, those for
    debugging only inside of loops, and NumPy arrays of 4 KiB, or in three calls from one line,
    that jitted functions take. `jax.device_put` and `jnp.asarray` are taken as meant. Where NumPy
    reads memory directly, on a CPU, it sees the first such place only.
    `jax.transfer_guard("disallow")` comes closest; on a CPU it sees less.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.transfer(lambda x: x / float(x.sum()), jnp.ones(3))[0]
    >>> found.message, found.evidence
    ('Python reads a value from the device', 'float() waits for it, 1 time')
    """
    yield from _callbacks(subject.trace.program, None, False)
    large = [leaf for leaf in _numpys(subject) if leaf.nbytes >= _BYTES]
    if subject.is_jitted:
        yield from _refused(subject)
        yield from (_passed(leaf.nbytes, 1, None) for leaf in large)
    elif large or _may_read(subject):
        yield from _read(subject)
        yield from _sent(subject, large)


def _callbacks(program: Any, around: Place | None, repeated: bool) -> Iterator[Finding]:
    for equation in program.jaxpr.eqns if program else ():
        name = equation.primitive.name
        if name in _ASKED or name in _PRINTED:
            yield Finding(
                "transfer",
                "warning" if name in _ASKED or repeated else "note",
                "the device waits for a function of Python"
                + (", in every turn of a loop" if repeated else ""),
                name,
                "write it with `jax.numpy`, or call it outside of the loop",
                around or place_of(equation),
            )
        for part in jaxpr_utils.inner(equation):
            hidden = around is None and jaxpr_utils.is_librarys(part)
            inside = place_of(equation) if hidden else around
            yield from _callbacks(part, inside, repeated or name in ("scan", "while"))


def _numpys(subject: Subject) -> list[Any]:
    leaves = jax.tree.leaves((subject.args, subject.kwargs), is_leaf=is_iterator)
    return [leaf for leaf in leaves if isinstance(leaf, np.ndarray) and leaf.dtype != object]


def _may_read(subject: Subject) -> bool:
    """Whether a run could show more than the trace did."""
    trace = subject.trace
    if trace.program is None or trace.seen.calls or trace.seen.written:
        return True
    if _TEXTS & names_in(subject).keys():
        return True
    jaxpr = trace.program.jaxpr
    sent = {
        variable: math.prod(variable.aval.shape) * int(np.dtype(constant.dtype).itemsize)
        for variable, constant in zip(jaxpr.constvars, trace.program.consts, strict=True)
        if getattr(constant, "ndim", 0) and not isinstance(constant, jax.Array)
    }
    if len(sent) >= _TURNS and sum(sent.values()) >= _BYTES:
        return True
    return (
        sum(
            variable in sent
            for equation in jaxpr.eqns
            for variable in equation.invars
            if sent and not isinstance(variable, Literal) and _is_own(jaxpr_utils.called(equation))
        )
        >= _TURNS
    )


def _is_own(program: Any) -> bool:
    """Whether a program is that of a function of the user's."""
    jaxpr = getattr(program, "jaxpr", program)
    return jaxpr is not None and is_users(_jax_compat.home_of(jaxpr))


def _read(subject: Subject) -> Iterator[Finding]:
    run = subject.plain
    times: Counter[Place] = Counter()
    words: dict[Place, str] = {}
    for event in run.events:
        if event.kind in ("read", "get") and event.place and not event.tracing:
            word = _WORDS.get("get" if event.kind == "get" else event.name, event.name)
            if words.setdefault(event.place, word) == word:
                times[event.place] += 1
    for found in _refused(subject):
        if found.place not in times:
            yield found
    kept = any(isinstance(v, (np.ndarray, np.generic)) for v in jax.tree.leaves(run.output))
    for place, count in times.items():
        meant = words[place] == "jax.device_get" and count == 1 and kept
        yield Finding(
            "transfer",
            "note" if meant else "warning",
            "Python reads a value from the device",
            f"{words[place]} waits for it, {count} time{'s' * (count > 1)}",
            "keep it an array of JAX's, and read it once, after the loop",
            place,
        )


def _refused(subject: Subject) -> Iterator[Finding]:
    """Yield the conversion that ended the trace."""
    error = subject.trace.error
    place = place_of_error(error.__traceback__) if error else None
    if error is None or place is None:
        return
    asked = type(error).__name__ == "ConcretizationTypeError" and _CONVERTED.search(place.text)
    if asked or _is_numpys(error):
        yield Finding(
            "transfer",
            "warning",
            "Python reads a value from the device",
            f"{asked[1] if asked else 'NumPy'} waits for it; under `jax.jit` it raises",
            "keep it an array of JAX's: `jax.numpy` in place of NumPy, no conversion",
            place,
            "element-by-element" if asked else "numpy-takes-over",
        )


def _is_numpys(error: Exception) -> bool:
    """Whether NumPy, called by the user's line, asked for a traced array."""
    if type(error).__name__ != "TracerArrayConversionError":
        return False
    below: list[str] = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code.co_filename):
            below = []
        elif "numpy" not in code.co_filename.split("jax")[-1]:
            below.append(code.co_name)
        traceback = traceback.tb_next
    return set(below) <= {"__array__", "reraise_with_filtered_traceback"}


def _sent(subject: Subject, large: list[Any]) -> Iterator[Finding]:
    run = subject.plain
    given = [leaf for leaf in jax.tree.leaves(run.arguments) if isinstance(leaf, np.ndarray)]
    names = {id(leaf) for leaf in given}
    put = {identity for event in run.events if event.kind == "put" for identity in event.arrays}
    size: Counter[Place | None] = Counter()
    times: Counter[Place | None] = Counter()
    rest: Counter[Place | None] = Counter()  # with what the function was not given
    calls: Counter[Place | None] = Counter()
    used: set[int] = set()
    for event in run.events:
        if event.kind != "dispatch" or event.tracing:
            continue
        own = _is_own(event.program)
        for identities, count in event.inputs:
            from_argument = names & set(identities)
            used |= from_argument
            size[event.place] += count if from_argument else 0
            times[event.place] += own
            rest[event.place] += count
            calls[event.place] += 1
    for place in calls:
        repeated = calls[place] >= _TURNS and rest[place] >= _BYTES
        if size[place] >= _BYTES or times[place] >= _TURNS or repeated:
            yield _passed(rest[place], calls[place], place)
    for leaf in given:
        if leaf.nbytes >= _BYTES and id(leaf) not in used | put and _is_input(subject, leaf):
            yield _passed(leaf.nbytes, 1, None)


def _is_input(subject: Subject, leaf: Any) -> bool:
    """Whether the traced program reads an argument of this shape."""
    program = subject.trace.program
    if program is None:
        return False
    used = {v for e in program.jaxpr.eqns for v in e.invars if hasattr(v, "count")}
    return any(v in used and v.aval.shape == leaf.shape for v in program.jaxpr.invars)


def _passed(size: int, times: int, place: Place | None) -> Finding:
    return Finding(
        "transfer",
        "warning",
        "a NumPy array is sent to the device in every call",
        f"{size / 1024:.0f} KiB" if times == 1 else f"{times} times",
        "`jax.device_put` it once, before",
        place,
    )
