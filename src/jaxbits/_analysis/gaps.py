"""The `Gap` class, which describes what an audit did not examine, and functions to find gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jaxbits._analysis.code_location import (
    CodeLocation,
    is_user_code,
    location_of_error,
    location_of_function,
)
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.missing_evidence import TIME_IS_UP
from jaxbits._analysis.tracing_errors import (
    error_signature,
    is_about_tracer,
    is_same_error,
    readable_message,
)

CASES: dict[str, str] = {
    "raises": "The function raised an error when the audit called it with these arguments.",
    "untraced": "JAX cannot trace the function as a whole, so the checks that read its program "
    "saw nothing.",
    "partial": "A check failed or skipped something, for example because the arguments, the "
    "program, or the Python state is too large.",
    "timeout": "The time limit passed before the audit was complete.",
}
"""The cases in which an audit is incomplete, with their meanings.

The report of such an audit is not `ok`, whatever the checks found. `assert_clean` accepts a case
only if `allow` names it. The page *Detectors* quotes these sentences.
"""

_ADVICE = {
    "raises": "correct the function or the arguments",
    "untraced": "audit the functions that you jit, one by one",
    "partial": "audit the parts of the function one by one, or with smaller arguments",
    "timeout": "raise `limit`, or audit the parts of the function one by one",
}


@dataclass(frozen=True)
class Gap:
    """Something that an audit did not examine.

    Attributes:
        case: One of the names in `CASES`.
        message: What was not examined, and why, in one line.
        error: The type and the full message of the error that caused the gap, or "" if no error
            did.
        place: The line of user code that raised the error, or None if it is unknown.
        fix: What to do, in one line. If a finding explains the error, this refers to the finding.
    """

    case: str
    message: str
    error: str = ""
    place: CodeLocation | None = None
    fix: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the gap as a dictionary that can be written as JSON."""
        place = self.place and {**asdict(self.place), "text": self.place.text}
        return {**asdict(self), "place": place}

    @property
    def text(self) -> str:
        """The message and the error as one string."""
        return f"{self.message}: {self.error}" if self.error else self.message

    def __str__(self) -> str:
        lines = [f"incomplete: {self.message} [{self.case}]"]
        if self.place:
            lines.append(f"    {self.place}  {self.place.text}")
        for label, text in self.details():
            lines.append(f"    {label}: {text}".replace("\n", "\n" + " " * (6 + len(label))))
        return "\n".join(lines)

    def details(self) -> list[tuple[str, str]]:
        """Return the label and the text of each entry below the message."""
        advice = "; ".join(filter(None, [self.fix, f"or accept it with `allow=[{self.case!r}]`"]))
        return [*([("seen", self.error)] if self.error else []), ("fix", advice)]


def find_gaps(
    target: FunctionUnderTest,
    findings: Sequence[Finding],
    failures: Sequence[tuple[str, BaseException]],
    not_run: Sequence[str],
    limit: float | None,
) -> Iterator[Gap]:
    """Yield what an audit did not examine, starting with the most important gap.

    Args:
        target: The function that was audited, with the evidence that was collected.
        findings: What the checks found.
        failures: The checks that failed themselves, with their errors.
        not_run: The checks that did not run in time.
        limit: The time limit in seconds.
    """
    yield from find_error_gaps(target, findings)
    yield from find_partial_gaps(target, failures)
    if not_run:
        message = f"not run, because the limit of {limit:g} s was reached: {', '.join(not_run)}"
        yield Gap("timeout", message, fix=_ADVICE["timeout"])


