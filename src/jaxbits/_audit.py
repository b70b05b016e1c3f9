"""The functions `audit` and `assert_clean`, which run all detectors on a function."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from jaxbits import detect
from jaxbits._analysis import audit_arguments, resource_limits
from jaxbits._analysis.call_errors import confirm_call, record_error_of_jitted
from jaxbits._analysis.detector import EVIDENCE
from jaxbits._analysis.finding import Finding, merge_duplicates
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.gaps import CASES, find_gaps
from jaxbits._analysis.safe_attributes import get_attribute, has_attribute
from jaxbits._report import Report

_MAX_LAYERS = 50
"""How many wrappers to look into for the name of a function."""


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

    A report is not `ok` if your function raises an error on these arguments, if JAX cannot trace
    it, or if the audit did not examine a part of it. The report lists these gaps first, with the
    error and the line that raised it.

    If your function has a parameter called `carry`, `calls`, `checks`, or `limit`, pass it through
    a lambda: ``audit(lambda x, c: fn(x, carry=c), x, c)``.

    Args:
        fn: The function, which may be jitted.
        *args: Its positional arguments. If their arrays take up more than 1 GiB, the audit does not
            copy them, and it only traces the function.
        carry: The position or name of the argument that is a loop's carry or a step's state.
        calls: The positional arguments of several calls, for checks that compare calls.
        checks: The names of the checks to run, such as ``["leak"]``. The default is all checks.
        limit: The time limit in seconds, or None for no limit. After this time, the audit starts no
            further checks, stops your Python code, and no longer waits for a compilation. It cannot
            interrupt a compiled program that your function waits for.
        **kwargs: The function's keyword arguments.

    Returns:
        A report with the findings and with the gaps, which say what was not examined.

    Raises:
        TypeError: If `fn` is not a function or is an async or generator function.
        ValueError: If `checks` contains an unknown name, `carry` does not name an argument, or
            `limit` is not a number above 0.

    >>> import jax.numpy as jnp
    >>> report = audit(lambda x, i: x[i].sum(), jnp.arange(4.0), jnp.array([1, 4]))
    >>> report.ok, report["out_of_bounds"][0].evidence
    (False, '1 index outside 0…3, 4')
    """
    probes = [probe for d in detect.detectors().values() for probe in d.probes]
    target = FunctionUnderTest(fn, args, kwargs, calls, carry, probes)
    selected = tuple(detect.detectors())
    if checks is not None:
        selected = audit_arguments.select_names("checks", checks, selected)
    audit_arguments.check_carry(target)
    audit_arguments.check_limit(target, limit)
    findings: list[Finding] = []
    failures: list[tuple[str, BaseException]] = []
    seconds: dict[str, float] = {}
    try:
        with resource_limits.time_limit(limit):
            for name in sorted(selected, key=_cost):
                if time.monotonic() > resource_limits.deadline():
                    break
                start = time.perf_counter()
                failure = _run_check(name, target, findings)
                seconds[name] = time.perf_counter() - start
                failures += [(name, failure)] if failure else []
            if time.monotonic() <= resource_limits.deadline():
                confirm_call(target, has_failed_check=bool(failures))
    except resource_limits.OutOfTime:
        pass
    record_error_of_jitted(target)
    not_run = tuple(name for name in selected if name not in seconds)
    merged = merge_duplicates(findings)
    return Report(
        function=_function_name(fn),
        findings=tuple(merged),
        checks=tuple(name for name in selected if name in seconds),
        gaps=tuple(find_gaps(target, merged, failures, not_run, limit)),
        seconds=tuple(seconds.items()),
        not_run=not_run,
    )


def assert_clean(
    fn: Callable[..., Any],
    /,
    *args: Any,
    fail: Literal["error", "warning"] = "warning",
    allow: Iterable[str] = (),
    carry: int | str | None = None,
    calls: Sequence[tuple[Any, ...]] | None = None,
    limit: float | None = 60.0,
    **kwargs: Any,
) -> None:
    """Assert that an audit is complete and finds nothing severe, for example in a test suite.

    The assertion fails if the audit finds an error or, by default, a warning. It never fails
    because of a note. It also fails if the audit is incomplete, because then the missing part may
    not be clean. To accept this, name the case in `allow`:

    - ``"raises"``: The function raised an error when the audit called it with these arguments.
    - ``"untraced"``: JAX cannot trace the function as a whole, so the checks that read its program
      saw nothing.
    - ``"partial"``: A check failed or skipped something, for example because the arguments, the
      program, or the Python state is too large.
    - ``"timeout"``: The time limit passed before the audit was complete.

    If your function has a parameter called `fail`, `allow`, `carry`, `calls`, or `limit`, pass it
    through a lambda: ``assert_clean(lambda x, c: fn(x, carry=c), x, c)``.

    Args:
        fn: The function, which may be jitted.
        *args: Its positional arguments, as in `audit`.
        fail: The lowest level at which a finding makes the assertion fail, ``"error"`` or
            ``"warning"``.
        allow: The names of the checks to skip because you accept what they would find, and the
            names of the cases in which you accept an incomplete audit.
        carry: The position or name of the argument that is a loop's carry or a step's state.
        calls: The positional arguments of several calls, for checks that compare calls.
        limit: The time limit in seconds, as in `audit`.
        **kwargs: The function's keyword arguments.

    Raises:
        AuditError: If a finding has at least the level `fail`, or if the audit is incomplete. An
            AuditError is an AssertionError, and its message is the report.
        TypeError: If `fn` is not a function or is an async or generator function.
        ValueError: If `fail` is neither ``"error"`` nor ``"warning"``, `allow` contains an unknown
            name, `carry` does not name an argument, or `limit` is not a number above 0.

    >>> import jax.numpy as jnp
    >>> assert_clean(lambda x: x + 1, 2.0)
    >>> expected = ["control_flow", "transfer", "untraced"]
    >>> assert_clean(lambda x: x / float(x.sum()), jnp.ones(3), allow=expected)
    """
    if fail not in ("error", "warning"):
        raise ValueError(f"fail must be one of 'error', 'warning'; got {fail!r}")
    known = tuple(detect.detectors())
    allowed = audit_arguments.select_names("allow", allow, known, tuple(CASES))
    checks = [name for name in known if name not in allowed]
    report = audit(fn, *args, carry=carry, calls=calls, checks=checks, limit=limit, **kwargs)
    report.raise_if(fail, allow=[name for name in allowed if name in CASES])


def _cost(name: str) -> int:
    """Return a number by which the checks are sorted, so that a time limit costs the fewest."""
    return EVIDENCE.index(detect.detectors()[name].needs)


def _run_check(
    name: str, target: FunctionUnderTest, findings: list[Finding]
) -> BaseException | None:
    """Run a check, and add what it finds to `findings`.

    Returns:
        The error if the check itself failed, or None if it did not.
    """
    try:
        findings += detect.detectors()[name].on(target)
    except (KeyboardInterrupt, resource_limits.OutOfTime):
        raise
    except BaseException as error:  # The other checks still run if one fails.
        return error
    return None


def _function_name(fn: Any) -> str:
    """Return the name of a function, or of the one inside a partial or a wrapper without a name."""
    for _ in range(_MAX_LAYERS):
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif not has_attribute(fn, "__name__") and callable(
            inner := get_attribute(fn, "__wrapped__")
        ):
            fn = inner
    return str(get_attribute(fn, "__name__", type(fn).__name__))
