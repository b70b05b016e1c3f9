"""Probes, and plans that list which of a program's equations the probes measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from jaxbits._analysis import device_maps, jaxpr_utils
from jaxbits._analysis.call_context import CallContext
from jaxbits._analysis.code_location import CodeLocation


class Measurement(NamedTuple):
    """A probe's measurement of one equation.

    Attributes:
        bad: A boolean mask of the bad values.
        value: The values, with a shape that can be broadcast with `bad`.
    """

    bad: Any
    value: Any


def contradict(values: Any) -> Any:
    """Return finite values that differ from the given ones in sign and size.

    NaN would differ from everything, but it also spreads to where a value does not matter. In the
    backward pass of `jnp.where`, for example, values that were not chosen are multiplied by zero.

    >>> contradict(jnp.array([2.0, -2.0, jnp.nan])).tolist()
    [-5.0, 5.0, 12345.0]
    """
    if jnp.issubdtype(values.dtype, jnp.integer):
        return ~values
    sign = jnp.where(jnp.real(values) >= 0, 1, -1).astype(values.dtype)
    opposite = -values - 3 * sign
    largest = float(jnp.finfo(values.dtype).max)  # type: ignore[no-untyped-call]
    return jnp.where(jnp.isfinite(opposite), opposite, min(12345.0, largest)).astype(values.dtype)


def _keep_outputs(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> list[Any]:
    return outputs


@dataclass(frozen=True, eq=False)
class Probe:
    """A description of what one detector measures in an instrumented run.

    Probes are compared by identity.

    Attributes:
        selects: A function that takes an equation and its context, and returns whether to measure
            the equation.
        measure: A function that takes an equation, its inputs, and its outputs, and returns the
            measurement, or None if there is nothing to measure.
        corrupt: A function that takes the same arguments and returns outputs in which the bad
            values are replaced. If the results of the program stay the same, the bad values do not
            reach them.
        dtype: The dtype of the measured values.
    """

    selects: Callable[[Any, CallContext], bool]
    measure: Callable[[Any, Sequence[Any], list[Any]], Measurement | None]
    corrupt: Callable[[Any, Sequence[Any], list[Any]], list[Any]] = _keep_outputs
    dtype: Any = jnp.int32

    @property
    def can_corrupt(self) -> bool:
        """Whether the probe can tell masked bad values from those that reach the results."""
        return self.corrupt is not _keep_outputs


@dataclass
class Site:
    """One measured equation.

    Attributes:
        number: The index of the site in its plan.
        probe: The probe that measures the equation.
        equation: The equation that is measured.
        context: The calls, loops, and branches that enclose the equation.
        count: How many values were bad, over all iterations of the enclosing loops.
        low: The smallest of the bad values.
        high: The largest of the bad values.
    """

    number: int
    probe: Probe
    equation: Any
    context: CallContext
    count: int = 0
    low: float = 0.0
    high: float = 0.0

    @property
    def location(self) -> CodeLocation | None:
        """The line of user code that the equation comes from, or None if it is unknown."""
        return self.context.location(self.equation)

    def describe_values(self) -> str:
        """Describe the number of bad values and their range."""
        low, high = f"{self.low:.6g}", f"{self.high:.6g}"
        noun = "value" if self.count == 1 else "values"
        return f"{self.count} {noun}, {low}" + (f" to {high}" if high != low else "")


class Plan:
    """The sites in a program, which are determined before the program runs.

    Attributes:
        size: The number of equations. A function that is called twice counts twice.
        failed: The primitives that a probe could not measure.
        unseen: The primitives that map programs over devices, and whose sites cannot be measured.
        sites_at: The sites, keyed by the `id` of the equation and its context.
    """

    def __init__(self, program: ClosedJaxpr, probes: Sequence[Probe]) -> None:
        self.probes = probes
        self.sites: list[Site] = []
        self.sites_at: dict[tuple[int, CallContext], list[Site]] = {}
        self.size = 0
        self.failed: set[str] = set()
        self.unseen: set[str] = set()
        self._numbers: dict[tuple[int, CallContext], list[int]] = {}
        self.site_numbers(program, CallContext())

    def site_numbers(self, program: ClosedJaxpr, context: CallContext) -> list[int]:
        """Return the numbers of the sites in a jaxpr and its sub-jaxprs.

        Args:
            program: The jaxpr to search.
            context: The calls, loops, and branches that enclose it.
        """
        if not program.jaxpr.eqns:
            return []
        # In JAX 0.12, `called_jaxpr` returns a new object in every call, with the same equations.
        key = (id(program.jaxpr.eqns[0]), context)
        if key not in self._numbers:
            self._numbers[key] = numbers = []
            for equation in program.jaxpr.eqns:
                self.size += 1
                jaxprs = instrumented_jaxprs(equation)
                if jaxprs is None:
                    numbers += self._add_sites(equation, context)
                    self._record_unseen(equation)
                for jaxpr in jaxprs or ():
                    numbers += self.site_numbers(jaxpr, context.enter(equation, jaxpr))
        return self._numbers[key]

    def _record_unseen(self, equation: Any) -> None:
        """Record a program that is mapped over devices if it has sites."""
        name, called = equation.primitive.name, jaxpr_utils.called_jaxpr(equation)
        if name in device_maps.MAPS and called is not None and Plan(called, self.probes).sites:
            self.unseen.add(name)

    def _add_sites(self, equation: Any, context: CallContext) -> list[int]:
        selected = [p for p in self.probes if p.selects(equation, context)]
        first = len(self.sites)
        sites = [Site(first + n, p, equation, context) for n, p in enumerate(selected)]
        if sites:
            self.sites += sites
            self.sites_at[id(equation), context] = sites
        return [site.number for site in sites]


def instrumented_jaxprs(equation: Any) -> list[ClosedJaxpr] | None:
    """Return the sub-jaxprs to instrument in an equation, or None for a plain equation."""
    name, params = equation.primitive.name, equation.params
    if name == "cond":
        return list(params["branches"])
    if name == "scan":
        return [params["jaxpr"]] if params["length"] else None
    if name == "while":
        return [params["cond_jaxpr"], params["body_jaxpr"]]
    called = jaxpr_utils.called_jaxpr(equation)
    if called is None or (name in device_maps.MAPS and not device_maps.can_enter(equation)):
        return None
    return [called]
