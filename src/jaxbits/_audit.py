"""One call that runs the detectors on a function of yours.

In a shell, ``jaxbits audit module:function --args …`` does the same.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jaxbits import detect
from jaxbits._analysis import resource_limits
from jaxbits._analysis.function_under_test import Subject
from jaxbits._finding import Finding, folded
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
    """Check a function of yours, on the arguments you call it with, for sharp bits.

    The function is traced and run several times, on copies of the arguments. Python state that it
    reaches by its names is put back, also when it raises, and so are the random generators of
    Python and NumPy, the environment, the working directory, `jax.config` and the standard streams;
    `input` finds nothing to read. What it does to files and over the network stays done, a thread
    that it starts goes on, and a generator in a global that it advances stays advanced. Not safe
    while other threads run.

    A named argument of your function called `carry`, `calls`, `checks` or `limit` goes in through a
    function around it: ``audit(lambda x, c: fn(x, carry=c), x, c)``.

    Args:
        fn: the function, jitted or not.
        *args: its arguments. More than 1 GiB of arrays is traced only, and not copied for runs.
        carry: which argument is the state that goes round in a loop, by position or name.
        calls: several tuples of arguments, for what only shows over several calls.
        checks: the names of the checks to run, such as ``["leak"]``; all of them by default.
        limit: seconds after which no more is begun, and your Python code is stopped; a compiled
            program is waited for. None for no limit.
        **kwargs: its named arguments.

    Raises:
        TypeError: when `fn` is no function, or an async or generator function.
        ValueError: when `checks` has a name that is none, `carry` is no argument, or `limit` is
            not above zero.

    >>> import jax.numpy as jnp
    >>> report = audit(lambda x, i: x[i].sum(), jnp.arange(4.0), jnp.array([1, 4]))
    >>> report.ok, report["out_of_bounds"][0].evidence
    (False, '1 index outside 0…3, 4')
    """
    probes = [d.probe for d in detect.detectors().values() if d.probe is not None]
    subject = Subject(fn, args, kwargs, calls, carry, probes)
    chosen = _chosen("checks", checks)
    _check_carry(subject)
    if limit is not None and not (_is_number(limit) and limit > 0):
        said = f"limit was {limit!r}, and should be seconds above zero, or None"
        raise ValueError(said + _hint(subject, "limit"))
    findings: list[Finding] = []
    failures: list[str] = []
    seconds: list[tuple[str, float]] = []
    try:
        with resource_limits.limited(limit):
            for name in chosen:
                if time.monotonic() > resource_limits.ends():
                    break
                start = time.perf_counter()
                failure = _run(name, subject, findings)
                seconds.append((name, time.perf_counter() - start))
                failures += [failure] if failure else []
    except resource_limits.OutOfTime:
        pass
    ran = tuple(name for name, _ in seconds)
    late = tuple(name for name in chosen if name not in ran)
    notes = [*failures, *_left_out(subject)]
    if late:
        notes.append(f"not run, as {limit:g} s were used: {', '.join(late)}")
    return Report(_name(fn), tuple(folded(findings)), ran, tuple(notes), tuple(seconds), late)


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
    """Raise where an audit finds something above a note, in a test suite for one.

    Args:
        fn: the function, jitted or not.
        *args: its arguments.
        allow: the checks whose findings are accepted.
        carry: which argument is the state that goes round in a loop, by position or name.
        calls: several tuples of arguments, for what only shows over several calls.
        limit: seconds, as for `audit`; a check for which none are left is an error here.
        **kwargs: its named arguments.

    Raises:
        AuditError: an AssertionError, with the report as its message.

    >>> assert_clean(lambda x: x + 1, 2.0)
    """
    allowed = _chosen("allow", allow)
    checks = [name for name in detect.detectors() if name not in allowed]
    report = audit(fn, *args, carry=carry, calls=calls, checks=checks, limit=limit, **kwargs)
    if not report.ok or report.not_run:
        raise AuditError(str(report))


def _run(name: str, subject: Subject, findings: list[Finding]) -> str:
    """Add what a check finds; return what went wrong in the check itself, or nothing."""
    try:
        findings += detect.detectors()[name].on(subject)
    except (KeyboardInterrupt, resource_limits.OutOfTime):
        raise
    except BaseException as error:  # a check that fails is no reason to lose the others
        return f"{name} failed: {type(error).__name__}: {_first_line(error)}"
    return ""


def _left_out(subject: Subject) -> list[str]:
    """Return what was not looked into, as far as the subject knows."""
    notes = [*subject.left_out]
    trace = vars(subject).get("trace")  # where time was up, it was never made
    if trace is not None:
        notes += trace.seen.left_out
        if trace.error is not None:
            kind = type(trace.error).__name__
            notes.append(f"the function cannot be traced: {kind}: {_first_line(trace.error)}")
    return list(dict.fromkeys(notes))


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:100]


def _check_carry(subject: Subject) -> None:
    """Raise where `carry` is no argument of the call."""
    carry, count = subject.carry, len(subject.args)
    if carry is None:
        return
    names = _parameters(subject.function)
    given = [*names[:count], *subject.kwargs]
    if isinstance(carry, int) and not isinstance(carry, bool) and 0 <= carry < count:
        return
    if isinstance(carry, str) and carry in given:
        return
    positions = f"a position from 0 to {count - 1}" if count > 1 else "0" * count
    named = f"one of {', '.join(given)}" if given else ""
    should = " or ".join(filter(None, (positions, named))) or "None, as there are no arguments"
    raise ValueError(f"carry was {carry!r}, and should be {should}{_hint(subject, 'carry')}")


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _hint(subject: Subject, name: str) -> str:
    """Say how an argument of the function's own is passed, where it has one of that name."""
    if name not in _parameters(subject.function):
        return ""
    return f"; for the function's own `{name}`: lambda x, c: fn(x, {name}=c)"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _chosen(argument: str, names: Iterable[str] | None) -> tuple[str, ...]:
    known = tuple(detect.detectors())
    if names is None:
        return known
    if isinstance(names, str):
        raise ValueError(f"{argument} was {names!r}, and should be a list: [{names!r}]")
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise ValueError(f"{argument} has {name!r}, and should have some of {', '.join(known)}")
    return chosen


def _name(fn: Any) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return str(getattr(fn, "__name__", type(fn).__name__))
