"""One instrumented run: the traced program, run again with probes on its equations.

The program is emitted anew, through calls, loops and branches, with a count beside its results
for every probed equation; so all that is wrong is seen at once, inside of `jit` too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from jaxbits import compat
from jaxbits.detect import jaxprs
from jaxbits.detect.finding import Place, place_of


@dataclass(frozen=True)
class Around:
    """Where an equation stands: its line, and the library's calls it is inside of, outermost first.

    `hidden` is set inside of a library's own program, whose lines say nothing.
    """

    place: Place | None = None
    calls: tuple[str, ...] = ()
    hidden: bool = False


@dataclass(frozen=True)
class Reading:
    """What a probe reads off an equation: how many values are bad, the least and the greatest."""

    count: Any
    low: Any
    high: Any


@dataclass
class Site:
    """One probed equation, with the sums of its readings."""

    equation: Any
    around: Around
    count: int = 0
    low: float = 0.0
    high: float = 0.0


Probe = Callable[[Any, Sequence[Any], Around], "Reading | None"]
Replace = Callable[[Any, Sequence[Any], list[Any]], list[Any]]
_Sums = dict[int, tuple[Any, Any, Any]]
_ZERO = (0, 2**31 - 1, -(2**31))


@dataclass
class Observation:
    """The sites with something bad, the results of the run, and what could not be looked into."""

    sites: list[Site]
    outputs: list[Any]
    skipped: list[str] = field(default_factory=list)


def observe(
    program: ClosedJaxpr, inputs: Sequence[Any], probe: Probe, replace: Replace | None = None
) -> Observation:
    """Run a program with a probe on each equation.

    Args:
        program: what was traced.
        inputs: its inputs.
        probe: gives a reading for an equation and the values it is applied to, or None.
        replace: gives the outputs to go on with, from the equation, its inputs and its outputs.
    """
    run = _Run(probe, replace)
    values = [
        value if isinstance(value, jax.Array) else jnp.asarray(value, dtype=aval.dtype)
        for value, aval in zip(inputs, program.in_avals, strict=True)
    ]
    outputs, sums = jax.jit(lambda *given: run.program(program, given, Around()))(*values)
    for number, (count, low, high) in sums.items():
        site = run.sites[number]
        site.count, site.low, site.high = int(count), float(low), float(high)
    return Observation([s for s in run.sites if s.count], outputs, run.skipped)


def _zero() -> tuple[Any, Any, Any]:
    return tuple(jnp.asarray(part, jnp.int32) for part in _ZERO)  # type: ignore[return-value]


def _add(a: _Sums, b: Mapping[int, tuple[Any, Any, Any]]) -> _Sums:
    total = dict(a)
    for number, (count, low, high) in b.items():
        n, least, most = total.get(number) or _zero()
        n = jnp.minimum(n, 2**30) + jnp.minimum(count, 2**30)
        total[number] = (n, jnp.minimum(least, low), jnp.maximum(most, high))
    return total


class _Run:
    def __init__(self, probe: Probe, replace: Replace | None) -> None:
        self.probe, self.replace = probe, replace
        self.sites: list[Site] = []
        self.numbers: dict[tuple[int, Around], int] = {}
        self.skipped: list[str] = []

    def program(
        self, program: ClosedJaxpr, inputs: Sequence[Any], around: Around
    ) -> tuple[list[Any], _Sums]:
        known: dict[Any, Any] = {}
        known.update(zip(program.jaxpr.constvars, program.consts, strict=True))
        known.update(zip(program.jaxpr.invars, inputs, strict=True))
        sums: _Sums = {}
        for equation in program.jaxpr.eqns:
            values = [jaxprs.value_or(known, v) for v in equation.invars]
            place = around.place if around.hidden else place_of(equation)
            here = Around(place or around.place, around.calls, around.hidden)
            outputs, found = self.equation(equation, values, here)
            sums = _add(sums, found) if found else sums
            known.update(zip(equation.outvars, outputs, strict=True))
        return [jaxprs.value_or(known, v) for v in program.jaxpr.outvars], sums

    def equation(
        self, equation: Any, values: list[Any], around: Around
    ) -> tuple[list[Any], Mapping[int, tuple[Any, Any, Any]]]:
        name = equation.primitive.name
        inner = jaxprs.called(equation)
        if inner is not None:
            if jaxprs.is_librarys(inner):
                calls = (*around.calls, str(equation.params.get("name", "")))
                around = Around(around.place, calls, True)
            return self.program(inner, values, around)
        if name == "cond":
            return self.cond(equation, values, around)
        if name == "scan" and equation.params["length"]:
            return self.scan(equation, values, around)
        if name == "while" and equation.params["cond_jaxpr"].out_avals[0].shape == ():
            return self.while_loop(equation, values, around)
        if name in ("scan", "while"):
            self.skipped.append(f"the body of a {name}, batched or of no turns")
        outputs = compat.bind(equation, values)
        reading = self.probe(equation, values, around)
        if self.replace is not None:
            outputs = self.replace(equation, values, outputs)
        if reading is None:
            return outputs, {}
        key = (id(equation), around)
        if key not in self.numbers:
            self.numbers[key] = len(self.sites)
            self.sites.append(Site(equation, around))
        parts = (reading.count, reading.low, reading.high)
        return outputs, {self.numbers[key]: tuple(jnp.asarray(p, jnp.int32) for p in parts)}  # type: ignore[dict-item]

    def numbers_in(self, run: Callable[..., Any], *values: Any) -> list[int]:
        found: list[int] = []

        def sums(*given: Any) -> Any:
            outputs, here = run(*given)
            found.extend(here)
            return outputs

        jax.eval_shape(sums, *values)
        return list(dict.fromkeys(found))

    def cond(
        self, equation: Any, values: list[Any], around: Around
    ) -> tuple[list[Any], Mapping[int, tuple[Any, Any, Any]]]:
        index, *operands = values
        branches = [
            lambda *given, branch=branch: self.program(branch, given, around)
            for branch in equation.params["branches"]
        ]
        every = [n for branch in branches for n in self.numbers_in(branch, *operands)]
        padded = [
            lambda *given, branch=branch: (
                (found := branch(*given))[0],
                {n: found[1].get(n) or _zero() for n in dict.fromkeys(every)},
            )
            for branch in branches
        ]
        outputs, sums = lax.switch(jnp.asarray(index, jnp.int32), padded, *operands)
        return list(outputs), sums

    def scan(
        self, equation: Any, values: list[Any], around: Around
    ) -> tuple[list[Any], Mapping[int, tuple[Any, Any, Any]]]:
        p = equation.params
        first, carried = compat.scan_counts(equation)
        last = first + carried
        constants, carry, rows = values[:first], values[first:last], values[last:]

        def run(*given: Any) -> Any:
            return self.program(p["jaxpr"], given, around)

        one = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in p["jaxpr"].jaxpr.invars]
        numbers = self.numbers_in(run, *one)

        def body(state: Any, row: Any) -> Any:
            outputs, found = run(*constants, *state[0], *row)
            return (outputs[: len(carry)], _add(state[1], found)), outputs[len(carry) :]

        start = (list(carry), {n: _zero() for n in numbers})
        (ends, sums), stacked = lax.scan(
            body, start, list(rows), length=p["length"], reverse=p["reverse"]
        )
        return [*ends, *stacked], sums

    def while_loop(
        self, equation: Any, values: list[Any], around: Around
    ) -> tuple[list[Any], Mapping[int, tuple[Any, Any, Any]]]:
        p = equation.params
        first, last = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]

        def run(*given: Any) -> Any:
            return self.program(p["body_jaxpr"], given, around)

        one = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in p["body_jaxpr"].in_avals]
        numbers = self.numbers_in(run, *one)

        def condition(state: Any) -> Any:
            closed = p["cond_jaxpr"]
            return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *values[:first], *state[0])[0]

        def body(state: Any) -> Any:
            outputs, found = run(*values[first:last], *state[0])
            return outputs, _add(state[1], found)

        start = (list(values[last:]), {n: _zero() for n in numbers})
        outputs, sums = lax.while_loop(condition, body, start)
        return list(outputs), sums
