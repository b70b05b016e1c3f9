"""One call that runs the detectors on a function of yours."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jaxbits import detect
from jaxbits.detect.finding import SEVERITIES, Finding
from jaxbits.detect.subject import Subject
from jaxbits.report import AuditError, Report


def audit(
    fn: Callable[..., Any],
    /,
    *args: Any,
    calls: Sequence[tuple[Any, ...]] | None = None,
    checks: Iterable[str] | None = None,
    **kwargs: Any,
) -> Report:
    """Check a function of yours, on the arguments you call it with, for sharp bits.

    The function is traced and run several times, on copies of the arguments; Python state is put
    back, also when it raises. What it does to files stays done. Not safe while other threads run.

    Args:
        fn: the function, jitted or not.
        *args: its arguments.
        calls: several tuples of arguments, for what only shows over several calls.
        checks: the names of the checks to run, such as ``["leak"]``; all of them by default.
        **kwargs: its named arguments.

    Raises:
        TypeError: when `fn` is no function, or a generator function.
        ValueError: when `checks` has a name that is none.

    >>> import jax.numpy as jnp
    >>> report = audit(lambda x, i: x[i].sum(), jnp.arange(4.0), jnp.array([1, 4]))
    >>> report.ok, report["out_of_bounds"][0].evidence
    (False, '1 index outside 0…3, 4')
    """
    subject = Subject(fn, args, kwargs, calls)
    chosen = _chosen("checks", checks)
    findings: list[Finding] = []
    notes: list[str] = []
    seconds: list[tuple[str, float]] = []
    for name in chosen:
        start = time.perf_counter()
        try:
            findings += detect.detectors()[name].on(subject)
        except Exception as error:  # a check that fails is no reason to lose the others
            notes.append(f"{name} failed: {type(error).__name__}: {str(error)[:100]}")
        seconds.append((name, time.perf_counter() - start))
    failed = subject.trace.error
    if failed is not None:
        first = (str(failed).splitlines() or [""])[0]
        notes.append(f"the function cannot be traced: {type(failed).__name__}: {first[:100]}")
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Report(_name(fn), tuple(findings), chosen, tuple(notes), tuple(seconds))


def assert_clean(
    fn: Callable[..., Any],
    /,
    *args: Any,
    allow: Iterable[str] = (),
    calls: Sequence[tuple[Any, ...]] | None = None,
    **kwargs: Any,
) -> None:
    """Raise where an audit finds something above a note, in a test suite for one.

    Args:
        fn: the function, jitted or not.
        *args: its arguments.
        allow: the checks whose findings are accepted.
        calls: several tuples of arguments, for what only shows over several calls.
        **kwargs: its named arguments.

    Raises:
        AuditError: an AssertionError, with the report as its message.

    >>> assert_clean(lambda x: x + 1, 2.0)
    """
    allowed = _chosen("allow", allow)
    checks = [name for name in detect.detectors() if name not in allowed]
    report = audit(fn, *args, calls=calls, checks=checks, **kwargs)
    if not report.ok:
        raise AuditError(str(report))


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
