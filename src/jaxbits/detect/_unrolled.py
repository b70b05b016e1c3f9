"""The detector `unrolled`: Python loops that tracing unrolls into the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import location_of
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.loop_frames import Frames
from jaxbits._analysis.unrolled_loops import (
    MIN_ITERATIONS,
    UnrolledLoop,
    find_unrolled_loops,
    size_of,
)

_WARNING_ITERATIONS = 20
_WARNING_EQUATIONS = 50
"""The number of unrolled equations below which compiling them takes no time worth a warning."""
_WARNING_SHARE = 0.05
"""The share of the program below which a JAX loop would hardly make it compile faster."""


@detector
def unrolled(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find Python loops and recursion that tracing unrolls into the program.

    The detector groups the traced program's equations by the line of user code that they come from,
    and counts the equations with each primitive. The count of the rarest of the common primitives
    gives the number of iterations. The detector warns about 20 or more iterations if they have at
    least 50 equations together, including those in functions that they call, and at least 5% of the
    program's equations. It adds a note about 12 or more iterations. It also counts iterations that
    a JAX loop unrolls because of its `unroll=` argument, but not the leaves of a tree that
    `jax.tree.map` visits. If the operations or the shapes differ from one iteration of an inner
    loop to the next, or an inner loop has fewer than 12 iterations, it counts the iterations of the
    loop around it. The detector cannot tell whether `lax.scan` could replace the loop. It
    cannot see a loop over a library's layers if the first iteration has different operations from
    the rest, as when `jax.vmap` does not map the initial state. JAX has no switch for this.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> def f(x):
    ...     for i in range(100):
    ...         x = jnp.sin(x) + i
    ...     return x
    >>> found = detect.unrolled(f, 1.0)[0]
    >>> found.message, found.evidence
    ('a Python loop is unrolled: 100 iterations', '200 of 200 equations; a JAX loop has about 2')
    """
    if target.trace.program is None:
        return
    path_cache: dict[Any, tuple[Frames, bool]] = {}
    seen: set[int] = set()
    reported: set[tuple[str, int]] = set()
    for program in _user_jaxprs(target.trace.program, seen):
        total = len(program.jaxpr.eqns)
        if total >= MIN_ITERATIONS:
            for loop in find_unrolled_loops(program, path_cache):
                count = loop.iterations
                place = (loop.location.file, loop.location.line)
                if place not in reported:
                    reported.add(place)
                    message = f"a Python loop is unrolled: {count} iterations"
                    if loop.is_nested:
                        message = f"nested Python loops are unrolled: {count} iterations in total"
                    yield Finding(
                        "warning" if _is_costly(loop, program) else "note",
                        message,
                        f"{loop.equations} of {total} equations; a JAX loop has about "
                        f"{max(1, round(loop.equations / count))}",
                        "`lax.scan` or `lax.fori_loop`; `jax.vmap` where iterations do not depend "
                        "on each other",
                        loop.location,
                    )
        for equation in program.jaxpr.eqns:
            iterations = (
                equation.params.get("unroll", 1) if equation.primitive.name == "scan" else 1
            )
            if int(iterations) >= _WARNING_ITERATIONS:
                size = sum(len(part.jaxpr.eqns) for part in jaxpr_utils.sub_jaxprs(equation))
                is_costly = int(iterations) * size >= _WARNING_EQUATIONS
                yield Finding(
                    "warning" if is_costly else "note",
                    f"a JAX loop is unrolled by {int(iterations)}",
                    f"{int(iterations) * size} equations instead of {size}",
                    "a small `unroll`, such as 4, or none",
                    location_of(equation),
                )


def _is_costly(loop: UnrolledLoop, program: ClosedJaxpr) -> bool:
    """Return whether a loop makes the program that contains it much larger."""
    if loop.iterations < _WARNING_ITERATIONS or loop.size < _WARNING_EQUATIONS:
        return False
    return loop.size >= _WARNING_SHARE * sum(map(size_of, program.jaxpr.eqns))


def _user_jaxprs(program: ClosedJaxpr, seen: set[int]) -> Iterator[ClosedJaxpr]:
    """Yield each of the user's jaxprs once, starting with the outermost."""
    waiting = [program]
    while waiting:
        jaxpr = waiting.pop()
        if id(jaxpr.jaxpr) in seen:
            continue
        seen.add(id(jaxpr.jaxpr))
        yield jaxpr
        for equation in jaxpr.jaxpr.eqns:
            waiting += [
                p for p in jaxpr_utils.sub_jaxprs(equation) if not jaxpr_utils.is_library_jaxpr(p)
            ]
