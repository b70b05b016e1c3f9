"""Which PRNG keys of a program are the same value, and where each is used.

Values are numbered: two results of the same primitive on the same values, with the same
parameters, are one value.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, is_users, place_of

_USED = {"random_bits": "a draw", "random_split": "a split", "random_gamma": "a draw"}
_SAME = {"random_wrap", "random_unwrap", "copy", "copy_p", "device_put", "convert_element_type"}


@dataclass(frozen=True)
class Value:
    """A value of the program.

    Attributes:
        number: what makes it the same as another.
        from_input: whether an argument of the program enters it.
        varies: the loops around it between whose turns it changes.
    """

    number: Hashable
    from_input: bool
    varies: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Use:
    """One use of a key: how, where, and whether an argument enters the key."""

    key: Hashable
    how: str
    place: Place | None
    from_input: bool
    varies: frozenset[int]


def uses(program: ClosedJaxpr) -> list[Use]:
    """Return the uses of PRNG keys in a program, in order.

    >>> traced = jax.make_jaxpr(lambda k: jax.random.normal(k) + jax.random.uniform(k))
    >>> found = uses(traced(jax.random.key(0)))
    >>> len(found), found[0].key == found[1].key
    (2, True)
    """
    if not any(equation.primitive.name in _USED for equation in jaxpr_utils.equations(program)):
        return []
    flow = _Flow()
    inputs = [flow.new(True) for _ in program.jaxpr.invars]
    flow.run(program, inputs, None)
    return flow.uses


def _literal(value: Any) -> Value:
    kind = getattr(value, "dtype", None)
    if kind is not None and jnp.issubdtype(kind, jax.dtypes.prng_key):
        data = np.asarray(jax.random.key_data(value))
        return Value(("key", data.tobytes()), False)
    data = np.asarray(value)
    return Value(("literal", str(data.dtype), data.shape, hash(data.tobytes())), False)


def rows_around(equation: Any) -> int:
    """Return how many of the user's own `jax.vmap` an equation was traced inside of."""
    frames = [f for f in _jax_compat.frames(equation) if "reraise_with_filtered" not in f[0]]
    lines = [is_users(file) for _, file, _ in frames]
    start = lines.index(True) if True in lines else len(frames)
    return sum(
        frames[i][0].endswith("vmap_f") and lines[i + 1] for i in range(start, len(frames) - 1)
    )


