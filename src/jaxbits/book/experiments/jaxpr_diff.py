"""Two programs beside each other: what operation each intermediate comes from, and its dtype."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils


class Intermediate(NamedTuple):
    """A value between the arguments and the results of a function."""

    operation: str
    dtype: str
    code: str
    """The line of the function's own file that it was traced under, empty where unknown."""


def intermediates(function: Callable[..., Any], *args: Any) -> list[Intermediate]:
    """Trace a function, and list what its jaxpr computes, also inside of loops and calls.

    Conversions of dtypes are left out: they are where two programs of different dtypes differ
    anyway, and without them the same code gives the same operations.

    >>> [(i.operation, i.dtype) for i in intermediates(lambda x: 2 * x + 1, 1.5)]
    [('mul', 'float32'), ('add', 'float32')]
    """
    home = inspect.getsourcefile(inspect.unwrap(function)) or ""
    return list(_walk(jax.make_jaxpr(function)(*args), home, ""))


def _walk(program: Any, home: str, outer: str) -> Iterator[Intermediate]:
    for equation in program.jaxpr.eqns:
        code = _line(equation, home) or outer
        parts = list(jaxpr_utils.inner(equation))
        for part in parts:
            yield from _walk(part, home, code)
        if not parts and equation.primitive.name != "convert_element_type":
            aval = equation.outvars[0].aval
            yield Intermediate(equation.primitive.name, str(getattr(aval, "dtype", "")), code)


def _line(equation: Any, home: str) -> str:
    for _, file, line in _jax_compat.frames(equation):
        if file == home:
            return linecache.getline(file, line).strip()
    return ""


def first_dtype_difference(
    one: Sequence[Intermediate], other: Sequence[Intermediate]
) -> int | None:
    """Return where two programs of the same operations first differ in dtype, None where nowhere.

    Raises:
        ValueError: when they are not of the same operations.
    """
    if [i.operation for i in one] != [i.operation for i in other]:
        raise ValueError(f"the programs have other operations: {len(one)} and {len(other)} of them")
    pairs = zip(one, other, strict=True)
    return next((n for n, (a, b) in enumerate(pairs) if a.dtype != b.dtype), None)
