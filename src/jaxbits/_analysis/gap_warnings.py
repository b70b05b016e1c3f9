"""Describe what a single detector did not examine, so that a direct call of it can warn."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from jaxbits._analysis.call_errors import confirm_call
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.gaps import Gap, find_error_gaps, find_explanations, find_partial_gaps

_UNTRACED = {
    "program": "JAX cannot trace the function, so the check saw nothing of its program",
    "log": "JAX cannot trace the function, so the check saw only what happens before the error",
}


def describe_gaps(
    check: str, reads: Collection[str], target: FunctionUnderTest, findings: Sequence[Finding]
) -> Iterator[str]:
    """Yield a text for each gap that concerns a check which has just run by itself.

    If a finding of the check explains why the function cannot be traced, there is no gap for that.

    Args:
        check: The name of the check.
        reads: What the check reads, as in `Detector.reads`.
        target: The function, with the evidence that the check has collected.
        findings: What the check found.
    """
    trace = vars(target).get("trace")
    source = next((source for source in _UNTRACED if source in reads), "")
    # If only the results cannot be traced, the log is complete.
    has_log = target.has_seen_call or (trace is not None and trace.output_types is not None)
    is_complete = not source or (source == "log" and has_log)
    if not _is_explained(trace and trace.error, findings) and (not is_complete or not source):
        confirm_call(target)
    error = target.call_errors[0][1] if target.call_errors else trace and trace.error
    if (target.call_errors or not is_complete) and not _is_explained(error, findings):
        for gap in find_error_gaps(target, findings):
            yield _describe(check, gap, source)
    for gap in find_partial_gaps(target, has_state="state" in reads):
        yield _describe(check, gap, source="")


def _is_explained(error: Exception | None, findings: Sequence[Finding]) -> bool:
    return error is not None and bool(find_explanations(error, findings))


def _describe(check: str, gap: Gap, source: str) -> str:
    message = gap.message.replace("the audit", "the check")
    if gap.case == "untraced":
        message = _UNTRACED[source]
    lines = [f"detect.{check} may have missed something: {message}"]
    lines += [f"{gap.place}  {gap.place.text}"] if gap.place else []
    lines += [gap.error] if gap.error else []
    return "\n".join(lines)