class _Flow:
    def __init__(self) -> None:
        self.uses: list[Use] = []
        self.numbers: dict[Hashable, int] = {}
        self.count = itertools.count()
        self.rows = 0

    def new(self, from_input: bool, *varies: frozenset[int]) -> Value:
        return Value(("new", next(self.count)), from_input, frozenset().union(*varies))

    def run(self, program: ClosedJaxpr, inputs: Sequence[Value], at: Place | None) -> list[Value]:
        known: dict[Any, Value] = {}
        constants = map(_literal, program.consts)
        known.update(zip(program.jaxpr.constvars, constants, strict=True))
        known.update(zip(program.jaxpr.invars, inputs, strict=True))
        for equation in program.jaxpr.eqns:
            values = [jaxpr_utils.value_or(known, v, _literal) for v in equation.invars]
            outputs = self.equation(equation, values, at)
            known.update(zip(equation.outvars, outputs, strict=True))
        return [jaxpr_utils.value_or(known, v, _literal) for v in program.jaxpr.outvars]

    def equation(self, equation: Any, values: list[Value], at: Place | None) -> list[Value]:
        name = equation.primitive.name
        inner = jaxpr_utils.called(equation)
        if inner is not None:
            before = len(self.uses)
            hidden = at or (place_of(equation) if jaxpr_utils.is_librarys(inner) else None)
            if hidden and not at:
                self.rows = rows_around(equation)
            outputs = self.run(inner, values, hidden)
            if equation.params.get("differentiated"):  # remat draws again, on purpose
                del self.uses[before:]
            return outputs
        if name == "cond":
            return self.cond(equation, values, at)
        if name in ("scan", "while"):
            return self.loop(equation, values, at)
        if name in _USED and equation.outvars[0].aval.size:
            key, place = values[0], at or place_of(equation)
            use = Use(key.number, _USED[name], place, key.from_input, key.varies)
            self.uses.append(use)
            if (self.rows if at else rows_around(equation)) > len(equation.invars[0].aval.shape):
                self.uses.append(replace(use, how=f"{use.how}, again for every row of `vmap`"))
        if name in _SAME and len(values) == 1:
            kinds = [str(getattr(v.aval, "dtype", "")) for v in equation.invars + equation.outvars]
            if name.startswith("random_") or kinds[0] == kinds[1]:
                return [values[0]]
        from_input = any(v.from_input for v in values)
        varies = frozenset[int]().union(*(v.varies for v in values))
        if name == "random_clone":
            return [self.new(from_input, varies)]
        number = self._number(equation, values)
        return [Value((number, i), from_input, varies) for i, _ in enumerate(equation.outvars)]

    def _number(self, equation: Any, values: list[Value]) -> int:
        parameters = tuple(sorted((k, str(v)) for k, v in equation.params.items()))
        made = (equation.primitive.name, tuple(v.number for v in values), parameters)
        return self.numbers.setdefault(made, len(self.numbers))

    def cond(self, equation: Any, values: list[Value], at: Place | None) -> list[Value]:
        """Only one branch runs: a key counts as often as in the branch that uses it most."""
        before, most = self.uses, dict[Hashable, list[Use]]()
        results = []
        for branch in equation.params["branches"]:
            self.uses = []
            results.append(self.run(branch, values[1:], at))
            for key, times in Counter(use.key for use in self.uses).items():
                if times > len(most.get(key, ())):
                    most[key] = [use for use in self.uses if use.key == key]
        before += itertools.chain.from_iterable(most.values())
        self.uses, outputs = before, []
        for column in zip(*results, strict=True):
            if all(value == column[0] for value in column):
                outputs.append(column[0])
            else:
                mixed = [values[0], *column]
                from_input = any(v.from_input for v in mixed)
                outputs.append(self.new(from_input, *(v.varies for v in mixed)))
        return outputs

    def loop(self, equation: Any, values: list[Value], at: Place | None) -> list[Value]:
        """Run a loop's body until it is known which carried values change from turn to turn."""
        p = equation.params
        if equation.primitive.name == "scan":
            body, (first, carried_count) = p["jaxpr"], _jax_compat.scan_counts(equation)
            last, turns = first + carried_count, p["length"]
            constants, carry, rows = values[:first], values[first:last], values[last:]
        else:
            body, first = p["body_jaxpr"], p["cond_nconsts"] + p["body_nconsts"]
            constants, carry, rows = values[p["cond_nconsts"] : first], values[first:], []
            turns = 2
        before, here = self.uses, frozenset({next(self.count)})
        changes = [False] * len(carry)
        while True:
            self.uses = []
            carried = [
                self.new(v.from_input, v.varies, here) if changed else v
                for v, changed in zip(carry, changes, strict=True)
            ]
            given = [self.new(v.from_input, v.varies, here) for v in rows]
            outputs = self.run(body, [*constants, *carried, *given], at)
            ends = zip(changes, outputs, carried, strict=False)
            now = [was or end.number != start.number for was, end, start in ends]
            if now == changes:
                break
            changes = now
        inside, self.uses = self.uses, before
        for use in inside:
            self.uses.append(replace(use, varies=use.varies - here))
            if turns > 1 and not use.varies & here:
                self.uses.append(replace(use, how=f"{use.how}, again on every turn"))
        from_input = any(v.from_input for v in (*values, *outputs))
        varies = [v.varies - here for v in (*values, *outputs)]
        return [self.new(from_input, *varies) for _ in equation.outvars]
