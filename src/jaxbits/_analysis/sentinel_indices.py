"""Find indices outside an array that a `where` chooses on purpose, so that JAX drops the writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.probes import Site

# Every element of the first result of these primitives is an element of their first input:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/lax.py
_SELECTING_WORDS = (
    "broadcast_in_dim reshape squeeze expand_dims convert_element_type copy copy_p transpose rev "
    "slice dynamic_slice gather optimization_barrier"
)
_SELECTING = frozenset(_SELECTING_WORDS.split())
_CHOOSING = {"select_n", "Nonzero"}
"""Primitives that choose between operands. In JAX 0.12, `jnp.nonzero` chooses its fill value so."""
_MAX_COMPARED = 10_000
"""The size up to which captured arrays are compared by their elements."""

_Value = tuple[Any, tuple[Any, ...]]
"""A variable or literal, and the calls, loops, and branches that enclose it, outermost first."""


class SentinelIndices:
    """The constants between which and other indices a program chooses with `jnp.where`."""

    def __init__(self, program: ClosedJaxpr) -> None:
        self._definitions: dict[Any, Any] = {}
        self._captured: dict[Any, Any] = {}
        for jaxpr in jaxpr_utils.all_jaxprs(program):
            self._captured.update(zip(jaxpr.jaxpr.constvars, jaxpr.consts, strict=True))
            for equation in jaxpr.jaxpr.eqns:
                self._definitions.update((variable, equation) for variable in equation.outvars)

    def explain(self, site: Site, dimensions: Sequence[int]) -> bool:
        """Return whether all bad indices of a scatter or gather are chosen with `jnp.where`.

        Each of them must be exactly the size of the array, and one of the two values that a `where`
        chooses from must be this constant.

        Args:
            site: The scatter or gather, with the smallest and the largest of its bad indices.
            dimensions: The dimension of the array that each column of its indices belongs to.
        """
        bad, sentinels = {int(site.low), int(site.high)}, set[int]()
        indices = site.equation.invars[1], site.context.callers
        columns = self._columns(indices, len(dimensions))
        for dimension, column in zip(dimensions, columns, strict=True):
            size = int(site.equation.invars[0].aval.shape[dimension])
            if size in self._choices(column):
                sentinels.add(size)
            elif size in bad and not self._is_inside(column, size):
                return False
        return bad <= sentinels and max(bad) - min(bad) <= 1

    def _columns(self, indices: _Value, count: int) -> list[_Value]:
        """Return the values that make up the columns of an array of indices."""
        variable, callers = indices
        equation, axis = self._definition(variable), len(variable.aval.shape) - 1
        name = equation.primitive.name if equation is not None else ""
        if name != "concatenate" or equation.params["dimension"] != axis:
            return [indices] * count
        widths = [(operand, operand.aval.shape[axis]) for operand in equation.invars]
        return [(operand, callers) for operand, width in widths for _ in range(width)]

    def _choices(self, value: _Value) -> set[int]:
        """Return the constants that elements of a value may have because a `where` chose them."""
        found: set[int] = set()
        for atom, callers in self._sources(value):
            for case in self._cases(atom):
                found |= self._constant((case, callers))
        return found

    def _constant(self, value: _Value) -> set[int]:
        """Return the integer that all elements of a value are equal to, or an empty set."""
        found: set[Any] = set()
        for atom, _ in self._sources(value):
            is_literal = isinstance(atom, Literal)
            found.add(_single_integer(atom.val if is_literal else self._captured.get(atom)))
        return found if len(found) == 1 and None not in found else set()

    def _is_inside(self, column: _Value, size: int) -> bool:
        """Return whether an index is inside an axis, whatever the arguments are."""
        for atom, _ in self._sources(column):
            equation = self._definition(atom)
            is_count = equation is not None and equation.primitive.name == "iota"
            if not is_count or atom.aval.shape[equation.params["dimension"]] > size:
                return all(0 <= number < size for number in self._constant(column) or {-1})
        return True

    def _definition(self, atom: Any) -> Any:
        return None if isinstance(atom, Literal) else self._definitions.get(atom)

    def _cases(self, atom: Any) -> list[Any]:
        """Return the values that a `select_n` chooses from, or an empty list for another value."""
        equation = self._definition(atom)
        is_choice = equation is not None and _jax_compat.primitive_name(equation) in _CHOOSING
        return list(equation.invars[1:]) if is_choice else []

    def _sources(self, value: _Value) -> Iterator[_Value]:
        """Yield each computed value, constant, or argument whose elements a value may have.

        A `select_n` counts as a computed value, but the values that it chooses from follow as well.
        """
        waiting, seen = [value], set[tuple[int, tuple[int, ...]]]()
        while waiting:
            atom, callers = waiting.pop()
            key = id(atom), tuple(map(id, callers))
            if key in seen:
                continue
            seen.add(key)
            origins = [] if isinstance(atom, Literal) else list(self._origins(atom, callers))
            waiting += origins or [(case, callers) for case in self._cases(atom)]
            if not origins:
                yield atom, callers

    def _origins(self, variable: Any, callers: tuple[Any, ...]) -> Iterator[_Value]:
        """Yield the values that a variable receives without any computation."""
        equation = self._definition(variable)
        if equation is None:
            outer = _passed_value(variable, callers[-1]) if callers else None
            if outer is not None:
                yield outer, callers[:-1]
            return
        name = equation.primitive.name
        result = next(n for n, v in enumerate(equation.outvars) if v is variable)
        called = jaxpr_utils.called_jaxpr(equation)
        if name in _SELECTING and result == 0:
            yield equation.invars[0], callers
        elif name == "select_n" and self._counts_from_end(equation):
            yield equation.invars[1], callers
        elif name == "cond":
            for branch in equation.params["branches"]:
                yield branch.jaxpr.outvars[result], (*callers, equation)
        elif name == "scan" and result >= _jax_compat.scan_counts(equation)[1]:
            yield equation.params["jaxpr"].jaxpr.outvars[result], (*callers, equation)
        elif called is not None:
            yield called.jaxpr.outvars[result], (*callers, equation)

    def _counts_from_end(self, equation: Any) -> bool:
        """Return whether a `select_n` only counts negative indices from the end of an array.

        JAX does so with `select_n(i < 0, i, i + size)`.
        """
        if len(equation.invars) != 3:
            return False
        _, index, shifted = equation.invars
        shift = self._definition(shifted)
        return shift is not None and shift.primitive.name == "add" and shift.invars[0] is index


def _passed_value(variable: Any, caller: Any) -> Any:
    """Return what a call, loop, or branch passes to an input, or None for what a loop carries."""
    name, carry = caller.primitive.name, range(0)
    for jaxpr, inputs in jaxpr_utils.inner_inputs(caller):
        if name == "scan":
            count, carried = _jax_compat.scan_counts(caller)
            carry = range(count, count + carried)
        elif name == "while":
            carry = range(len(inputs) - len(caller.outvars), len(inputs))
        for number, (inner, outer) in enumerate(zip(jaxpr.jaxpr.invars, inputs, strict=False)):
            if inner is variable:
                return None if number in carry else outer
    return None


def _single_integer(value: Any) -> int | None:
    """Return the integer that all elements of a constant are equal to, or None."""
    if value is None or isinstance(value, bool) or not 0 < np.size(value) <= _MAX_COMPARED:
        return None
    if jnp.issubdtype(getattr(value, "dtype", int), jax.dtypes.extended):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or (array != array.flat[0]).any():
        return None
    return int(array.flat[0])
