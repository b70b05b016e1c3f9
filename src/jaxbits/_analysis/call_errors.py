"""Call a function to see whether it raises an error, if no other evidence shows it."""

from __future__ import annotations

import jax

from jaxbits._analysis import resource_limits
from jaxbits._analysis.copying import NotCopied, copy_tree
from jaxbits._analysis.function_under_test import FunctionUnderTest


def confirm_call(target: FunctionUnderTest, has_failed_check: bool = False) -> None:
    """Call a function if it may raise an error, and record the error in `target.call_errors`.

    If JAX could trace the function and the traced program could run, no call is necessary.

    Args:
        target: The function and its arguments.
        has_failed_check: Whether a check failed, for which an error of the function may be the
            reason.
    """
    trace = vars(target).get("trace")
    is_untraced = trace is not None and trace.error is not None
    if target.call_errors or not (is_untraced or target.run_error or has_failed_check):
        return
    try:
        run = target.eager_run
    except (Exception, resource_limits.TooLarge) as reason:  # The arguments cannot be copied.
        target.not_confirmed = str(reason)
        return
    if run.is_complete:
        try:  # An error in a callback arrives only when something waits for the results.
            with target.restore_state():
                resource_limits.wait_for(run.output)
                jax.effects_barrier()
        except Exception as error:
            target.add_call_error(1, error)
    if run.stopped_after:
        target.not_confirmed = f"its run was stopped after {run.stopped_after}"
    elif isinstance(run.error, NotCopied):
        target.not_confirmed = str(run.error)
    else:
        target.not_confirmed = ""


def record_error_of_jitted(target: FunctionUnderTest) -> None:
    """Record the error of the trace if the function is jitted and no call has shown the error.

    A call of a jitted function traces it, so no run is needed to know that the call fails.
    """
    trace = vars(target).get("trace")
    if trace is None or trace.error is None or target.call_errors or not target.not_confirmed:
        return
    if target.is_jitted:
        target.call_errors.append((1, trace.error))


def confirm_later_call(target: FunctionUnderTest, number: int) -> None:
    """Make one of several calls, after it failed under `jax.jit`, and record why it failed.

    Args:
        target: The function and the arguments of its calls.
        number: The number of the call among `target.calls`, counted from 1.
    """
    if number == 1:  # The trace or the eager run shows why.
        return
    args, kwargs = copy_tree((target.calls[number - 1], target.kwargs))
    with target.restore_state():
        try:
            resource_limits.wait_for(target.function(*args, **kwargs))
        except Exception as error:
            target.add_call_error(number, error)
            return
    target.left_out.append(f"traces were not counted, because call {number} cannot be traced")
