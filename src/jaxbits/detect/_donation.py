"""The detector `donation`: arrays that are donated to a jitted function."""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import CodeLocation, location_of
from jaxbits._analysis.detector import detector
from jaxbits._analysis.eager_run import EagerRun
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest

_MAX_LEFT_OVER = 0.1
"""The share of the donated memory up to which donating arrays without an effect is only a note."""
_FIX = "use what the function returns, pass a copy, or do not donate"


@detector(needs="calls", reads=["state"])
def donation(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find donated arrays that are used again, and donations that have no effect.

    If the function donates arrays, the detector runs it once and records the donations instead of
    carrying them out. An array that is read, passed, returned, or stored after its donation is an
    error, even if the platform would have ignored the donation. For a jitted function, the detector
    examines the program. It reports donated inputs that match no output in shape and dtype, with a
    note if they are small compared with the other donated inputs. It also reports any array that
    is passed for two inputs. It cannot see a donation inside another trace, where it has no effect.
    The warning "Some donated buffers were not usable" and the error about a deleted array come
    closest.

    >>> import jax, jax.numpy as jnp
    >>> from jaxbits import detect
    >>> step = jax.jit(lambda x: x + 1, donate_argnums=0)
    >>> found = detect.donation(lambda x: step(x) + x, jnp.ones(3))[0]
    >>> found.message, found.evidence
    ('an array is used after it was donated', 'float32[3], donated to <lambda>')
    """
    program = target.trace.program
    if target.is_jitted:
        for equation in program.jaxpr.eqns if program else ():
            yield from _in_jitted_function(target, equation)
        return
    if program is not None and not jaxpr_utils.donates(program):
        return
    yield from _in_eager_run(target.eager_run)


def _in_jitted_function(target: FunctionUnderTest, equation: Any) -> Iterator[Finding]:
    donated = equation.params.get("donated_invars", ())
    called = equation.params.get("jaxpr")
    if not any(donated) or called is None:
        return
    name = str(equation.params.get("name", ""))
    yield from _unusable(called, donated, name, location_of(equation))
    leaves = jax.tree.leaves((target.args, target.kwargs))
    seen = Counter(id(leaf) for leaf in leaves if isinstance(leaf, jax.Array))
    is_aligned = len(leaves) == len(donated)
    pairs = zip(leaves, donated, strict=False)
    donated_leaves = [leaf for leaf, is_donated in pairs if is_donated or not is_aligned]
    repeated = [leaf for leaf in donated_leaves if seen[id(leaf)] > 1]
    if repeated:
        yield _passed_twice(_describe_type(repeated[0]), name, None)
    inputs = zip(target.trace.inputs, donated, strict=False)
    donated_inputs = [value for value, is_donated in inputs if is_donated]
    if donated_inputs and all(isinstance(v, (np.ndarray, int, float)) for v in donated_inputs):
        yield Finding(
            "note",
            "a donated argument is not on the device",
            f"{len(donated_inputs)} NumPy arrays or numbers",
            "move them to the device once with `jax.device_put`, and then use what the function "
            "returns",
        )


def _in_eager_run(run: EagerRun) -> Iterator[Finding]:
    donated: dict[int, tuple[str, str, CodeLocation | None]] = {}
    reported: set[tuple[Any, CodeLocation | None]] = set()

    def report_use(identity: int, location: CodeLocation | None) -> Iterator[Finding]:
        type_, name, donated_at = donated[identity]
        line = location or donated_at
        if (identity, line) not in reported:
            reported.add((identity, line))
            at = f" at {donated_at}" if donated_at and donated_at != location else ""
            yield Finding(
                "error",
                "an array is used after it was donated",
                f"{type_}, donated to {name}{at}",
                _FIX,
                line,
                "use-after-donation",
            )

    for event in run.events:
        if event.kind == "read":
            for identity in event.arrays:
                if identity in donated:
                    yield from report_use(identity, event.location)
        if event.kind != "dispatch":
            continue
        for identity in dict.fromkeys(event.inputs):
            if identity in donated:
                yield from report_use(identity, event.location)
        if not any(event.donated):
            continue
        times = Counter(event.inputs)
        invars = _open_jaxpr(event.program).invars
        yield from _unusable(event.program, event.donated, event.name, event.location)
        for variable, identity, is_donated in zip(
            invars, event.inputs, event.donated, strict=False
        ):
            if is_donated and identity:
                if times.pop(identity, 0) > 1:
                    yield _passed_twice(_describe_type(variable.aval), event.name, event.location)
                donated[identity] = (_describe_type(variable.aval), event.name, event.location)
    if run.stopped_after:  # Python may have been about to replace the arrays that it holds.
        return
    for leaf in jax.tree.leaves(run.output):
        if id(leaf) in donated:
            yield from report_use(id(leaf), None)
    for identity in run.held & donated.keys():
        yield from report_use(identity, None)


def _unusable(
    program: Any, donated: Sequence[bool], name: str, location: CodeLocation | None
) -> Iterator[Finding]:
    jaxpr = _open_jaxpr(program)
    outputs = Counter(_memory_key(v.aval) for v in jaxpr.outvars)
    used = {v for e in jaxpr.eqns for v in e.invars if not isinstance(v, Literal)}
    used |= {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    unmatched, size, size_unmatched = [], 0, 0
    for variable, is_donated in zip(jaxpr.invars, donated, strict=False):
        if is_donated and variable in used:
            key = _memory_key(variable.aval)
            bytes_ = variable.aval.size * variable.aval.dtype.itemsize
            size += bytes_
            if outputs[key] > 0:
                outputs[key] -= 1
            else:
                unmatched.append(_describe_type(variable.aval))
                size_unmatched += bytes_
    if unmatched:
        yield Finding(
            "note" if size_unmatched <= _MAX_LEFT_OVER * size else "warning",
            "donating an array has no effect, because no output can reuse its memory",
            f"{name or 'the function'} donates {', '.join(unmatched[:3])}"
            + (f" and {len(unmatched) - 3} more" if len(unmatched) > 3 else ""),
            "donate only arrays that are returned with the same shape and dtype",
            location,
            "donation-not-usable",
        )


def _memory_key(aval: Any) -> tuple[Any, ...]:
    """Return what two arrays must have in common for one to reuse the memory of the other."""
    if _reuses_memory_of_other_types():
        return aval.size, aval.dtype.itemsize
    return aval.shape, aval.dtype


@functools.cache
def _reuses_memory_of_other_types() -> bool:
    """Return whether a result can reuse the memory of an array with another dtype.

    JAX 0.7.2 allows this only for the same shape and dtype. In 0.10.2 and 0.12, the number of
    elements and their size must be the same.
    """
    convert = jax.jit(lambda x: x.astype(jnp.int32), donate_argnums=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = convert.lower(jax.ShapeDtypeStruct((2,), jnp.float32)).compile()
    return bool(getattr(compiled.memory_analysis(), "alias_size_in_bytes", 0))


def _passed_twice(type_: str, name: str, location: CodeLocation | None) -> Finding:
    return Finding(
        "error",
        "one array is passed twice in a call that donates it",
        f"{type_}, to {name or 'the function'}",
        "pass a copy for one of them, `x.copy()`",
        location,
        "donated-twice",
    )


def _open_jaxpr(program: Any) -> Any:
    return getattr(program, "jaxpr", program)


def _describe_type(value: Any) -> str:
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"
