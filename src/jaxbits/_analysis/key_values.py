"""The values of a program, as far as they depend on PRNG keys, and the uses of these keys."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.key_calls import Frame, Path
from jaxbits._analysis.known_integers import Integers

Choices = frozenset[tuple[int, int]]
"""Selections by number, each with the operand that is chosen."""


@dataclass(frozen=True)
class Children:
    """The children of a key that an array of keys, or a single key, consists of.

    Attributes:
        parent: The value number of the key. Under `jax.vmap`, this is an array of keys.
        numbers: The numbers of the children, without the axes of such an array.
        is_folded: Whether `fold_in` computes them, and not `split`.
        is_fixed: Whether the numbers are the same for all arguments of the program.
        batch_axes: The number of axes of the parent, which come before those of `numbers`.
    """

    parent: Hashable
    numbers: Integers
    is_folded: bool = False
    is_fixed: bool = True
    batch_axes: int = 0

    @property
    def is_single(self) -> bool:
        """Whether this is one child that stays the same in all iterations of a loop."""
        return not self.numbers.varies and not self.numbers.values.ndim

    @property
    def is_replicated(self) -> bool:
        """Whether all devices have the same child of a single key."""
        return self.is_single and not self.batch_axes

    @property
    def element(self) -> Children | None:
        """What a loop over the array gets, or None if it gets arrays or the rows of a batch."""
        numbers = None if self.batch_axes else self.numbers.elements
        return None if numbers is None else replace(self, numbers=numbers)

    @property
    def first(self) -> int:
        """The number of the first child."""
        return int(self.numbers.values.reshape(-1)[0])


@dataclass(frozen=True)
class Seed:
    """The creation of a key from a seed.

    Attributes:
        number: A number that identifies this event.
        location: The line of user code that makes the key.
        frames: The frames of user code that lead to this line, innermost first.
    """

    number: int
    location: CodeLocation | None
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Value:
    """A value in a program.

    Attributes:
        number: The value number. Equal values have equal numbers.
        from_input: Whether the value depends on an argument of the program.
        varies: The enclosing loops in which the value changes from one iteration to the next.
        split_from: The numbers of all keys that were split to compute the value.
        seed: The creation of the first key that the value depends on, if the program creates it.
        is_raw: Whether the value is a raw key, an array of integers, that JAX has wrapped.
        uses: The numbers of the uses of keys that the value depends on, each with the choices that
            it takes for the value to depend on it. A choice is an operand of a selection.
        integers: The integers that the value contains, if they are known.
        children: The children of a key that the value consists of, if they are known.
        candidates: The numbers of the keys that the value may be, or that it may contain, if the
            program selects it from several or collects it from several.
    """

    number: Hashable
    from_input: bool
    varies: frozenset[int] = frozenset()
    split_from: frozenset[Hashable] = frozenset()
    seed: Seed | None = field(default=None, compare=False)
    is_raw: bool = field(default=False, compare=False)
    uses: Mapping[int, Choices] = field(default_factory=dict, compare=False)
    integers: Integers | None = field(default=None, compare=False)
    children: Children | None = field(default=None, compare=False)
    candidates: frozenset[Hashable] = field(default=frozenset(), compare=False)

    @property
    def possible_numbers(self) -> frozenset[Hashable]:
        """The numbers of all keys that the value may be, including its own number."""
        return self.candidates | {self.number}

    def element(self) -> dict[str, Any]:
        """Return what is known about an element of the value in an iteration over it."""
        integers = None if self.integers is None else self.integers.elements
        children = self.children and self.children.element
        return {"integers": integers, "children": children, "candidates": self.candidates}

    def on_each_device(self) -> Value:
        """Return the value without what is known only about the array on all devices."""
        integers, children = self.integers, self.children
        return replace(
            self,
            integers=integers if integers and not integers.values.ndim else None,
            children=children if children and children.is_replicated else None,
        )


@dataclass(frozen=True)
class KeyUse:
    """One use of a key.

    Attributes:
        key: The value number of the key.
        how: A noun phrase that says what uses the key, such as "a draw".
        location: The line of user code that uses the key.
        from_input: Whether the key depends on an argument of the program.
        varies: The enclosing loops in which the key changes from one iteration to the next.
        split_from: The numbers of all keys that were split to compute the key.
        earlier: The numbers of the uses of other keys that the key was computed from.
        is_split: Whether the key is split, perhaps inside a library function that draws numbers.
        is_raw: Whether the key is a raw one, which `jax.debug_key_reuse` ignores.
        frames: The frames of user code that lead to the use, innermost first.
        path: All frames that lead to the use, or to the library call in which it happens.
        call: The number of this library call, or of the use if there is no such call.
        seed: The creation of the key, or of the key that it comes from, if the program creates it.
        number: A number that identifies the use.
        result: The value number of what the use computes.
        choices: The choices that it takes for the results of the program to depend on the use.
        children: The children of another key that the key consists of, if that is known.
        candidates: The numbers of other keys that the key may be.
        why: The reason why the key equals another one, if that is not obvious.
        again: When the same code uses the key again, such as `NEXT_ITERATION`, or "".
        loop_depth: How many of the frames lead to the loop that uses the key again.
        is_in_library: Whether the use is in code of a library other than JAX, in which no user code
            decides about it, such as the body of a solver's loop.
    """

    key: Hashable
    how: str
    location: CodeLocation | None
    from_input: bool
    varies: frozenset[int]
    split_from: frozenset[Hashable] = frozenset()
    earlier: frozenset[int] = field(default=frozenset(), compare=False)
    is_split: bool = False
    is_raw: bool = False
    frames: tuple[Frame, ...] = ()
    path: Path = ()
    call: int = -1
    seed: Seed | None = None
    number: int = -1
    result: Hashable = None
    choices: Choices = frozenset()
    children: Children | None = field(default=None, compare=False)
    candidates: frozenset[Hashable] = field(default=frozenset(), compare=False)
    why: str = ""
    again: str = ""
    loop_depth: int = 0
    is_in_library: bool = False

    def describe(self, caller: CodeLocation | None = None) -> str:
        """Return what uses the key, where, and why that is the same key.

        Args:
            caller: The line of the call that leads to the use, if it is of interest.
        """
        place = f" at {self.location}" if self.location else ""
        if self.location and caller and caller != self.location:
            place += f" (called at {caller})"
        return f"{self.how}{self.again}{place}{self.why}"


EVERY_ITERATION = ", again in every iteration"
NEXT_ITERATION = " in the next iteration"
EVERY_ROW = ", again for every row of `vmap`"


def merge_uses(values: Iterable[Value]) -> dict[int, Choices]:
    """Return the uses that a value depends on if it is computed from the given values."""
    merged: dict[int, Choices] = {}
    for value in values:
        for number, choices in value.uses.items():
            merged[number] = merged[number] & choices if number in merged else choices
    return merged


def choose_uses(values: Sequence[Value], selection: int) -> dict[int, Choices]:
    """Return the uses that the result of a selection depends on.

    Args:
        values: The inputs of the selection. The first of them chooses one of the others.
        selection: A number that identifies the selection.
    """
    chosen = [
        Value(None, False, uses={n: c | {(selection, i)} for n, c in value.uses.items()})
        for i, value in enumerate(values[1:])
    ]
    return merge_uses([values[0], *chosen])


def are_alternatives(uses: Sequence[KeyUse]) -> bool:
    """Return whether a selection keeps the result of only one of several uses.

    >>> first = KeyUse("key", "a draw", None, True, frozenset(), choices=frozenset({(0, 0)}))
    >>> second = KeyUse("key", "a draw", None, True, frozenset(), choices=frozenset({(0, 1)}))
    >>> are_alternatives([first, second]), are_alternatives([first, first])
    (True, False)
    """

    def exclude(a: KeyUse, b: KeyUse) -> bool:
        chosen = dict(a.choices)
        return any(chosen.get(selection, operand) != operand for selection, operand in b.choices)

    return all(exclude(a, b) for a, b in itertools.combinations(uses, 2))
