"""The functions `audit` and `assert_clean`, which run all detectors on a function."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jaxbits import detect
from jaxbits._analysis import resource_limits
from jaxbits._analysis.finding import Finding, merge_duplicates
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.tracing_errors import parameter_names
from jaxbits._formatting import first_line
from jaxbits._report import AuditError, Report


def audit(
    fn: Callable[..., Any],
    /,
    *args: Any,
    carry: int | str | None = None,
    calls: Sequence[tuple[Any, ...]] | None = None,
    checks: Iterable[str] | None = None,
    limit: float | None = 60.0,
    **kwargs: Any,
) -> Report:
    """Check a function for sharp bits by tracing and running it on the given arguments.

    The audit traces the function and runs it several times, on copies of the arguments. It
    restores the Python state that the function reaches by name, even after an error. It also
    restores the random generators of Python and NumPy, the environment, the working directory,
    `jax.config`, and the standard streams. During the audit, `input` has nothing to read. The audit
    cannot undo what the function does to files or over the network. It also cannot stop a thread
    that the function starts or rewind a global Python generator that the function advances. Do not
    run an audit while other threads are running.

    If your function has a parameter called `carry`, `calls`, `checks`, or `limit`, pass it through
    a lambda: ``audit(lambda x, c: fn(x, carry=c), x, c)``.

    Args:
        fn: The function, which may be jitted.
        *args: Its positional arguments. If their arrays take up more than 1 GiB, they are not
            copied, and the function is only traced.
        carry: The position or name of the argument that is a loop's carry or a step's state.
        calls: The positional arguments of several calls, for checks that compare calls.
        checks: The names of the checks to run, such as ``["leak"]``. The default is all checks.
        limit: The time limit in seconds, or None for no limit. After this time, no further checks
            start, and your Python code is stopped. Compiled programs are never interrupted.
        **kwargs: The function's keyword arguments.

    Returns:
        A report with the findings, and with notes on anything that was not examined.

    Raises:
        TypeError: If `fn` is not a function or is an async or generator function.
        ValueError: If `checks` contains an unknown name, `carry` does not name an argument, or
            `limit` is not a number above 0.

    >>> import jax.numpy as jnp
    >>> report = audit(lambda x, i: x[i].sum(), jnp.arange(4.0), jnp.array([1, 4]))
    >>> report.ok, report["out_of_bounds"][0].evidence
    (False, '1 index outside 0…3, 4')
    """
    probes = [d.probe for d in detect.detectors().values() if d.probe is not None]
    target = FunctionUnderTest(fn, args, kwargs, calls, carry, probes)
    selected = _select_checks("checks", checks)
    _check_carry(target)
    if limit is not None and not (_is_number(limit) and limit > 0):
        message = f"limit must be a number of seconds above 0 or None, got {limit!r}"
        raise ValueError(message + _hint(target, "limit"))
    findings: list[Finding] = []
    failures: list[str] = []
    seconds: dict[str, float] = {}
    try:
        with resource_limits.time_limit(limit):
            for name in selected:
                if time.monotonic() > resource_limits.deadline():
                    break
                start = time.perf_counter()
                failure = _run_check(name, target, findings)
                seconds[name] = time.perf_counter() - start
                failures += [failure] if failure else []
    except resource_limits.OutOfTime:
        pass
    not_run = tuple(name for name in selected if name not in seconds)
    notes = [*failures, *_left_out(target)]
    if not_run:
        notes.append(f"not run, because the limit of {limit:g} s was reached: {', '.join(not_run)}")
    return Report(
        function=_function_name(fn),
        findings=tuple(merge_duplicates(findings)),
        checks=tuple(seconds),
        notes=tuple(notes),
        seconds=tuple(seconds.items()),
        not_run=not_run,
    )


def assert_clean(
    fn: Callable[..., Any],
    /,
    *args: Any,
    allow: Iterable[str] = (),
    carry: int | str | None = None,
    calls: Sequence[tuple[Any, ...]] | None = None,
    limit: float | None = 60.0,
    **kwargs: Any,
) -> None:
    """Assert that an audit finds nothing more severe than a note, for example in a test suite.

    Args:
        fn: The function, which may be jitted.
        *args: Its positional arguments, as in `audit`.
        allow: The names of the checks to skip because you accept what they would find.
        carry: The position or name of the argument that is a loop's carry or a step's state.
        calls: The positional arguments of several calls, for checks that compare calls.
        limit: The time limit in seconds, as in `audit`. If a check does not run in time, this
            function raises an error.
        **kwargs: The function's keyword arguments.

    Raises:
        AuditError: If the audit finds an error or a warning, or does not finish in time. An
            AuditError is an AssertionError, and its message is the report.
        TypeError: If `fn` is not a function or is an async or generator function.
        ValueError: If `allow` contains an unknown name, `carry` does not name an argument, or
            `limit` is not a number above 0.

    >>> assert_clean(lambda x: x + 1, 2.0)
    """
    allowed = _select_checks("allow", allow)
    checks = [name for name in detect.detectors() if name not in allowed]
    report = audit(fn, *args, carry=carry, calls=calls, checks=checks, limit=limit, **kwargs)
    if not report.ok or report.not_run:
        raise AuditError(str(report))


def _run_check(name: str, target: FunctionUnderTest, findings: list[Finding]) -> str:
    """Run a check, and add what it finds to `findings`.

    Returns:
        A description of the error if the check itself failed, or an empty string if it did not.
    """
    try:
        findings += detect.detectors()[name].on(target)
    except (KeyboardInterrupt, resource_limits.OutOfTime):
        raise
    except BaseException as error:  # The other checks still run if one fails.
        return f"{name} failed: {type(error).__name__}: {first_line(error)}"
    return ""


def _left_out(target: FunctionUnderTest) -> list[str]:
    """Return notes on what was not examined and why, without duplicates."""
    notes = [*target.left_out]
    trace = vars(target).get("trace")  # Do not trace now if the audit ran out of time earlier.
    if trace is not None:
        notes += trace.log.left_out
        if trace.error is not None:
            kind = type(trace.error).__name__
            notes.append(f"the function cannot be traced: {kind}: {first_line(trace.error)}")
    return list(dict.fromkeys(notes))


def _check_carry(target: FunctionUnderTest) -> None:
    """Raise ValueError if `carry` does not name an argument of the call."""
    carry, count = target.carry, len(target.args)
    names = [*parameter_names(target.function)[:count], *target.kwargs]
    is_position = isinstance(carry, int) and not isinstance(carry, bool) and 0 <= carry < count
    if carry is None or is_position or (isinstance(carry, str) and carry in names):
        return
    choices = []
    if count:
        choices.append(f"a position from 0 to {count - 1}" if count > 1 else "0")
    if names:
        choices.append(f"one of {', '.join(map(repr, names))}")
    expected = " or ".join(choices) or "None, because there are no arguments"
    raise ValueError(f"carry must be {expected}; got {carry!r}{_hint(target, 'carry')}")


def _hint(target: FunctionUnderTest, name: str) -> str:
    """Return a hint about how to pass an argument with this name to the function itself.

    The hint is empty if the function has no such parameter.
    """
    if name not in parameter_names(target.function):
        return ""
    return f"; for the function's own `{name}`: lambda x, c: fn(x, {name}=c)"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _select_checks(argument: str, names: Iterable[str] | None) -> tuple[str, ...]:
    known = tuple(detect.detectors())
    if names is None:
        return known
    if isinstance(names, str):
        raise ValueError(f"{argument} must be a list such as [{names!r}], got {names!r}")
    selected = tuple(dict.fromkeys(names))
    for name in selected:
        if name not in known:
            choices = ", ".join(map(repr, known))
            raise ValueError(f"{argument} must be names of detectors, {choices}; got {name!r}")
    return selected


def _function_name(fn: Any) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return str(getattr(fn, "__name__", type(fn).__name__))
