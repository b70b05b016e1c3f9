"""The detector `list_args`: lists of numbers as arguments, and arrays joined from many pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, place_of
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._finding import Finding

_JOINS = ("concatenate", "stack")
_IN_A_ROW, _IN_AN_ARGUMENT, _PIECES = 16, 32, 64


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
    joins = [e for e in jaxpr_utils.equations(program) if e.primitive.name in _JOINS]
    if sum(len(equation.invars) for equation in joins) < _PIECES:
        return  # finding the lines is most of the work
    pieces: Counter[Place | None] = Counter()
    for count, place in _joined(program):
        pieces[place] += count
    for place, count in pieces.most_common(1):
        if count >= _PIECES:
            equations = sum(1 for _ in jaxpr_utils.equations(program))
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
        for part in jaxpr_utils.inner(equation):
            hidden = at is not None or jaxpr_utils.is_librarys(part)
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
