"""An interpreter that rebuilds a traced program and measures its probed equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import device_maps, jaxpr_utils
from jaxbits._analysis.call_context import CallContext
from jaxbits._analysis.inner_limits import LIMITS
from jaxbits._analysis.measurement_sums import DetailSums, FlagSums
from jaxbits._analysis.probes import Plan, instrumented_jaxprs

# Equations with these primitives are bound unchanged if nothing inside them is measured. Older
# versions of JAX name the `jit` primitive `pjit`:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/pjit.py
_REUSABLE = {"jit", "pjit", "closed_call", "core_call", "cond", "scan", "while"}
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/debugging.py
_DEBUG_OUTPUT = {"debug_callback", "debug_print"}
_Result = tuple[list[Any], dict[Any, Any]]


class Interpreter:
    """An interpreter that rebuilds a program according to a plan, with each loop body only once.

    It first finds out which sites have bad values. If `bad` is given, it instead measures the
    details at the sites with these numbers. It then also corrupts the bad values at a site wherever
    `flags` (bool[sites + 1]) is true. Loops stop after `LIMITS.loop_iterations` if any flag is
    true, because a corrupted condition may never become false. The last flag stops them without
    corrupting anything.
    """

    def __init__(self, plan: Plan, bad: set[int] | None = None, flags: Any = None) -> None:
        self.plan, self.bad, self.flags = plan, bad, flags
        self.sums: Any = FlagSums() if bad is None else DetailSums(plan)

    def run(
        self, program: ClosedJaxpr, inputs: Sequence[Any], context: CallContext, lanes: Any = None
    ) -> _Result:
        """Run a program, and return its results and the sums of its measurements.

        Args:
            program: The program to rebuild and run.
            inputs: The values of its inputs.
            context: The calls, loops, and branches that enclose it.
            lanes: In the body of a batched loop, a mask of the lanes that are still running.
        """
        known: dict[Any, Any] = {}
        known.update(zip(program.jaxpr.constvars, program.consts, strict=True))
        known.update(zip(program.jaxpr.invars, inputs, strict=True))
        sums: dict[Any, Any] = {}
        for equation in program.jaxpr.eqns:
            values = [jaxpr_utils.read_atom(known, atom) for atom in equation.invars]
            with _jax_compat.equation_context(equation):
                outputs, found = self._run_equation(equation, values, context, lanes)
            sums.update(jax.tree.map(_jax_compat.in_current_mesh, found))
            known.update(zip(equation.outvars, outputs, strict=True))
        return [jaxpr_utils.read_atom(known, atom) for atom in program.jaxpr.outvars], sums

    def _site_numbers(self, jaxpr: ClosedJaxpr, context: CallContext) -> list[int]:
        numbers = self.plan.site_numbers(jaxpr, context)
        return numbers if self.bad is None else [n for n in numbers if n in self.bad]

    def _run_equation(
        self, equation: Any, values: list[Any], context: CallContext, lanes: Any
    ) -> _Result:
        name = equation.primitive.name
        jaxprs = instrumented_jaxprs(equation)
        if jaxprs is None:
            return self._run_plain(equation, values, context, lanes)
        inner = [context.enter(equation, jaxpr) for jaxpr in jaxprs]
        pairs = zip(jaxprs, inner, strict=True)
        numbers = [n for jaxpr, c in pairs for n in self._site_numbers(jaxpr, c)]
        is_measured = bool(numbers) or (name == "while" and self.bad is not None)
        # A collective names an axis that does not exist outside the mapped program.
        if name in _REUSABLE and not is_measured and not device_maps.has_collective(jaxprs):
            return _jax_compat.bind(equation, values), {}
        if name == "cond":
            return self._run_cond(jaxprs, inner, numbers, values, lanes)
        if name == "scan":
            return self._run_scan(equation, inner[0], numbers, values, lanes)
        if name == "while":
            return self._run_while(equation, inner, numbers, values, lanes)
        if name in device_maps.MAPS:
            values = device_maps.squeeze_inputs(equation, values)
            outputs, sums = self.run(jaxprs[0], values, inner[0], lanes)
            return device_maps.restore_outputs(equation, outputs), sums
        return self.run(jaxprs[0], values, inner[0], lanes)

    def _run_plain(
        self, equation: Any, values: list[Any], context: CallContext, lanes: Any
    ) -> _Result:
        """Apply a primitive, and measure or corrupt its outputs."""
        if equation.primitive.name in _DEBUG_OUTPUT and not equation.outvars:
            return [], {}
        found = device_maps.run_collective(equation, values)
        outputs = _jax_compat.bind(equation, values) if found is None else found
        sums: dict[Any, Any] = {}
        for site in self.plan.sites_at.get((id(equation), context), ()):
            if self.bad is not None and site.number not in self.bad:
                continue
            try:
                measurement = site.probe.measure(equation, values, outputs)
            except Exception:  # This probe cannot handle the equation, but other probes may.
                self.plan.failed.add(equation.primitive.name)
                continue
            if measurement is not None:
                sums.update(self.sums.summarize(site, measurement, lanes))
            if self.bad is not None and site.probe.can_corrupt:
                flag = self.flags[site.number]
                corrupted = site.probe.corrupt(equation, values, outputs)
                pairs = zip(corrupted, outputs, strict=True)
                outputs = [new if new is old else jnp.where(flag, new, old) for new, old in pairs]
        return outputs, sums

    def _run_cond(
        self,
        jaxprs: Sequence[ClosedJaxpr],
        contexts: Sequence[CallContext],
        numbers: Sequence[int],
        values: list[Any],
        lanes: Any,
    ) -> _Result:
        def as_branch(jaxpr: ClosedJaxpr, context: CallContext) -> Callable[..., Any]:
            def branch(*operands: Any) -> Any:
                outputs, found = self.run(jaxpr, operands, context, lanes)
                return outputs, self.sums.collect(found, numbers)

            return branch

        branches = [as_branch(jaxpr, c) for jaxpr, c in zip(jaxprs, contexts, strict=True)]
        outputs, sums = lax.switch(jnp.asarray(values[0], jnp.int32), branches, *values[1:])
        return list(outputs), self.sums.spread(sums, numbers)

    def _run_scan(
        self,
        equation: Any,
        context: CallContext,
        numbers: Sequence[int],
        values: list[Any],
        lanes: Any,
    ) -> _Result:
        params = equation.params
        num_consts, num_carry = _jax_compat.scan_counts(equation)
        first_x = num_consts + num_carry

        def body(state: Any, xs: Any) -> Any:
            operands = (*values[:num_consts], *state[0], *xs)
            outputs, found = self.run(params["jaxpr"], operands, context, lanes)
            sums = self.sums.add(state[1], self.sums.collect(found, numbers))
            return (outputs[:num_carry], sums), outputs[num_carry:]

        start = (values[num_consts:first_x], self.sums.collect({}, numbers))
        (carry, sums), ys = lax.scan(
            body, start, values[first_x:], length=params["length"], reverse=params["reverse"]
        )
        return [*carry, *ys], self.sums.spread(sums, numbers)

    def _run_while(
        self,
        equation: Any,
        contexts: Sequence[CallContext],
        numbers: Sequence[int],
        values: list[Any],
        lanes: Any,
    ) -> _Result:
        """Run a `while` loop. If it is batched, measure only the lanes that are still running.

        Batching turns the condition into an array, and the loop runs until all lanes are done:
        https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/control_flow/loops.py
        """
        params = equation.params
        first_body = params["cond_nconsts"]
        first_carry = first_body + params["body_nconsts"]

        def condition(carry: Sequence[Any], running: Any) -> Any:
            operands = (*values[:first_body], *carry)
            outputs, found = self.run(params["cond_jaxpr"], operands, contexts[0], running)
            return outputs[0], found

        def body(state: Any) -> Any:
            carry, running, sums, iteration = state
            batch = running if running.shape else lanes
            operands = (*values[first_body:first_carry], *carry)
            outputs, found = self.run(params["body_jaxpr"], operands, contexts[1], batch)
            if running.shape:
                pairs = zip(outputs, carry, strict=True)
                outputs = [_select_lanes(running, new, old) for new, old in pairs]
            running, again = condition(outputs, batch)
            found = self.sums.collect({**found, **again}, numbers)
            return outputs, running, self.sums.add(sums, found), iteration + 1

        def continues(state: Any) -> Any:
            if self.bad is None:
                return jnp.any(state[1])
            return jnp.any(state[1]) & ((state[3] < LIMITS.loop_iterations) | ~jnp.any(self.flags))

        carry = values[first_carry:]
        running, found = condition(carry, lanes)
        start = (carry, running, self.sums.collect(found, numbers), jnp.int32(0))
        carry, _, sums, _ = lax.while_loop(continues, body, start)
        return list(carry), self.sums.spread(sums, numbers)


def _select_lanes(running: Any, new: Any, old: Any) -> Any:
    shape = running.shape + (1,) * (jnp.ndim(new) - running.ndim)
    return jnp.where(running.reshape(shape), new, old)
