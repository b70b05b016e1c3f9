"""The limits on the single parts of an audit, apart from the time limit of the whole audit.

All of them follow the same rule. If a part reaches its limit, the audit is incomplete, and a
sentence in `FunctionUnderTest.left_out` or a gap says which evidence is missing. No finding above a
note may depend on the missing evidence, because otherwise the result would depend on the speed of
the machine.

The limits on the computations of the audit itself, `masking_seconds` and `gradient_seconds`, do not
count the time in which other programs use the processor. The other limits, and the time limit of
the whole audit, count the time that the user waits.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class InnerLimits:
    """Limits on the single parts of an audit.

    Attributes:
        run_seconds: How long the eager run may take.
        run_events: How many events the eager run may record.
        masking_seconds: How long the audit may test which bad values reach the results.
        gradient_seconds: How long the audit may compute the gradient for other inputs than 0.
        loop_iterations: How many iterations a `while` loop may take if its values are corrupted.
        instrumented_equations: How many equations a program may have for an instrumented run.
        conversions: How many conversions to a wider dtype the audit examines.
        wide_values: How many 64-bit values in one variable the audit examines.
    """

    run_seconds: float = 10.0
    run_events: int = 20_000
    masking_seconds: float = 5.0
    gradient_seconds: float = 5.0
    loop_iterations: int = 100_000
    instrumented_equations: int = 100_000
    conversions: int = 2_000
    wide_values: int = 1_000


LIMITS = InnerLimits()
"""The limits that are in force. Tests change them, so that no test depends on the machine."""
