"""What makes a function a detector: callable on a function of the user's, and listed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxbits.detect.finding import SEVERITIES, Finding
from jaxbits.detect.limits import TooLarge
from jaxbits.detect.subject import Subject

DETECTORS: dict[str, Detector] = {}


class Detector:
    """A check, called with a function and its arguments; `on` is the same for a shared subject."""

    def __init__(self, find: Callable[[Subject], Iterator[Finding]]) -> None:
        self.find = find
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
        return self.on(Subject(fn, args, kwargs, calls, 0 if carry is None else carry))

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


def detector(find: Callable[[Subject], Iterator[Finding]]) -> Detector:
    """Make a detector of a function that yields findings, and list it under its name."""
    made = Detector(find)
    DETECTORS[made.name] = made
    return made
