"""Compare the primitives and dtypes of two jaxprs, and find the source line of each equation."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils


class Intermediate(NamedTuple):
    """The output of one equation of a jaxpr.

    Attributes:
        operation: The name of the primitive.
        dtype: The dtype of the output.
        code: The source line in the function's file, or an empty string if it is unknown.
    """

    operation: str
    dtype: str
    code: str


def intermediates(function: Callable[..., Any], *args: Any) -> list[Intermediate]:
    """Trace a function, and return the outputs of all equations in its jaxpr and sub-jaxprs.

    The result omits dtype conversions, so that the same code gives the same operations for
    arguments of any dtype.

    Args:
        function: The function to trace.
        args: Its positional arguments.

    >>> [(i.operation, i.dtype) for i in intermediates(lambda x: 2 * x + 1, 1.5)]
    [('mul', 'float32'), ('add', 'float32')]
    """
    file = inspect.getsourcefile(inspect.unwrap(function)) or ""
    return list(_walk(jax.make_jaxpr(function)(*args), file, ""))


def _walk(program: Any, file: str, outer: str) -> Iterator[Intermediate]:
    for equation in program.jaxpr.eqns:
        code = _source_line(equation, file) or outer
        parts = list(jaxpr_utils.sub_jaxprs(equation))
        for part in parts:
            yield from _walk(part, file, code)
        if not parts and equation.primitive.name != "convert_element_type":
            aval = equation.outvars[0].aval
            yield Intermediate(equation.primitive.name, str(getattr(aval, "dtype", "")), code)


def _source_line(equation: Any, file: str) -> str:
    for _, frame_file, line in _jax_compat.frames(equation):
        if frame_file == file:
            return linecache.getline(file, line).strip()
    return ""


def first_dtype_difference(
    one: Sequence[Intermediate], other: Sequence[Intermediate]
) -> int | None:
    """Return the index of the first pair of intermediates with different dtypes, or None.

    Args:
        one: The intermediates of the first program.
        other: The intermediates of a second program with the same operations.

    Raises:
        ValueError: If the operations differ.
    """
    if [i.operation for i in one] != [i.operation for i in other]:
        raise ValueError(
            "the programs must have the same sequence of operations, got different ones "
            f"({len(one)} and {len(other)} operations)"
        )
    pairs = zip(one, other, strict=True)
    return next((n for n, (a, b) in enumerate(pairs) if a.dtype != b.dtype), None)
