"""Find writes whose values were computed from a read of the same array at the same indices.

The analysis numbers the values of a program, so that two results are the same value if they come
from the same primitive with the same inputs and parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.probes import Site
from jaxbits._analysis.read_changes import KEPT, OTHER, Reads, combine_reads, merge_reads
from jaxbits._analysis.repeated_arrays import RepeatedArrays

# JAX defines these primitives in https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/lax.py
_SAME_INDEX_WORDS = "broadcast_in_dim reshape squeeze expand_dims convert_element_type copy copy_p"
_SAME_INDEX = frozenset(_SAME_INDEX_WORDS.split())
_MAX_COMPARED = 100_000
"""The size up to which constants are compared by their elements."""


@dataclass(frozen=True)
class _Value:
    """A value in a program.

    Attributes:
        number: The value number. Equal values have equal numbers.
        index: A number that is also equal for indices of different shapes or dtypes, and for
            negative indices before and after they are counted from the end.
        reads: What the value was computed from.
    """

    number: Hashable
    index: Hashable
    reads: Reads = field(default_factory=dict)


def changes_of_reads(program: ClosedJaxpr, sites: Sequence[Site]) -> dict[int, str]:
    """Return what the writes at some sites do to what was read at their own indices.

    Args:
        program: The program.
        sites: The writes, which are scatters.

    Returns:
        The name of an operation such as ``"add"``, `KEPT`, or `OTHER`, keyed by the number of the
        site. Sites that write something else are missing.

    >>> import jax
    >>> from jaxbits._analysis.probes import Plan, Probe
    >>> x, i = jax.numpy.zeros(3), jax.numpy.array([0, 1, 1])
    >>> traced = jax.make_jaxpr(lambda x, i: x.at[i].set(x[i] + 1))(x, i)
    >>> plan = Plan(traced, [Probe(lambda e, _: e.primitive.name == "scatter", None)])
    >>> changes_of_reads(traced, plan.sites)
    {0: 'add'}
    """
    numbers = {(id(site.equation), site.context.path): site.number for site in sites}
    flow = _ReadFlow(numbers)
    if sites:
        flow.run(program, [flow.new_value() for _ in program.jaxpr.invars], ())
    return {numbers[key]: change for key, change in flow.changes.items()}


class _ReadFlow:
    """An analysis that follows what a program reads from arrays until it writes it back."""

    def __init__(self, wanted: Iterable[tuple[int, tuple[int, ...]]]) -> None:
        self.wanted, self.changes = set(wanted), dict[tuple[int, tuple[int, ...]], str]()
        self._numbers: dict[Hashable, int] = {}
        self._counter = itertools.count()
        self._shifted: dict[Hashable, Hashable] = {}
        self._repeated = RepeatedArrays()

    def new_value(self, reads: Reads | None = None) -> _Value:
        """Return a value that differs from all others."""
        number = ("new", next(self._counter))
        return _Value(number, number, reads or {})

    def run(
        self, program: ClosedJaxpr, inputs: Sequence[_Value], path: tuple[int, ...]
    ) -> list[_Value]:
        """Analyze a jaxpr, and return the values of its results.

        Args:
            program: The jaxpr to analyze.
            inputs: The values of its inputs.
            path: The `id` of each equation that encloses it.
        """
        known: dict[Any, _Value] = dict(zip(program.jaxpr.invars, inputs, strict=True))
        known.update(zip(program.jaxpr.constvars, map(_constant, program.consts), strict=True))

        def read(atom: Any) -> _Value:
            return _constant(atom.val) if isinstance(atom, Literal) else known[atom]

        for equation in program.jaxpr.eqns:
            outputs = self._run_equation(equation, list(map(read, equation.invars)), path)
            known.update(zip(equation.outvars, outputs, strict=True))
        return list(map(read, program.jaxpr.outvars))

    def _run_equation(
        self, equation: Any, values: list[_Value], path: tuple[int, ...]
    ) -> list[_Value]:
        name, inner = equation.primitive.name, (*path, id(equation))
        called = jaxpr_utils.called_jaxpr(equation)
        if called is not None:
            return self.run(called, values, inner)
        if name == "cond":
            results = [self.run(b, values[1:], inner) for b in equation.params["branches"]]
            return [self._merge(column) for column in zip(*results, strict=True)]
        if name == "scan":
            return self._run_scan(equation, values, inner)
        if name == "while":
            return self._run_while(equation, values, inner)
        if name.startswith("scatter") and (id(equation), path) in self.wanted:
            for array in self._repeated.arrays_written_to(equation, values[0].number):
                change = values[2].reads.get((array, values[1].index))
                if change is not None:
                    self.changes[id(equation), path] = change
        reads = combine_reads(equation, [value.reads for value in values])
        if name == "gather":
            reads = {**reads, (values[0].number, values[1].index): KEPT}
        parameters = tuple(sorted((k, str(v)) for k, v in equation.params.items()))
        expression = (name, tuple(v.number for v in values), parameters)
        number = self._numbers.setdefault(expression, len(self._numbers))
        index = self._index(equation, values, number)
        if name == "broadcast_in_dim":
            self._repeated.record(equation, values[0].number, (number, 0))
        return [
            _Value((number, i), index if i == 0 else (number, i), reads)
            for i, _ in enumerate(equation.outvars)
        ]

    def _index(self, equation: Any, values: list[_Value], number: int) -> Hashable:
        """Return the attribute `index` of the first result of an equation."""
        name, own = equation.primitive.name, (number, 0)
        if name in _SAME_INDEX:
            return values[0].index
        if name == "clamp":
            return values[1].index
        if name == "concatenate":
            return ("concatenate", tuple(value.index for value in values))
        if name == "add" and isinstance(equation.invars[1], Literal):
            self._shifted[own] = values[0].index
        # JAX counts negative indices from the end with `select_n(i < 0, i, i + size)`.
        if name == "select_n" and self._shifted.get(values[2].index) == values[1].index:
            return values[1].index
        return own

    def _run_scan(self, equation: Any, values: list[_Value], path: tuple[int, ...]) -> list[_Value]:
        num_consts, num_carry = _jax_compat.scan_counts(equation)
        first_x = num_consts + num_carry
        changing = [self.new_value() for _ in values[num_consts:first_x]]
        elements = [self.new_value(value.reads) for value in values[first_x:]]
        operands = [*values[:num_consts], *changing, *elements]
        outputs = self.run(equation.params["jaxpr"], operands, path)
        carry = values[num_consts:first_x]
        return [*self._after_loop(carry, values, outputs[:num_carry]),
                *(self.new_value(output.reads) for output in outputs[num_carry:])]  # fmt: skip

    def _run_while(
        self, equation: Any, values: list[_Value], path: tuple[int, ...]
    ) -> list[_Value]:
        params = equation.params
        first_body = params["cond_nconsts"]
        first_carry = first_body + params["body_nconsts"]
        carry = [self.new_value() for _ in values[first_carry:]]
        self.run(params["cond_jaxpr"], [*values[:first_body], *carry], path)
        operands = [*values[first_body:first_carry], *carry]
        outputs = self.run(params["body_jaxpr"], operands, path)
        return self._after_loop(values[first_carry:], values, outputs)

    def _after_loop(
        self, carry: Sequence[_Value], values: Sequence[_Value], outputs: Sequence[_Value]
    ) -> list[_Value]:
        """Return what a loop carries at its end, which may depend on all that goes into it."""
        reads = {key: OTHER for value in (*values, *outputs) for key in value.reads}
        return [self.new_value(reads) for _ in carry]

    def _merge(self, column: Sequence[_Value]) -> _Value:
        if all(value.number == column[0].number for value in column):
            return column[0]
        return self.new_value(merge_reads(value.reads for value in column))


def _constant(value: Any) -> _Value:
    """Return the value of a literal or a constant. Equal small arrays are the same value."""
    dtype, number = getattr(value, "dtype", None), ("object", id(value))
    is_key = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
    if not isinstance(value, jax.Ref) and not is_key and np.size(value) <= _MAX_COMPARED:
        data = np.asarray(value)
        return _Value(key := ("constant", str(data.dtype), data.shape, data.tobytes()), key)
    return _Value(number, number)
