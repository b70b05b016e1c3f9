"""The class that records what an audit could not examine, and why."""

from __future__ import annotations

from jaxbits._analysis.copying import NotCopied

TIME_IS_UP = "the time limit was reached"
"""Why it is unknown whether a call raises an error, unless the call shows it or cannot be made."""


class MissingEvidence:
    """A record of what was not examined.

    Attributes:
        left_out: Notes on what was not examined and why, except for Python state.
        left_out_state: Notes on the Python state that was not examined.
        call_errors: The errors that calls of the function raised, each with the number of the call
            among `calls`, counted from 1.
        run_error: The exception that the instrumented run raised, if any.
        not_confirmed: Why it is unknown whether a call of the function raises an error, or "" if
            this is known.
        has_seen_call: Whether a check has seen a complete call, so that it does not matter whether
            the function can be traced.
        check: The name of the check that is running, or "".
        checks_of_run: The names of the checks that have used the eager run, in order.
    """

    def __init__(self) -> None:
        self.left_out: list[str] = []
        self.left_out_state: list[str] = []
        self.call_errors: list[tuple[int, Exception]] = []
        self.run_error: Exception | None = None
        self.not_confirmed = TIME_IS_UP
        self.has_seen_call = False
        self.check = ""
        self.checks_of_run: dict[str, None] = {}

    def add_call_error(self, number: int, error: Exception) -> None:
        """Record that a call of the function raised an error.

        Args:
            number: The number of the call among `calls`, counted from 1.
            error: The error. If it only means that an argument could not be copied, it is not an
                error of the function.
        """
        if isinstance(error, NotCopied):
            self.left_out.append(str(error))
        else:
            self.call_errors.append((number, error))
