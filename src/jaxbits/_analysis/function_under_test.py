"""The class that holds a function, its arguments, and the evidence that the detectors share."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jaxbits._analysis import inner_programs, jaxpr_utils, nonfinite_probes, resource_limits
from jaxbits._analysis.eager_run import EagerRun, run_eagerly
from jaxbits._analysis.finding import Severity
from jaxbits._analysis.function_argument import check_function
from jaxbits._analysis.inner_limits import LIMITS
from jaxbits._analysis.instrumented_run import InstrumentedRun
from jaxbits._analysis.key_uses import KeyUses, find_key_uses
from jaxbits._analysis.missing_evidence import MissingEvidence
from jaxbits._analysis.probes import Plan, Probe, Site
from jaxbits._analysis.python_state import reachable_state
from jaxbits._analysis.python_state.call_monitor import CallLog, sandbox
from jaxbits._analysis.repeated_calls import changing_arrays, trace_repeated_call
from jaxbits._analysis.trace import Trace, trace_function
from jaxbits._analysis.wrapped_call import has_stages, is_user_wrapper


class FunctionUnderTest(MissingEvidence):
    """A function and its arguments, with evidence that is collected only when it is first needed.

    Attributes:
        function: The function to examine.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        calls: The positional arguments of several calls, for checks that compare them.
        carry: The position or name of the argument that holds a loop's state, or None.
        default_carry: What the check `carry` assumes if `carry` is None.
        probes: The probes of the instrumented run.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        calls: Sequence[tuple[Any, ...]] | None = None,
        carry: int | str | None = None,
        probes: Sequence[Probe] = (),
    ) -> None:
        super().__init__()
        check_function(function)
        self.carry = carry
        self.default_carry: int | None = None
        self.probes = probes
        self.calls = [tuple(call) for call in calls or ()]
        self.function, self.kwargs = function, dict(kwargs or {})
        self.args = tuple(args) or (self.calls[0] if self.calls else ())

    @property
    def is_jitted(self) -> bool:
        """Whether the function is the result of `jax.jit` or of a wrapper that works like it."""
        return has_stages(self.function) or (
            self.trace.is_compiled and not is_user_wrapper(self.function)
        )

    @functools.cached_property
    def references(self) -> reachable_state.References:
        """The names through which the function reaches Python state."""
        found = reachable_state.find_references(self.function)
        seen = {(r.kind, id(r.holder), r.key) for r in found}
        for reference in reachable_state.argument_objects(self.args, self.kwargs):
            if (reference.kind, id(reference.holder), reference.key) not in seen:
                seen.add((reference.kind, id(reference.holder), reference.key))
                found.append(reference)
        if found.unread:
            self.left_out_state.append(
                f"state that {found.unread} more of your functions may use was not examined"
            )
        return found

    @functools.cached_property
    def trace(self) -> Trace:
        """The trace of the function on its arguments, as `jax.jit` makes it but without caches."""
        found = trace_function(self.function, self.args, self.kwargs, self.references)
        if reachable_state.add_missed_references(self.references, found.log.ran):
            again = trace_function(self.function, self.args, self.kwargs, self.references)
            # The first trace may have left something behind, because nothing restored this state.
            found = found if again.error and not found.error else again
        return found

    def retrace(self, keeps_caches: bool = False) -> Trace:
        """Trace the function again, with the current Python state, and return the new trace.

        Args:
            keeps_caches: Whether JAX may use its caches instead of tracing every function again.
        """
        return trace_function(
            self.function, self.args, self.kwargs, self.references, self.trace, keeps_caches
        )

    @functools.cached_property
    def repeated_trace(self) -> Trace | None:
        """A trace that shows only what the function itself does on every call, or None.

        It is None if nothing shows that the function calls jitted functions.
        """
        return trace_repeated_call(self.retrace) if self.may_be_driver else None

    @property
    def every_call(self) -> CallLog:
        """What the function itself does on every call if it may be a driver, or else nothing."""
        return CallLog() if self.repeated_trace is None else self.repeated_trace.log

    @property
    def eager_run(self) -> EagerRun:
        """The record of one call to the function without `jit`, including its device events."""
        self.checks_of_run[self.check] = None
        return self._eager_run

    @property
    def finished_run(self) -> EagerRun | None:
        """The eager run, or None if nothing has needed it so far."""
        run: EagerRun | None = vars(self).get("_eager_run")
        return run

    @functools.cached_property
    def _eager_run(self) -> EagerRun:
        args = self.calls[0] if self.calls else self.args
        run = run_eagerly(self.function, args, self.kwargs, self.references)
        if run.error is not None:
            self.add_call_error(1, run.error)
        if not run.can_intercept:
            self.left_out.append("what runs on the device cannot be seen in this version of JAX")
        return run

    @functools.cached_property
    def instrumented_run(self) -> InstrumentedRun | None:
        """The run that all detectors with probes share, or None if no run is possible."""
        program = self.trace.program
        if program is None:
            return None
        plan = Plan(program, self.probes)
        if plan.size > LIMITS.instrumented_equations:
            self.left_out.append(
                f"values were not examined, because the program has {plan.size} equations"
            )
            return None
        run = InstrumentedRun(program, self.trace.inputs, plan, self.suppress_effects)
        try:
            _ = run.sites
        except Exception as error:
            self.run_error = error
            return None
        self.left_out += [f"the values of {name} were not examined" for name in plan.failed]
        self.left_out += [
            f"values inside `{name}` were not examined, because it maps over several devices, or "
            "they communicate"
            for name in sorted(plan.unseen)
        ]
        return run

    def bad_sites(self, probe: Probe) -> Iterator[tuple[Site, bool]]:
        """Yield each site where a probe measured bad values, and whether the site is masked.

        A site for which there was no time to find that out is left out.
        """
        run = self.instrumented_run
        for site in run.sites_of(probe) if run else ():
            is_masked = run is not None and site.number in run.masked_sites
            if run is not None and site.number in run.untested_sites:
                place = f" at {site.location}" if site.location else ""
                self.left_out.append(
                    f"whether the bad values{place} reach the results was not tested, because that "
                    "would take too long"
                )
                continue
            yield site, is_masked

    @functools.cached_property
    def nonfinite_origins(self) -> list[Site]:
        """The sites where the NaNs and infinities in the results arise, if there are any."""
        run, program = self.instrumented_run, self.trace.program
        if run is None or program is None or not run.has_computed_nonfinite:
            return []
        plan = Plan(program, (nonfinite_probes.NAN_PROBE, nonfinite_probes.INF_PROBE))
        if plan.size > LIMITS.instrumented_equations // 10:
            self.left_out.append(
                "the origin of NaN was not determined, because the program is too long"
            )
            return []
        inputs = self.trace.inputs
        origins = InstrumentedRun(program, inputs, plan, self.suppress_effects)
        found = origins.first_offenders
        if origins.untested_sites:
            self.left_out.append(
                "the origin of NaN was not determined completely, because that would take too long"
            )
        return found

    @functools.cached_property
    def key_uses(self) -> KeyUses:
        """The uses of PRNG keys in the traced program."""
        if self.trace.program is None:
            return KeyUses()
        varying = changing_arrays(self.every_call)
        return find_key_uses(self.trace.program, varying, self.trace.inputs)

    @property
    def errors(self) -> list[Exception]:
        """The exceptions raised while the function was traced as `jax.jit` would trace it."""
        found = (self.trace.strict_error, self.trace.error)
        return [error for error in found if error is not None]

    @functools.cached_property
    def inner_jits(self) -> list[str]:
        """The names of the jitted functions that the function calls without being jitted itself.

        The list is empty if the function raises an error when the audit calls it.
        """
        if self.is_jitted:
            return []
        if self.trace.program is not None:
            return list(dict.fromkeys(inner_programs.names_in_program(self.trace.program)))
        run = self._run_if_possible
        events = run.events if run is not None and run.error is None else ()
        return list(dict.fromkeys(inner_programs.names_in_run(events)))

    @property
    def names_jitted_functions(self) -> bool:
        """Whether the function's code mentions a jitted function, without being jitted itself.

        This shows that the function is a driver even if it can be neither traced nor run.
        """
        used = reachable_state.used_names(self.function)
        return not self.is_jitted and any(
            (reference.kind == "closure" or reference.key in used) and has_stages(reference.get())
            for reference in self.references
        )

    @property
    def _run_if_possible(self) -> EagerRun | None:
        """The eager run, or None if the arguments cannot be copied."""
        try:
            return self.eager_run
        except (Exception, resource_limits.TooLarge):
            return None

    @functools.cached_property
    def may_be_driver(self) -> bool:
        """Whether the function calls jitted functions without being jitted itself, or might do so.

        Nobody will jit such a function as a whole, for example a training loop. If only a complete
        run could show whether it calls jitted functions, but the run was not complete, it might.
        """
        if self.inner_jits:
            return True
        if self.is_jitted or self.trace.program is not None:
            return False
        run = self._run_if_possible
        return run is None or bool(run.stopped_after)

    def severity_of(self, error: Exception) -> Severity:
        """Return the level of a finding about one of `errors`.

        Nobody has to change a function that runs and that nobody will jit, because it calls jitted
        functions. The same holds if only settings, such as the fields of a module, are the reason.
        """
        is_in_settings = self.trace.is_strict_in_settings and error is self.trace.strict_error
        return "note" if is_in_settings or self.may_be_driver else "error"

    def suppress_effects(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which the traced program can run without causing side effects.

        Only a program with host callbacks needs a sandbox, because no other program touches
        Python state.
        """
        program = self.trace.program
        equations = jaxpr_utils.all_equations(program) if program else ()
        names = (equation.primitive.name for equation in equations)
        if any("callback" in name or name == "debug_print" for name in names):
            return self.restore_state()
        return contextlib.nullcontext()

    def restore_state(
        self, records_calls: bool = True
    ) -> contextlib.AbstractContextManager[CallLog]:
        """Return a context that suppresses printing and restores Python state when it ends.

        Args:
            records_calls: Whether to record calls. If so, the time limit also stops the user's code
                at the next call, but every call takes a little longer.
        """
        return sandbox(self.references, records_calls)
