"""The detector `recompile`: calls that trace or compile again."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, place_of
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject, copied
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._finding import Finding


@detector
def recompile(subject: Subject) -> Iterator[Finding]:
    """Find calls that trace or compile again, and functions that compile on every call.

    Given several calls (``calls=[(x,), (y,)]``), it makes them in turn with caches empty at the
    start, and counts those after the first that trace. Without, it calls the function three times,
    and counts what the third still compiles. It cannot see calls that you do not give.
    `jax.log_compiles()` comes closest; it says why, and does not judge.

    >>> import jax, jax.numpy as jnp
    >>> from jaxbits import detect
    >>> lengths = [(jnp.ones(n),) for n in (2, 3, 4)]
    >>> found = detect.recompile(jax.jit(jnp.sin), calls=lengths)[0]
    >>> found.message, found.evidence
    ('3 traces for 3 calls', 'float32[2] then float32[3]')
    >>> detect.recompile(jax.jit(jnp.sin), calls=[(jnp.ones(2),), (jnp.zeros(2),)])
    []
    """
    if subject.calls and len(subject.calls) > 1:
        again = _traces(subject, subject.calls) - 1
        if again > 0:
            evidence, bit = _difference(subject.calls)
            yield Finding(
                "recompile",
                "warning",
                f"{again + 1} traces for {len(subject.calls)} calls",
                evidence,
                "keep shapes, dtypes, trees and static values the same: pad, "
                "`jnp.asarray(number, dtype)`, or make an argument traced",
                bit=bit,
            )
    program = subject.trace.program
    if subject.is_jitted or program is None:
        return
    calls = list(_calls(program))
    jits = [place for name, place in calls if name in ("jit", "pjit")]
    loops = [place for name, place in calls if name in ("scan", "while", "cond")]
    if not jits and not (loops and subject.calls):
        return
    compiled = _compiles_when_warm(subject, subject.calls[0] if subject.calls else subject.args)
    if compiled:
        yield Finding(
            "recompile",
            "warning",
            "each call compiles again, with the same arguments",
            f"{compiled} in the third call",
            "make the jitted function once, outside"
            if jits
            else "`jax.jit` the whole function, or define the body of the loop once, outside",
            (jits or loops)[0],
            "fresh-function-each-call" if jits else "loop-body-recompiles",
        )


def _traces(subject: Subject, calls: Sequence[tuple[Any, ...]]) -> int:
    # By way of a partial: `jax.jit` of a function of NumPy's ends the interpreter.
    function = subject.function
    if not subject.is_jitted:
        function = jax.jit(functools.partial(function))
    given = [copied(args) for args in calls]
    traced = 0
    with subject.put_back(), _jax_compat.fresh_caches():
        for args in given:
            with _jax_compat.counted("trace") as count:
                try:
                    jax.block_until_ready(function(*args, **subject.kwargs))
                except Exception:  # a call that fails says nothing about traces
                    return 0
            traced += count[0] > 0
    return traced


def _compiles_when_warm(subject: Subject, args: tuple[Any, ...]) -> int:
    with subject.put_back():
        try:
            for given in (copied(args), copied(args)):
                subject.function(*given, **subject.kwargs)
            last = copied(args)
            with _jax_compat.counted("compile") as count:
                subject.function(*last, **subject.kwargs)
        except Exception:  # what fails outside of jit is not this check's to tell
            return 0
    return count[0]


def _calls(program: ClosedJaxpr) -> Iterator[tuple[str, Place | None]]:
    """Yield the user's own calls of jit, and loops, at the top of a program."""
    for equation in program.jaxpr.eqns:
        inside = next(jaxpr_utils.inner(equation), None)
        if inside is not None and not jaxpr_utils.is_librarys(inside):
            yield equation.primitive.name, place_of(equation)


def _signature(args: Any) -> tuple[str, list[str]]:
    leaves, tree = jax.tree.flatten(args, is_leaf=is_iterator)
    kinds = []
    for leaf in leaves:
        if hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
            weak = " (weak)" if getattr(leaf, "weak_type", False) else ""
            kinds.append(f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]{weak}")
        else:
            kinds.append(f"{type(leaf).__name__} {leaf!r:.20}")
    return str(tree), kinds


def _difference(calls: Sequence[Any]) -> tuple[str, str]:
    """Return how the calls differ, in words, and which sharp bit that is."""
    first = _signature(calls[0])
    for other in map(_signature, calls[1:]):
        if other[0] != first[0]:
            return f"{first[0]:.60} then {other[0]:.60}", "batch-list-or-tuple"
        for a, b in zip(first[1], other[1], strict=True):
            if a != b:
                return f"{a} then {b}", _cause(a, b)
    return "the arguments look alike: a static one is not equal to itself", "static-nan"


def _cause(one: str, other: str) -> str:
    if "[" not in one and "[" not in other:
        return "static-value-recompiles"
    shapes = [kind.partition("[")[2].partition("]")[0] for kind in (one, other)]
    return "retrace-on-call-form" if shapes[0] == shapes[1] else "retrace-on-new-shape"
