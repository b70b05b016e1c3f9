"""The `Detector` class, and the decorator that turns a generator function into a detector."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args, overload

from jaxbits._analysis.finding import SEVERITIES, Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.gap_warnings import describe_gaps
from jaxbits._analysis.probes import Probe
from jaxbits._analysis.resource_limits import TooLarge

Evidence = Literal["trace", "calls", "values"]
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)
"""What a detector needs: the trace that all detectors share, more traces or calls of the function,
or an instrumented run, which has to be compiled. This is also the order of what they cost."""

Source = Literal["program", "log", "state"]
"""What a detector reads besides calls of the function. This is the traced program, the log of what
happens while JAX traces the function, or the Python state that the function reaches."""

_Find = Callable[[FunctionUnderTest], Iterator[Finding]]


class Detector:
    """A check for one kind of sharp bit. Call it with a function and that function's arguments.

    An empty list means that the check found nothing in what it could examine. If the check may have
    missed something, for example because the function raises an error or because JAX cannot trace
    it, the call issues a `UserWarning` for each reason, with the error and its line. It does not
    warn about an error that one of the findings explains.

    >>> import jax.numpy as jnp, warnings
    >>> from jaxbits import detect
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     detect.key_reuse(lambda x: x / float(x.sum()), jnp.ones(3))
    []
    >>> print(str(caught[0].message).partition(",")[0])
    detect.key_reuse may have missed something: JAX cannot trace the function

    Attributes:
        name: The name of the check.
        find: The function that yields the findings.
        probes: The probes for the instrumented run, if the detector measures anything.
        needs: The most expensive evidence that the detector collects, one of `EVIDENCE`.
        reads: What the detector reads besides calls of the function.
    """

    def __init__(
        self,
        find: _Find,
        probes: Sequence[Probe] = (),
        needs: Evidence = "trace",
        reads: Sequence[Source] = ("program",),
    ) -> None:
        self.find, self.probes, self.needs, self.reads = find, tuple(probes), needs, tuple(reads)
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
        """Check a function on the given arguments, and return the findings.

        An empty list means that the check found nothing in what it could examine. The check may
        have missed something, for example, if JAX cannot trace the function.

        Args:
            fn: The function, which may be jitted.
            *args: Its positional arguments. The check works on copies of them.
            calls: The positional arguments of several calls, for checks that compare calls.
            carry: The position or name of the argument that holds a loop's state. For the check
                `carry`, the default is the first argument.
            **kwargs: The function's keyword arguments.

        Returns:
            The findings, with the most severe first.

        Warns:
            UserWarning: For each reason why the check may have missed something, with the error and
                its line. There is no warning about an error that one of the findings explains.
        """
        target = FunctionUnderTest(fn, args, kwargs, calls, carry, self.probes)
        target.default_carry = 0
        findings = self.on(target)
        for text in describe_gaps(self.name, self.reads, target, findings):
            warnings.warn(text, UserWarning, stacklevel=2)
        return findings

    def on(self, target: FunctionUnderTest) -> list[Finding]:
        """Return the findings for a function, based on the evidence that the detectors share.

        The most severe findings come first. A finding is omitted if a comment on its line ignores
        this check.
        """
        found: dict[Finding, None] = {}
        target.check = self.name
        try:
            for finding in self.find(target):
                found[dataclasses.replace(finding, check=self.name)] = None
        except TooLarge as reason:
            target.left_out.append(f"{self.name} ran only in part: {reason}")
        finally:
            target.check = ""
        kept = [f for f in found if not (f.place and f.place.ignores(f.check))]
        return sorted(kept, key=lambda f: SEVERITIES.index(f.severity))


@overload
def detector(find: _Find, /) -> Detector: ...


@overload
def detector(
    *, probes: Sequence[Probe] = ..., needs: Evidence = ..., reads: Sequence[Source] = ...
) -> Callable[[_Find], Detector]: ...


def detector(
    find: _Find | None = None,
    /,
    *,
    probes: Sequence[Probe] = (),
    needs: Evidence = "trace",
    reads: Sequence[Source] = ("program",),
) -> Detector | Callable[[_Find], Detector]:
    """Turn a function that yields findings into a detector with the same name.

    Args:
        find: The decorated function, if the decorator is used without parentheses.
        probes: The probes for the instrumented run, if the detector measures anything.
        needs: The most expensive evidence that the detector collects, one of `EVIDENCE`.
        reads: What the detector reads besides calls of the function.

    Returns:
        The detector, or a decorator that returns it.
    """
    if find is None:
        return lambda find: Detector(find, probes, needs, reads)
    return Detector(find, probes, needs, reads)
