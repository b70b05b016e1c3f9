"""Arrays that are given away to a jitted function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, place_of
from jaxbits._analysis.detector import detector
from jaxbits._analysis.eager_run import PlainRun
from jaxbits._analysis.function_under_test import Subject
from jaxbits._finding import Finding

_USE = "go on with what the function returns, pass a copy, or do not donate"


@detector
def donation(subject: Subject) -> Iterator[Finding]:
    """Find donated arrays that are used again, and donations that come to nothing.

    A function that donates inside is run once, with the donations recorded in place of done: an
    array that is read, passed, returned or kept after it was donated is an error, also where the
    platform would have let it live. For a jitted function it reads the program: donated inputs
    of which no output has the shape and type, and one array passed for two. Donation inside of
    another trace is without effect, and not looked at. The warning "Some donated buffers were not
    usable", and the error on a deleted array, are what JAX itself says.

    >>> import jax, jax.numpy as jnp
    >>> from jaxbits import detect
    >>> step = jax.jit(lambda x: x + 1, donate_argnums=0)
    >>> found = detect.donation(lambda x: step(x) + x, jnp.ones(3))[0]
    >>> found.message, found.evidence
    ('an array is used after it was donated', 'float32[3], donated to <lambda>')
    """
    program = subject.trace.program
    if subject.is_jitted:
        for equation in program.jaxpr.eqns if program else ():
            yield from _of_a_jitted(subject, equation)
        return
    if program is not None and not any(
        any(equation.params.get("donated_invars", ()))
        for equation in jaxpr_utils.equations(program)
    ):
        return
    yield from _of_a_run(subject.plain)


def _of_a_jitted(subject: Subject, equation: Any) -> Iterator[Finding]:
    donated = equation.params.get("donated_invars", ())
    inner = equation.params.get("jaxpr")
    if not any(donated) or inner is None:
        return
    name = str(equation.params.get("name", ""))
    yield from _useless(inner, donated, name, place_of(equation))
    leaves = jax.tree.leaves((subject.args, subject.kwargs))
    seen = Counter(id(leaf) for leaf in leaves if isinstance(leaf, jax.Array))
    aligned = len(leaves) == len(donated)
    given_away = [leaf for leaf, gone in zip(leaves, donated, strict=False) if gone or not aligned]
    twice = [leaf for leaf in given_away if seen[id(leaf)] > 1]
    if twice:
        yield _twice(_type(twice[0]), name, None)
    given = [v for v, gone in zip(subject.trace.inputs, donated, strict=False) if gone]
    if given and all(isinstance(v, (np.ndarray, int, float)) for v in given):
        yield Finding(
            "donation",
            "note",
            "what is donated is not on the device",
            f"{len(given)} NumPy arrays or numbers",
            "`jax.device_put` them once, and go on with what is returned",
        )


def _of_a_run(run: PlainRun) -> Iterator[Finding]:
    gone: dict[int, tuple[str, str, Place | None]] = {}
    said: set[tuple[Any, Place | None]] = set()

    def again(identity: int, place: Place | None) -> Iterator[Finding]:
        kind, name, first = gone[identity]
        where = place or first
        if (identity, where) not in said:
            said.add((identity, where))
            yield Finding(
                "donation",
                "error",
                "an array is used after it was donated",
                f"{kind}, donated to {name}" + (f" at {first}" if first and first != place else ""),
                _USE,
                where,
                "use-after-donation",
            )

    for event in run.events:
        if event.kind == "read":
            for identity in event.arrays:
                if identity in gone:
                    yield from again(identity, event.place)
        if event.kind != "dispatch":
            continue
        for identity in dict.fromkeys(event.given):
            if identity in gone:
                yield from again(identity, event.place)
        if not any(event.donated):
            continue
        times = Counter(event.given)
        invars = _jaxpr(event.program).invars
        yield from _useless(event.program, event.donated, event.name, event.place)
        for variable, identity, is_given in zip(invars, event.given, event.donated, strict=False):
            if is_given:
                if times.pop(identity, 0) > 1:
                    yield _twice(_type(variable.aval), event.name, event.place)
                gone[identity] = (_type(variable.aval), event.name, event.place)
    for leaf in jax.tree.leaves(run.output):
        if id(leaf) in gone:
            yield from again(id(leaf), None)
    for identity in run.held & gone.keys():
        yield from again(identity, None)


def _useless(
    program: Any, donated: Sequence[bool], name: str, place: Place | None
) -> Iterator[Finding]:
    jaxpr = _jaxpr(program)
    outputs = Counter(_type(v.aval) for v in jaxpr.outvars)
    used = {v for e in jaxpr.eqns for v in e.invars if not isinstance(v, Literal)}
    used |= {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    left = []
    for variable, gone in zip(jaxpr.invars, donated, strict=False):
        if gone and variable in used:
            if outputs[_type(variable.aval)] > 0:
                outputs[_type(variable.aval)] -= 1
            else:
                left.append(_type(variable.aval))
    if left:
        yield Finding(
            "donation",
            "warning",
            "a donated array is of no use: no output is left that could take its memory",
            f"{name or 'the function'} donates {', '.join(left[:3])}"
            + (f" and {len(left) - 3} more" if len(left) > 3 else ""),
            "donate only what is returned with the same shape and dtype",
            place,
        )


def _twice(kind: str, name: str, place: Place | None) -> Finding:
    return Finding(
        "donation",
        "error",
        "one array is passed twice in a call that donates it",
        f"{kind}, to {name or 'the function'}",
        "pass a copy for one of them, `x.copy()`",
        place,
    )


def _jaxpr(program: Any) -> Any:
    return getattr(program, "jaxpr", program)


def _type(value: Any) -> str:
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"
