"""The detector `side_effect`: code that runs once per trace instead of once per call."""

from __future__ import annotations

from collections.abc import Iterator

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.call_monitor import CallLog
from jaxbits._analysis.python_state.impure_calls import is_log
from jaxbits._analysis.python_state.reachable_state import line_with_numpy_generator
from jaxbits._analysis.repeated_calls import is_same_change

OUTPUT = "output"
"""The subject of findings on lines that print, log, or warn but change nothing else."""

_HEADING_LINES = 2
"""How many lines below its heading the shape of an array may be logged."""
_OUTPUT_CALLS = ("print", "warnings.warn")
_VERBS = {"state": "changed", "leak": "given a traced value", "iterator": "advanced"}


@detector(reads=["log", "state"])
def side_effect(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find side effects, and reads of outside state, that happen only while JAX traces a function.

    The detector traces the function once, without caches. It records which impure functions the
    user's own lines call, namely those that print, log, warn, read clocks, draw random numbers
    outside JAX, open files, or start programs. A `print` or a log that shows the shape or dtype of
    an array, but no traced value, is only a note, because it shows the same on every call. So are
    the log of a literal right above it, output whose text says that JAX compiles or traces, and
    logging that your own settings switch off. The
    detector also records changes to globals, closures, defaults, and attributes, and to the
    containers in them. It cannot see most effects inside libraries and C code, such as a clock that
    a library's function reads. It also cannot see effects in a branch that this trace did not take.
    If the function is not jitted but calls jitted functions, only the effects of those functions
    count, because its own effects happen on every call. If a line only prints, logs, or warns, the
    `subject` of its finding is ``"output"``. JAX has no switch for this, although
    `jax.checking_leaks()` finds a tracer that was stored.

    >>> from jaxbits import detect
    >>> def step(x):
    ...     print("step", x)
    ...     return x + 1
    >>> print(detect.side_effect(step, 1.0)[0].message)
    `print` runs only while JAX traces the function
    >>> detect.side_effect(lambda x: x + 1, 1.0)
    []
    """
    log, every_call = target.trace.log, target.every_call
    for (name, location), times in log.calls.items():
        if (name, location) in every_call.calls or location in log.switched_off:
            continue
        if name == "numpy.random":
            location = line_with_numpy_generator(target.function)
        seen = f"{times} time{'s' * (times > 1)} in one trace, 0 in the next call"
        if location in log.shape_prints or _is_heading(location, log):
            yield Finding(
                "note",
                f"`{name}` shows shapes and dtypes only while JAX traces the function",
                f"{seen}, where they are the same",
                "none if one line per trace is enough, or else `jax.debug.print`",
                location,
                subject=OUTPUT,
            )
            continue
        if location in log.trace_markers:
            yield Finding(
                "note",
                f"`{name}` runs only while JAX traces the function, as its text says",
                seen,
                "none if one line per trace is enough, or else `jax.debug.print`",
                location,
                subject=OUTPUT,
            )
            continue
        yield Finding(
            "warning",
            f"`{name}` runs only while JAX traces the function",
            seen,
            "`jax.debug.print` or `jax.debug.callback`; `jax.random` for random numbers; "
            "clocks and files outside the function",
            location,
            subject=OUTPUT if is_log(name) or name.startswith(_OUTPUT_CALLS) else "",
        )
    silent = [place for _, place in log.calls if place in log.switched_off]
    if silent:
        yield Finding(
            "note",
            "logging would run only while JAX traces the function, but is switched off",
            f"{len(silent)} line{'s' * (len(silent) > 1)} in one trace, which log nothing",
            "none while it is switched off, or else `jax.debug.callback`",
            silent[0],
            subject=OUTPUT,
        )
    yield from environment_findings(target)
    if log.printed.strip() and not log.calls and not every_call.printed.strip():
        yield Finding(
            "warning",
            "something is printed only while JAX traces the function",
            f"{len(log.printed)} characters, {log.printed.strip()[:40]!r}",
            "`jax.debug.print`",
            subject=OUTPUT,
        )
    for change in log.changes:
        if any(is_same_change(change, other) for other in every_call.changes):
            continue
        yield Finding(
            "warning",
            f"{change.reference.describe()} is {_VERBS[change.kind]} while tracing",
            f"{change.before} → {change.after}; a cached call changes nothing",
            "return the new value",
            change.reference.stored_at or change.reference.location,
            subject=change.reference.describe(),
        )


def _is_heading(location: CodeLocation | None, log: CallLog) -> bool:
    """Return whether a line logs a literal, and the next line to do so logs a shape.

    Args:
        location: The line, or None if it is unknown.
        log: The calls in the order in which the trace made them first.
    """
    if location is None or location not in log.headings:
        return False
    places = [place for _, place in log.calls if place is not None]
    following = places[places.index(location) + 1 :][:1]
    return any(
        place in log.shape_prints
        and (place.file, place.function) == (location.file, location.function)
        and 0 < place.line - location.line <= _HEADING_LINES
        for place in following
    )


def environment_findings(target: FunctionUnderTest) -> Iterator[Finding]:
    """Yield a finding for each line that reads an environment variable."""
    outer = target.every_call.environment
    for location in dict.fromkeys(
        line for line in target.trace.log.environment if line not in outer
    ):
        yield Finding(
            "warning",
            "the environment is read only while JAX traces the function",
            "1 read in a trace, 0 in the next call",
            "read it outside, and pass the value as an argument",
            location,
        )
