"""Run a traced program again, with measurements added to its equations.

The run rebuilds the jaxpr, including its calls, loops, and branches. Besides its results, the
rebuilt program returns whether there are bad values at each measured equation, including those
inside `jit`. One run serves the probes of several detectors. If there are bad values, a second
program measures their count and their range, and it can corrupt them. It runs with the values
corrupted at all sites together, and then at one site at a time. A site is masked if this does not
change the results.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from jaxbits._analysis import jaxpr_utils, resource_limits
from jaxbits._analysis.call_context import CallContext
from jaxbits._analysis.inner_limits import LIMITS
from jaxbits._analysis.jaxpr_interpreter import Interpreter
from jaxbits._analysis.measurement_sums import flagged_sites
from jaxbits._analysis.probes import Plan, Probe, Site
from jaxbits._analysis.quick_compilation import jit_quickly
from jaxbits._analysis.stopwatch import Stopwatch


class InstrumentedRun:
    """An instrumented run of a program. The program runs when its results are first needed.

    Attributes:
        program: The program that runs.
        plan: What the run measures.
        untested_sites: The numbers of the sites for which there was no time to find out whether
            their bad values reach the results.
    """

    def __init__(
        self,
        program: ClosedJaxpr,
        inputs: Sequence[Any],
        plan: Plan,
        sandbox: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> None:
        self.program, self.plan, self._sandbox = program, plan, sandbox
        self._values = [*program.consts, *as_arrays(program, inputs)]
        self.untested_sites: set[int] = set()

    @functools.cached_property
    def _first_run(self) -> tuple[list[Any], set[int]]:
        """The results of the program, and the numbers of the sites with bad values."""
        outputs, flags = self._compile()(self._values, None)
        return list(outputs), flagged_sites(jax.device_get(flags))

    @functools.cached_property
    def _second_run(self) -> Callable[..., Any]:
        """A program that measures the sites with bad values in detail, and that corrupts them."""
        return self._compile(self._first_run[1])

    @property
    def outputs(self) -> list[Any]:
        """The results of the program."""
        return self._first_run[0]

    @property
    def has_computed_nonfinite(self) -> bool:
        """Whether any result contains NaN or infinity and is not just an argument or a literal."""
        arrays = [value for value in self._values if not isinstance(value, jax.Ref)]
        given = [np.asarray(value) for value in inexact_arrays(arrays)]
        pairs = zip(self.outputs, jaxpr_utils.are_literals(self.program), strict=True)
        computed = [value for value, is_literal in pairs if not is_literal]
        return any(
            not np.isfinite(array).all() and not any(_is_same(array, other) for other in given)
            for array in map(np.asarray, inexact_arrays(computed))
        )

    @property
    def flagged_sites(self) -> list[Site]:
        """The sites with bad values, without their count and range, which need a second run."""
        if not self.plan.sites:
            return []
        return [self.plan.sites[number] for number in sorted(self._first_run[1])]

    @functools.cached_property
    def sites(self) -> list[Site]:
        """The sites with bad values. The program does not run if the plan has no sites."""
        if not self.flagged_sites:
            return []
        _, measured = self._uncorrupted_run
        for number, (count, low, high) in jax.device_get(measured).items():
            site = self.plan.sites[number]
            site.count, site.low, site.high = int(count), float(low), float(high)
        return [site for site in self.plan.sites if site.count]

    def sites_of(self, probe: Probe) -> list[Site]:
        """Return the sites where a probe measured bad values."""
        return [site for site in self.sites if site.probe is probe]

    @functools.cached_property
    def masked_sites(self) -> set[int]:
        """The numbers of the sites whose bad values do not reach the results.

        A result that is NaN everywhere would hide any change, so it shows nothing. If only some
        elements are NaN, the others show whether the bad values reach them.
        """
        sites = [site for site in self.sites if site.probe.can_corrupt]
        if not sites or not self.outputs or any(map(_is_all_nan, inexact_arrays(self.outputs))):
            return set()
        return self._find_masked(sites)

    @property
    def first_offenders(self) -> list[Site]:
        """The sites where replacing the bad values changes the results.

        If no single replacement changes them, the result contains all sites with bad values. Sites
        for which there was no time to find that out are left out.
        """
        excluded = self._find_masked(self.sites) | self.untested_sites
        found = [s for s in self.sites if s.number not in excluded]
        return found if found or self.untested_sites else self.sites

    def _find_masked(self, sites: Sequence[Site]) -> set[int]:
        if self._reaches_loop_limit:
            self.untested_sites |= {site.number for site in sites}
            return set()
        if self._has_same_outputs(sites):
            return {site.number for site in sites}
        clock, found = Stopwatch(), set()
        for site in sites if len(sites) > 1 else ():
            if clock.seconds > LIMITS.masking_seconds:
                self.untested_sites.add(site.number)
            elif self._has_same_outputs([site]):
                found.add(site.number)
        return found

    def _has_same_outputs(self, corrupted: Sequence[Site]) -> bool:
        return _equal(self._uncorrupted_run[0], self._run_corrupted(corrupted)[0])

    @functools.cached_property
    def _reaches_loop_limit(self) -> bool:
        """Whether the limit on loops, which holds for corrupted runs, changes the results."""
        equations = jaxpr_utils.all_equations(self.program)
        if not any(equation.primitive.name == "while" for equation in equations):
            return False
        limited = self._run_corrupted([], limits_loops=True)
        return not _equal(self._uncorrupted_run[0], limited[0])

    @functools.cached_property
    def _uncorrupted_run(self) -> Any:
        # The first program may round differently, so compare only results of the second one.
        return self._run_corrupted([])

    def _run_corrupted(self, sites: Sequence[Site], limits_loops: bool = False) -> Any:
        """Return the results of the second run with bad values corrupted, and its measurements."""
        numbers = {site.number for site in sites}
        flags = np.array([*(site.number in numbers for site in self.plan.sites), limits_loops])
        return self._second_run(self._values, flags)

    def _compile(self, bad: set[int] | None = None) -> Callable[..., Any]:
        count = len(self.program.consts)

        def interpret(values: list[Any], flags: Any) -> Any:
            closed = ClosedJaxpr(self.program.jaxpr, values[:count])
            interpreter = Interpreter(self.plan, bad, flags)
            return interpreter.run(closed, values[count:], CallContext())

        run = jit_quickly(interpret, self.program)

        def run_in_sandbox(values: list[Any], flags: Any) -> Any:
            context = self._sandbox()
            if isinstance(context, contextlib.nullcontext):
                return resource_limits.wait_for(run(values, flags))
            with context:
                result = jax.block_until_ready(run(values, flags))
                jax.effects_barrier()
                return result

        return run_in_sandbox


def run_instrumented(
    program: ClosedJaxpr, inputs: Sequence[Any], *probes: Probe
) -> InstrumentedRun:
    """Return an instrumented run of a traced program.

    Args:
        program: The traced program to run.
        inputs: The values of its inputs.
        *probes: The probes, which determine what to measure.
    """
    return InstrumentedRun(program, inputs, Plan(program, probes))


def as_arrays(program: ClosedJaxpr, inputs: Sequence[Any]) -> list[jax.Array]:
    """Return inputs as JAX arrays with the dtypes that a program expects.

    Args:
        program: The program that expects the inputs.
        inputs: The values to convert.
    """
    return [
        value if isinstance(value, jax.Array) else jnp.asarray(value, dtype=aval.dtype)
        for value, aval in zip(inputs, program.in_avals, strict=True)
    ]


def inexact_arrays(arrays: Sequence[Any]) -> list[Any]:
    """Return the arrays that have a floating-point or complex dtype."""
    return [a for a in arrays if jnp.issubdtype(a.dtype, jnp.inexact)]


# This function and the next one use NumPy, which does not have to compile anything.
def count_nonfinite(arrays: Sequence[Any]) -> int:
    """Return how many values in the arrays are NaN or infinite."""
    return sum(int((~np.isfinite(np.asarray(a))).sum()) for a in inexact_arrays(arrays))


def has_nan(arrays: Sequence[Any]) -> bool:
    """Return whether any array contains a NaN."""
    return any(bool(np.isnan(np.asarray(a)).any()) for a in inexact_arrays(arrays))


def _is_all_nan(array: Any) -> bool:
    """Return whether an array has elements and all of them are NaN."""
    return bool(array.size) and bool(np.isnan(np.asarray(array)).all())


def _is_same(a: Any, b: Any) -> bool:
    """Return whether two floating-point NumPy arrays have the same type and the same values."""
    has_same_type = a.shape == b.shape and a.dtype == b.dtype
    return has_same_type and bool(np.array_equal(a, b, equal_nan=True))


def _equal(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Return whether two lists of arrays are equal. NaN equals NaN, and PRNG keys are ignored."""
    for x, y in zip(a, b, strict=True):
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            continue
        is_inexact = bool(jnp.issubdtype(x.dtype, jnp.inexact))
        if not np.array_equal(np.asarray(x), np.asarray(y), equal_nan=is_inexact):
            return False
    return True
