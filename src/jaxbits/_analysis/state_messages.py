"""How detectors name pieces of Python state, and what they report about the environment."""

from __future__ import annotations

from collections.abc import Iterator

from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.python_state.references import Reference
from jaxbits._finding import Finding


def named(reference: Reference) -> str:
    """Return what to call a piece of state in a message."""
    if reference.kind == "object":
        return f"an attribute of `self`, a {type(reference.holder).__name__},"
    if reference.kind == "argument":
        return f"argument {reference.name}, a {type(reference.holder).__name__},"
    if reference.kind == "cache":
        return f"the cache of `{reference.name}`"
    return f"{reference.kind} `{reference.name}`"


def environment(subject: Subject, check: str) -> Iterator[Finding]:
    """Yield a finding for each line that reads a variable of the environment."""
    for place in dict.fromkeys(subject.trace.seen.environment):
        yield Finding(
            check,
            "warning",
            "the environment is read while tracing, and by no cached call",
            "1 read in a trace, 0 in a call after it",
            "read it outside, and pass the value as an argument",
            place,
        )
