"""Programs that are traced, compiled or taken apart more than they need to be."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from jaxbits import compat
from jaxbits.detect import jaxprs
from jaxbits.detect.detector import detector
from jaxbits.detect.finding import Finding, Place, place_of
from jaxbits.detect.iterators import is_iterator
from jaxbits.detect.subject import Subject, copied

_JOINS = ("concatenate", "stack")
_IN_A_ROW, _IN_AN_ARGUMENT, _PIECES = 16, 32, 64


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
    with subject.put_back(), compat.fresh_caches():
        for args in given:
            with compat.counted("trace") as count:
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
            with compat.counted("compile") as count:
                subject.function(*last, **subject.kwargs)
        except Exception:  # what fails outside of jit is not this check's to tell
            return 0
    return count[0]


def _calls(program: ClosedJaxpr) -> Iterator[tuple[str, Place | None]]:
    """Yield the user's own calls of jit, and loops, at the top of a program."""
    for equation in program.jaxpr.eqns:
        inside = next(jaxprs.inner(equation), None)
        if inside is not None and not jaxprs.is_librarys(inside):
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


@detector
def list_args(subject: Subject) -> Iterator[Finding]:
    """Find lists of numbers passed as arguments, and arrays put together from many pieces.

    Each number of a list becomes an input of the program, and each piece an equation of it: the
    trace and the compilation grow with the length. It counts numbers (16 in one list, 32 in one
    argument) and pieces (64 in one line). It cannot see lists that were made an array before. JAX
    has no switch for it.

    >>> from jaxbits import detect
    >>> import jax.numpy as jnp
    >>> found = detect.list_args(lambda xs: jnp.array(xs).sum(), list(range(100)))[0]
    >>> found.message, found.evidence
    ('100 numbers are passed as separate arguments', 'args[0]: 100 inputs in place of 1')
    >>> detect.list_args(lambda xs: xs.sum(), jnp.arange(100))
    []
    """
    rows = {**{f"args[{i}]": a for i, a in enumerate(subject.args)}, **subject.kwargs}
    for name, argument in rows.items():
        longest = max(_rows(argument), default=0)
        every = sum(map(_is_number, jax.tree.leaves(argument, is_leaf=is_iterator)))
        alone = _is_number(argument)
        if not alone and (longest >= _IN_A_ROW or every >= _IN_AN_ARGUMENT):
            yield Finding(
                "list_args",
                "warning",
                f"{every} numbers are passed as separate arguments",
                f"{name}: {every} inputs in place of 1",
                "`np.array(...)` before the call",
            )
    program = subject.trace.program
    if program is None:
        return
    joins = [e for e in jaxprs.equations(program) if e.primitive.name in _JOINS]
    if sum(len(equation.invars) for equation in joins) < _PIECES:
        return  # finding the lines is most of the work
    pieces: Counter[Place | None] = Counter()
    for count, place in _joined(program):
        pieces[place] += count
    for place, count in pieces.most_common(1):
        if count >= _PIECES:
            equations = sum(1 for _ in jaxprs.equations(program))
            yield Finding(
                "list_args",
                "warning",
                f"an array is put together from {count} pieces",
                f"{equations} equations in the program",
                "work on the whole array, with `jax.vmap` or `lax.scan` where it needs a loop",
                place,
                "list-to-array-slow",
            )


def _joined(program: ClosedJaxpr, at: Place | None = None) -> Iterator[tuple[int, Place | None]]:
    """Yield how many pieces are joined, and where; what a library joins itself is not counted.

    A library passes on what the user has put into one list, and that is long.
    """
    for equation in program.jaxpr.eqns:
        if equation.primitive.name in _JOINS:
            place, count = at or place_of(equation), len(equation.invars)
            if count >= _IN_A_ROW or (place is not None and at is None):
                yield count, place
        for part in jaxprs.inner(equation):
            hidden = at is not None or jaxprs.is_librarys(part)
            yield from _joined(part, (at or place_of(equation)) if hidden else None)


def _is_number(value: Any) -> bool:
    if isinstance(value, (int, float, complex, np.generic)):
        return True
    return isinstance(value, (jax.Array, np.ndarray)) and value.ndim == 0


def _rows(tree: Any) -> Iterator[int]:
    """Yield how many numbers stand in each list or tuple of a tree."""
    parts = tree.values() if isinstance(tree, dict) else tree
    if isinstance(tree, (list, tuple, dict)):
        if not isinstance(tree, dict):
            yield sum(map(_is_number, tree))
        for part in parts:
            yield from _rows(part)
