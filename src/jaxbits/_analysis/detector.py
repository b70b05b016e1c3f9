"""What makes a function a detector: callable on a function of the user's, and listed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.probes import Probe
from jaxbits._analysis.resource_limits import TooLarge
from jaxbits._finding import SEVERITIES, Finding

_Find = Callable[[Subject], Iterator[Finding]]


class Detector:
    """A check, called with a function and its arguments; `on` is the same for a shared subject."""

    def __init__(self, find: _Find, probe: Probe | None = None) -> None:
        self.find, self.probe = find, probe
        functools.update_wrapper(self, find)
        self.name = find.__name__

    def __call__(
        self,
        fn: Callable[..., Any],
        /,
        *args: Any,
        calls: Sequence[tuple[Any, ...]] | None = None,
        carry: int | str | None = None,
        **kwargs: Any,
    ) -> list[Finding]:
        """Return what the check finds in a function, called with these arguments.

        Args:
            fn: the function, jitted or not.
            *args: its arguments; they are copied.
            calls: for checks over several calls, the arguments of each.
            carry: for `carry`, the position or the name of the state among the arguments; the
                first of them by default.
            **kwargs: its named arguments.
        """
        probes = () if self.probe is None else (self.probe,)
        subject = Subject(fn, args, kwargs, calls, 0 if carry is None else carry, probes)
        return self.on(subject)

    def on(self, subject: Subject) -> list[Finding]:
        """Return the findings, the gravest first, without those that their line ignores."""
        found: dict[Finding, None] = {}
        try:
            for finding in self.find(subject):
                found[finding] = None
        except TooLarge as reason:
            subject.left_out.append(f"{self.name}, in part: {reason}")
        kept = [f for f in found if not (f.place and f.place.ignores(f.check))]
        return sorted(kept, key=lambda f: SEVERITIES.index(f.severity))


@overload
def detector(find: _Find, /) -> Detector: ...


@overload
def detector(*, probe: Probe) -> Callable[[_Find], Detector]: ...


def detector(
    find: _Find | None = None, /, *, probe: Probe | None = None
) -> Detector | Callable[[_Find], Detector]:
    """Turn a function that yields findings into a detector of the same name.

    Args:
        find: The function, if the decorator is used without parentheses.
        probe: What the detector measures in the instrumented run that all detectors share.
    """
    if find is None:
        return lambda find: Detector(find, probe)
    return Detector(find, probe)
