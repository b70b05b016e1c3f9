"""Define labeled cases: a function, its arguments, and whether a check must report it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Case(NamedTuple):
    """A labeled case. A negative case for one check may be a positive case for another."""

    name: str
    check: str
    fn: Any
    args: Any
    expected: bool
    kwargs: dict[str, Any]


class Sweep(list):
    """Several tuples of arguments with which a detector calls the same function in turn."""


def registry() -> tuple[list[Case], Callable[..., Any], Callable[..., None]]:
    """Return an empty list of cases, and a decorator and a function for adding cases to it.

    Both take the check, whether it must report the case, and either a single `Sweep` or the
    function's own arguments. Keyword arguments such as `carry=0` go to the detector.
    """
    cases: list[Case] = []

    def case(check: str, expected: bool, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        def register(fn: Any) -> Any:
            given = args[0] if len(args) == 1 and isinstance(args[0], Sweep) else args
            label = getattr(fn, "__name__", type(fn).__name__).strip("<>")
            cases.append(Case(f"{check}:{len(cases)}:{label}", check, fn, given, expected, kwargs))
            return fn

        return register

    def add(check: str, expected: bool, fn: Any, *args: Any, **kwargs: Any) -> None:
        case(check, expected, *args, **kwargs)(fn)

    return cases, case, add
