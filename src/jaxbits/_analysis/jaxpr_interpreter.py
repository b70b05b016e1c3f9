"""Emits a traced program anew, with readings of its probed equations beside its results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.probes import Around, Plan, Reading, parts_of

TURNS = 100_000
_BOUND = {"jit", "pjit", "closed_call", "core_call", "cond", "scan", "while"}
_UNSEEN = {"debug_callback", "debug_print"}
_Sums = dict[int, tuple[Any, Any, Any]]


class Run:
    """Emits a program under a plan; a loop's body once, with sums over its turns.

    With `spoiled`, it reads nothing, but puts other values in place of the bad ones of these sites
    where `flags` say so. Loops then end after `TURNS` turns, since a condition may never be met.
    """

    def __init__(self, plan: Plan, spoiled: set[int] | None, flags: Any) -> None:
        self.plan, self.spoiled, self.flags = plan, spoiled, flags

    def _numbers(self, program: ClosedJaxpr, around: Around) -> list[int]:
        found = self.plan.numbers(program, around)
        return found if self.spoiled is None else [n for n in found if n in self.spoiled]

    def _zeros(self, numbers: Sequence[int]) -> _Sums:
        if self.spoiled is not None:
            return {}
        return {n: _zero(self.plan.sites[n].probe.kind) for n in numbers}

    def program(
        self, program: ClosedJaxpr, inputs: Sequence[Any], around: Around, lanes: Any = None
    ) -> tuple[list[Any], _Sums]:
        """Return the results of a program, and the sums of what was read in it.

        Args:
            program: what is emitted.
            inputs: its inputs.
            around: what it stands in.
            lanes: in the body of a batched loop, which of its lanes go on.
        """
        known: dict[Any, Any] = {}
        known.update(zip(program.jaxpr.constvars, program.consts, strict=True))
        known.update(zip(program.jaxpr.invars, inputs, strict=True))
        sums: _Sums = {}
        for equation in program.jaxpr.eqns:
            values = [jaxpr_utils.value_or(known, v) for v in equation.invars]
            outputs, found = self._equation(equation, values, around, lanes)
            _add_to(sums, found)
            known.update(zip(equation.outvars, outputs, strict=True))
        return [jaxpr_utils.value_or(known, v) for v in program.jaxpr.outvars], sums

    def _equation(
        self, equation: Any, values: list[Any], around: Around, lanes: Any
    ) -> tuple[list[Any], _Sums]:
        name = equation.primitive.name
        parts = parts_of(equation)
        if parts is None:
            return self._plain(equation, values, around, lanes)
        inside = [around.inside(equation, part) for part in parts]
        numbers = [n for p, a in zip(parts, inside, strict=True) for n in self._numbers(p, a)]
        capped = name == "while" and self.spoiled is not None
        if not numbers and name in _BOUND and not capped:
            return _jax_compat.bind(equation, values), {}
        if name == "cond":
            return self._cond(parts, inside, numbers, values, lanes)
        if name == "scan":
            return self._scan(equation, inside[0], numbers, values, lanes)
        if name == "while":
            return self._while_loop(equation, inside, numbers, values, lanes)
        return self.program(parts[0], values, inside[0], lanes)

    def _plain(
        self, equation: Any, values: list[Any], around: Around, lanes: Any
    ) -> tuple[list[Any], _Sums]:
        if equation.primitive.name in _UNSEEN and not equation.outvars:
            return [], {}
        outputs = _jax_compat.bind(equation, values)
        sums: _Sums = {}
        for site in self.plan.at.get((id(equation), around), ()):
            if self.spoiled is None:
                try:
                    reading = site.probe.read(equation, values, outputs)
                except Exception:  # an equation of a kind not thought of: the others still count
                    self.plan.failed.add(equation.primitive.name)
                    continue
                if reading is not None:
                    sums[site.number] = _summed(reading, site.probe.kind, lanes)
            elif site.number in self.spoiled:
                flag = self.flags[site.number]
                other = site.probe.spoil(equation, values, outputs)
                pairs = zip(other, outputs, strict=True)
                outputs = [a if a is b else jnp.where(flag, a, b) for a, b in pairs]
        return outputs, sums

    def _cond(
        self,
        parts: Sequence[ClosedJaxpr],
        inside: Sequence[Around],
        numbers: Sequence[int],
        values: list[Any],
        lanes: Any,
    ) -> tuple[list[Any], _Sums]:
        def branch(part: ClosedJaxpr, around: Around) -> Callable[..., Any]:
            def run(*given: Any) -> Any:
                outputs, found = self.program(part, given, around, lanes)
                return outputs, {**self._zeros(numbers), **found}

            return run

        branches = [branch(part, a) for part, a in zip(parts, inside, strict=True)]
        outputs, sums = lax.switch(jnp.asarray(values[0], jnp.int32), branches, *values[1:])
        return list(outputs), sums

    def _scan(
        self, equation: Any, inside: Around, numbers: Sequence[int], values: list[Any], lanes: Any
    ) -> tuple[list[Any], _Sums]:
        p = equation.params
        first, carried = _jax_compat.scan_counts(equation)
        last = first + carried

        def body(state: Any, row: Any) -> Any:
            given = (*values[:first], *state[0], *row)
            outputs, found = self.program(p["jaxpr"], given, inside, lanes)
            return (outputs[:carried], _add_to(dict(state[1]), found)), outputs[carried:]

        start = (values[first:last], self._zeros(numbers))
        (ends, sums), stacked = lax.scan(
            body, start, values[last:], length=p["length"], reverse=p["reverse"]
        )
        return [*ends, *stacked], sums

    def _while_loop(
        self,
        equation: Any,
        inside: Sequence[Around],
        numbers: Sequence[int],
        values: list[Any],
        lanes: Any,
    ) -> tuple[list[Any], _Sums]:
        """Run a loop; of a batched one, whose lanes end one by one, read only those that go on."""
        p = equation.params
        first, last = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]

        def condition(carry: Sequence[Any], going: Any) -> Any:
            given = (*values[:first], *carry)
            outputs, found = self.program(p["cond_jaxpr"], given, inside[0], going)
            return outputs[0], found

        def body(state: Any) -> Any:
            carry, going, sums, turns = state
            batched = going if going.shape else lanes
            given = (*values[first:last], *carry)
            outputs, found = self.program(p["body_jaxpr"], given, inside[1], batched)
            if going.shape:
                outputs = [_where_lane(going, a, b) for a, b in zip(outputs, carry, strict=True)]
            sums = _add_to(dict(sums), found)
            goes_on, found = condition(outputs, batched)
            return outputs, goes_on, _add_to(sums, found), turns + 1

        def more(state: Any) -> Any:
            within = state[3] < TURNS if self.spoiled is not None else True
            return jnp.any(state[1]) & within

        carry = values[last:]
        goes_on, found = condition(carry, lanes)
        sums = _add_to(self._zeros(numbers), found)
        ends, _, sums, _ = lax.while_loop(more, body, (carry, goes_on, sums, jnp.int32(0)))
        return list(ends), sums


def _where_lane(going: Any, new: Any, old: Any) -> Any:
    shape = going.shape + (1,) * (jnp.ndim(new) - going.ndim)
    return jnp.where(going.reshape(shape), new, old)


def _ends(kind: Any) -> tuple[float, float]:
    """Return what the least and the greatest of no values are."""
    whole = jnp.issubdtype(kind, jnp.integer)
    return (2**31 - 1, -(2**31)) if whole else (math.inf, -math.inf)


def _zero(kind: Any) -> tuple[Any, Any, Any]:
    low, high = _ends(kind)
    return jnp.int32(0), jnp.asarray(low, kind), jnp.asarray(high, kind)


def _add_to(sums: _Sums, more: _Sums) -> _Sums:
    for number, (count, low, high) in more.items():
        if number in sums:
            n, least, most = sums[number]
            n = jnp.minimum(n, 2**30) + jnp.minimum(count, 2**30)
            sums[number] = (n, jnp.minimum(least, low), jnp.maximum(most, high))
        else:
            sums[number] = (count, low, high)
    return sums


def _summed(reading: Reading, kind: Any, lanes: Any) -> tuple[Any, Any, Any]:
    bad, value = reading
    bad = jnp.asarray(bad)
    if lanes is not None and lanes.shape:
        bad = bad & _fitted(lanes, bad.shape)
    low, high = _ends(kind)
    value = jnp.asarray(value).astype(kind)
    least = jnp.min(jnp.where(bad, value, low), initial=low)
    most = jnp.max(jnp.where(bad, value, high), initial=high)
    return jnp.sum(bad, dtype=jnp.int32), least.astype(kind), most.astype(kind)


def _fitted(lanes: Any, shape: tuple[int, ...]) -> Any:
    """Return which of the values of a shape belong to lanes that go on."""
    if shape[: lanes.ndim] == lanes.shape:
        return lanes.reshape(lanes.shape + (1,) * (len(shape) - lanes.ndim))
    if lanes.ndim == 1 and lanes.size in shape:
        axis = shape.index(lanes.size)
        return lanes.reshape([-1 if d == axis else 1 for d in range(len(shape))])
    return jnp.any(lanes)
