"""A record of how a program computes its values, as far as they depend on random numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jaxbits._analysis.key_calls import Frame, frames_of
from jaxbits._analysis.key_values import KeyUse, Value


@dataclass(frozen=True, eq=False)
class Computation:
    """An equation of a program, with the values that it reads and computes.

    Attributes:
        equation: The equation.
        operands: The values of its operands.
        results: The value numbers of its results.
        outer: The frames of user code around the enclosing call or loop, innermost first.
        transformations: The names of the transformations that produced the equation.
    """

    equation: Any
    operands: tuple[Value, ...]
    results: tuple[Hashable, ...]
    outer: tuple[Frame, ...]
    transformations: str

    @property
    def name(self) -> str:
        """The name of the primitive."""
        return str(self.equation.primitive.name)

    @property
    def is_backward(self) -> bool:
        """Whether the equation belongs to the backward pass of a derivative."""
        return "transpose" in self.transformations

    @functools.cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The frames of user code that lead to the equation, innermost first."""
        return (*frames_of(self.equation)[0], *self.outer)

    def has_same_form(self, other: Computation) -> bool:
        """Return whether another equation applies the same operation."""
        return self.name == other.name and len(self.operands) == len(other.operands)

    def is_inside(self, site: Frame, rest: Sequence[Frame]) -> bool:
        """Return whether the equation runs in the call at `site`, which `rest` leads to."""
        path = (site, *rest)
        return len(self.frames) > len(path) and self.frames[-len(path) :] == path

    def depends_on(self, use: KeyUse) -> bool:
        """Return whether the equation reads a value that depends on a use of a key."""
        return any(use.number in value.uses for value in self.operands)


class Computations:
    """The equations of a program that read values, in the order in which they run.

    Attributes:
        analyze_dead_code: A function that returns the computations of the same program together
            with those whose results it never uses. Their values have other numbers.
    """

    def __init__(self) -> None:
        self._all: list[Computation] = []
        self._origins: dict[Hashable, Computation] = {}
        self.analyze_dead_code: Callable[[], Computations] = lambda: self

    @functools.cached_property
    def with_dead_code(self) -> Computations:
        """The computations of the program, including those whose results it never uses."""
        return self.analyze_dead_code()

    def record(
        self,
        equation: Any,
        operands: Sequence[Value],
        results: Sequence[Value],
        outer: tuple[Frame, ...],
        transformations: str,
    ) -> None:
        """Record an equation.

        Args:
            equation: The equation.
            operands: The values of its operands.
            results: The values of its results.
            outer: The frames of user code around the enclosing call or loop, innermost first.
            transformations: The names of the transformations that produced the equation.
        """
        numbers = tuple(value.number for value in results)
        found = Computation(equation, tuple(operands), numbers, outer, transformations)
        self._all.append(found)
        for number in set(numbers) - {value.number for value in operands}:
            self._origins.setdefault(number, found)

    def __iter__(self) -> Iterator[Computation]:
        return iter(self._all)

    def origin(self, number: Hashable) -> Computation | None:
        """Return what computes a value first, or None if the program receives the value."""
        return self._origins.get(number)

    @functools.cached_property
    def _by_use(self) -> dict[int, list[Computation]]:
        found: dict[int, list[Computation]] = {}
        for computation in self._all:
            for number in {n for value in computation.operands for n in value.uses}:
                found.setdefault(number, []).append(computation)
        return found

    def depending_on(self, *uses: KeyUse) -> Iterator[Computation]:
        """Yield the equations that read values that depend on all the given uses of keys."""
        first, *others = uses
        for computation in self._by_use.get(first.number, ()):
            if all(map(computation.depends_on, others)):
                yield computation
