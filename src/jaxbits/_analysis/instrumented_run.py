"""One instrumented run: the traced program, run again with probes on its equations.

The program is emitted anew, through calls, loops and branches, with sums beside its results for
every probed equation; so all that is wrong is seen at once, inside of `jit` too. The probes of
several detectors share one run. A second run, made only where something was bad, puts other values
in the place of the bad ones, site by site, and tells those that reach the results.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from jaxbits._analysis.jaxpr_interpreter import Run
from jaxbits._analysis.probes import Around, Plan, Probe, Site

SIZE, SECONDS = 100_000, 5.0


class Observation:
    """What an instrumented run shows; it is made when it is first asked for."""

    def __init__(
        self,
        program: ClosedJaxpr,
        inputs: Sequence[Any],
        plan: Plan,
        within: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> None:
        self.program, self.plan, self._within = program, plan, within
        self._values = [*program.consts, *_arrays(program, inputs)]

    @functools.cached_property
    def outputs(self) -> list[Any]:
        """The results of the run."""
        outputs, sums = self._compiled()(self._values, None)
        for number, (count, low, high) in jax.device_get(sums).items():
            site = self.plan.sites[number]
            site.count, site.low, site.high = int(count), float(low), float(high)
        return list(outputs)

    @functools.cached_property
    def sites(self) -> list[Site]:
        """The sites with something bad; where none could be, the program is not run."""
        if not self.plan.sites:
            return []
        _ = self.outputs
        return [site for site in self.plan.sites if site.count]

    def of(self, check: str) -> list[Site]:
        """Return the sites where a check's probe has seen something bad."""
        return [site for site in self.sites if site.probe.check == check]

    @functools.cached_property
    def masked(self) -> set[int]:
        """The numbers of the sites whose bad values do not reach the results."""
        spoiled = [site for site in self.sites if site.probe.spoils]
        if not spoiled or not self.outputs or any_nan(self.outputs):
            return set()
        return self._without_effect(spoiled)

    @property
    def culprits(self) -> list[Site]:
        """The sites whose bad values, mended, change the results; all, where none does alone."""
        masked = self._without_effect(self.sites)
        return [s for s in self.sites if s.number not in masked] or self.sites

    def _without_effect(self, spoiled: Sequence[Site]) -> set[int]:
        run = self._compiled({site.number for site in spoiled})
        same = functools.partial(self._same, run)
        if same(spoiled):
            return {site.number for site in spoiled}
        start, found = time.perf_counter(), set()
        for site in spoiled if len(spoiled) > 1 else ():
            if time.perf_counter() - start < SECONDS and same([site]):
                found.add(site.number)
        return found

    def _same(self, run: Callable[..., Any], spoiled: Sequence[Site]) -> bool:
        chosen = {site.number for site in spoiled}
        flags = jnp.array([site.number in chosen for site in self.plan.sites])
        return _equal(self.outputs, run(self._values, flags)[0])

    def _compiled(self, spoiled: set[int] | None = None) -> Callable[..., Any]:
        count = len(self.program.consts)

        @jax.jit
        def run(values: list[Any], flags: Any) -> Any:
            closed = ClosedJaxpr(self.program.jaxpr, values[:count])
            return Run(self.plan, spoiled, flags).program(closed, values[count:], Around())

        def quietly(values: list[Any], flags: Any) -> Any:
            with self._within():
                found = jax.block_until_ready(run(values, flags))
                jax.effects_barrier()
                return found

        return quietly


def observe(program: ClosedJaxpr, inputs: Sequence[Any], *probes: Probe) -> Observation:
    """Run a program with probes on its equations.

    Args:
        program: what was traced.
        inputs: its inputs.
        *probes: what is read.
    """
    return Observation(program, inputs, Plan(program, probes))


def _arrays(program: ClosedJaxpr, inputs: Sequence[Any]) -> list[Any]:
    return [
        value if isinstance(value, jax.Array) else jnp.asarray(value, dtype=aval.dtype)
        for value, aval in zip(inputs, program.in_avals, strict=True)
    ]


def floats(arrays: Sequence[Any]) -> list[Any]:
    """Return those of the arrays that hold floats, or complex numbers."""
    return [a for a in arrays if jnp.issubdtype(a.dtype, jnp.inexact)]


def not_finite(arrays: Sequence[Any]) -> int:
    """Return how many values are NaN or infinite; in NumPy, which compiles nothing."""
    return sum(int((~np.isfinite(np.asarray(a))).sum()) for a in floats(arrays))


def any_nan(arrays: Sequence[Any]) -> bool:
    """Whether there is a NaN in some array."""
    return any(bool(np.isnan(np.asarray(a)).any()) for a in floats(arrays))


def _equal(a: Sequence[Any], b: Sequence[Any]) -> bool:
    for one, other in zip(a, b, strict=True):
        if jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            continue
        inexact = bool(jnp.issubdtype(one.dtype, jnp.inexact))
        if not np.array_equal(np.asarray(one), np.asarray(other), equal_nan=inexact):
            return False
    return True