def find_partial_gaps(
    target: FunctionUnderTest,
    failures: Sequence[tuple[str, BaseException]] = (),
    has_state: bool = True,
) -> Iterator[Gap]:
    """Yield a gap for each check that failed, and one for each part that was not examined.

    Args:
        target: The function that was audited.
        failures: The checks that failed themselves, with their errors.
        has_state: Whether to include what is missing about Python state.
    """
    # If the function raises an error, the checks that run it fail, too.
    if target.run_error is not None and not target.call_errors:
        error = _message(target.run_error, target)
        yield Gap("partial", "values were not examined", error, fix=_ADVICE["partial"])
    for check, failure in failures if not target.call_errors else ():
        error = _message(failure, target)
        fix = f"report this error of the check, or skip the check with `allow=[{check!r}]`"
        yield Gap("partial", f"{check} failed", error, fix=fix)
    for message in dict.fromkeys(_missing_evidence(target, has_state)):
        yield Gap("partial", message, fix=_ADVICE["partial"])


def _missing_evidence(target: FunctionUnderTest, has_state: bool) -> Iterator[str]:
    run, checks = target.finished_run, [check for check in target.checks_of_run if check]
    if run is not None and run.stopped_after and checks:
        stopped = f"the run of the function was stopped after {run.stopped_after}"
        yield f"{stopped}, so its later part was not examined by {', '.join(checks)}"
    yield from target.left_out
    if has_state:
        yield from target.left_out_state
        trace = vars(target).get("trace")  # Do not trace now if the audit ran out of time earlier.
        yield from () if trace is None else trace.log.left_out


def find_error_gaps(target: FunctionUnderTest, findings: Sequence[Finding]) -> Iterator[Gap]:
    """Yield a gap if the function raised an error, or else if it could not be traced.

    If it could not be traced, and no complete run shows whether a call of the function raises the
    same error, only an error about a tracer proves that tracing is the reason.

    Args:
        target: The function that was audited.
        findings: What the checks found. They may explain the error.
    """
    if target.call_errors:
        call, error = min(target.call_errors, key=lambda pair: pair[0])
        which = f" for call {call} of {len(target.calls)}" if len(target.calls) > 1 else ""
        message = f"the function raised an error when the audit called it{which}"
        yield _gap("raises", message, target, error, findings)
        return
    trace = vars(target).get("trace")
    if trace is not None and trace.error is not None:
        why, place = target.not_confirmed, trace.escaped_at
        case = "timeout" if why == TIME_IS_UP else "partial"
        if not why or is_about_tracer(trace.error):
            message = "JAX cannot trace the function, so the checks of its program saw nothing"
            yield _gap("untraced", message, target, trace.error, findings, place)
            if why:
                message = f"whether the function raises an error is unknown, because {why}"
                yield Gap(case, message, fix=_ADVICE[case])
        else:
            message = (
                "tracing raised an error, and whether the function itself raises it is unknown, "
                f"because {why}"
            )
            yield _gap(case, message, target, trace.error, findings, place)


def _gap(
    case: str,
    message: str,
    target: FunctionUnderTest,
    error: Exception,
    findings: Sequence[Finding],
    place: CodeLocation | None = None,
) -> Gap:
    fix = _ADVICE[case]
    # Do not run the function now if the audit ran out of time earlier.
    names = target.inner_jits if case == "untraced" and target.finished_run else ()
    if names:
        fix = f"audit {' and '.join(f'`{name}`' for name in names[:3])}, which it jits, separately"
    explaining = find_explanations(error, findings)
    if explaining:
        is_advised = case == "raises" or fix == _ADVICE[case]
        fix = f"see {explaining[0].check} below" + ("" if is_advised else f", or {fix}")
    causes = [error, error.__cause__]  # `Exited` hides the line that its cause knows.
    place = place or next(
        (found for e in causes if e and (found := location_of_error(e.__traceback__))), None
    )
    if place is None:  # Python raised the error before the function began, or in a library.
        start = location_of_function(target.function)
        place = start if start and is_user_code(start.file) else None
    text = _message(error, target)
    return Gap(case, message, text, place, fix)


def find_explanations(error: BaseException, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that explain an error of the function."""
    signature = error_signature(error)
    return [f for f in findings if f.explains and is_same_error(f.explains, signature)]


def _message(error: BaseException, target: FunctionUnderTest) -> str:
    trace = vars(target).get("trace")
    traced = [] if trace is None else trace.traced
    return readable_message(error, target.function, target.args, target.kwargs, traced)
