"""Check the arguments of an audit, and explain what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.tracing_errors import parameter_names


def check_carry(target: FunctionUnderTest) -> None:
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


def check_limit(target: FunctionUnderTest, limit: Any) -> None:
    """Raise ValueError if `limit` is neither a number above 0 nor None."""
    is_number = isinstance(limit, (int, float)) and not isinstance(limit, bool)
    if limit is not None and not (is_number and limit > 0):
        message = f"limit must be a number of seconds above 0 or None, got {limit!r}"
        raise ValueError(message + _hint(target, "limit"))


def _hint(target: FunctionUnderTest, name: str) -> str:
    """Return a hint about how to pass an argument with this name to the function itself.

    The hint is empty if the function has no such parameter.
    """
    if name not in parameter_names(target.function):
        return ""
    return f"; for the function's own `{name}`: lambda x, c: fn(x, {name}=c)"


def select_names(
    argument: str, names: Iterable[str], checks: Sequence[str], cases: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return names without duplicates.

    Args:
        argument: The name of the audit's argument, with which the error message begins.
        names: The names that the user passed.
        checks: The names of all checks.
        cases: The names of the cases in which an audit is incomplete, if they are accepted, too.

    Raises:
        ValueError: If a name is unknown, or if `names` is a string.
    """
    if isinstance(names, str):
        raise ValueError(f"{argument} must be a list such as [{names!r}], got {names!r}")
    selected = tuple(dict.fromkeys(names))
    for name in selected:
        if name not in (*checks, *cases):
            what = "detectors or cases" if cases else "detectors"
            choices = ", ".join(map(repr, (*checks, *cases)))
            raise ValueError(f"{argument} must be names of {what}, {choices}; got {name!r}")
    return selected
