"""Decide which uses of one PRNG key repeat one another, and which of them are intended."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxbits._analysis.aligned_arrays import find_aligned_arrays
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.common_numbers import find_common_numbers, group_uses
from jaxbits._analysis.computations import Computations
from jaxbits._analysis.key_calls import differing_frame
from jaxbits._analysis.key_values import KeyUse
from jaxbits._analysis.repeated_evaluation import find_repeated_evaluation
from jaxbits._analysis.shared_numbers import SharedNumbers
from jaxbits._analysis.source.ast_utils import enclosing_loop


@dataclass(frozen=True)
class Repetition:
    """The uses of a key that a program uses more than once.

    Attributes:
        uses: The uses.
        shared: The pairs of calls that seem to share their random numbers on purpose. They do not
            share them with other calls on the same lines.
        count: How often the key is used, if such calls count as one use.
    """

    uses: list[KeyUse]
    shared: list[SharedNumbers]
    count: int

    @property
    def is_intended(self) -> bool:
        """Whether all uses seem to share their random numbers on purpose."""
        return self.count == 1

    @property
    def places(self) -> list[CodeLocation | None]:
        """For each use, the line that must pass another key.

        If the program calls a function several times with one key, this is the line of the call,
        and not the line of the function that uses the key.
        """
        first, *others = self.uses
        return [_caller(first, others[0], first), *(_caller(first, use, use) for use in others)]

    @property
    def splits(self) -> int:
        """How many of the uses split the key."""
        return sum(use.is_split for use in self.uses)


def _caller(first: KeyUse, second: KeyUse, of: KeyUse) -> CodeLocation | None:
    """Return the line of `of`, one of two uses of a key, at which they become different uses."""
    is_child = bool(first.why or second.why)  # Then no call repeats the other one.
    if is_child or not first.frames or not second.frames:
        return of.location
    if second.again and second.frames == first.frames:
        inside = len(of.frames) - second.loop_depth if second.loop_depth else 0
        return of.frames[inside - 1 if inside > 0 else 0].location
    other = second if of is first else first
    return differing_frame(other.frames, of.frames).location


def find_repetition(uses: Iterable[KeyUse], computations: Computations) -> Repetition | None:
    """Return the uses of a key that repeat one another, or None if none do.

    Args:
        uses: All uses of the key.
        computations: How the program computes its values.
    """
    kept = one_per_call(uses)
    if len(kept) < 2 or is_made_in_every_call(kept):
        return None
    pairs = {
        (use, other): shared
        for use, other in itertools.combinations(kept, 2)
        if (shared := _find_shared_numbers(use, other, computations))
    }
    groups = group_uses(kept, list(pairs))
    group_of = {use: number for number, group in enumerate(groups) for use in group}
    # If only some of the calls on a line share their numbers, the line does not say which ones.
    distinct = [
        shared
        for (first, _), shared in pairs.items()
        if all(group_of[use] == group_of[first] for use in kept if _is_called_at(use, shared))
    ]
    return Repetition(kept, distinct, len(groups))


def _is_called_at(use: KeyUse, shared: SharedNumbers) -> bool:
    return not set(shared.sites).isdisjoint(use.frames)


def find_own_repetition(
    repetition: Repetition, splits: Sequence[KeyUse], computations: Computations
) -> Repetition | None:
    """Return the uses of a key that repeat one another even if each split gives other children.

    If a program splits a key twice, a child of the first split equals one of the second. Using both
    of them is not a mistake of its own. Using one of them twice is.

    Args:
        repetition: The uses of the child, no matter which split it comes from.
        splits: The uses that split a key from which the child was computed.
        computations: How the program computes its values.
    """
    numbers = {split.number for split in splits}
    repeated = {split.number for split in splits if split.again}
    by_split: dict[frozenset[int], list[KeyUse]] = {}
    for use in repetition.uses:
        if not (use.again and use.earlier & repeated):  # The split is repeated in the same loop.
            by_split.setdefault(use.earlier & numbers, []).append(use)
    found = (find_repetition(uses, computations) for origin, uses in by_split.items() if origin)
    return next((own for own in found if own is not None and not own.is_intended), None)


def _find_shared_numbers(
    use: KeyUse, other: KeyUse, computations: Computations
) -> SharedNumbers | None:
    """Return what shows that two uses of a key are meant to give the same numbers, or None."""
    if use.result != other.result or use.again or other.again:
        return None
    return (
        find_aligned_arrays(use, other, computations)
        or find_repeated_evaluation(use, other, computations)
        or find_common_numbers(use, other, computations)
    )


def one_per_call(uses: Iterable[KeyUse]) -> list[KeyUse]:
    """Return the uses of a key without those that happen in the same call of a library function.

    Some functions split a key in several places, of which they keep only one. It is the library's
    business how often it uses the key that it was given. If one line of user code leads to the same
    place in a library several times, these are several calls.
    """
    calls: dict[Any, KeyUse] = {}
    for use in uses:
        calls.setdefault((use.call, use.again), use)
    times = Counter(map(_line_and_path, calls.values()))
    most_frequent: dict[Any, Any] = {}
    for (line, path), _ in times.most_common():
        most_frequent.setdefault(line, path)
    pairs = zip(map(_line_and_path, calls.values()), calls.values(), strict=True)
    return [use for (line, path), use in pairs if path == most_frequent[line]]


def _line_and_path(use: KeyUse) -> tuple[Any, Any]:
    """Return what identifies the code of the user that uses a key, and the code of the library."""
    return ((use.frames, use.again) if use.frames else use.number), use.path


def is_made_in_every_call(uses: Sequence[KeyUse]) -> bool:
    """Return whether a function of the user makes a key from a literal in each of its calls.

    The numbers then never change, no matter how often the function is called, so nothing is gained
    by splitting the key. The check `const_key` reports such a key.
    """
    seeds = [use.seed for use in uses]
    if any(use.from_input or use.again for use in uses) or None in seeds:
        return False
    numbers = {seed.number for seed in seeds if seed}
    places = {seed.frames[:1] for seed in seeds if seed}
    location = seeds[0].location if seeds[0] else None
    is_one_line = len(numbers) == len(uses) and len(places) == 1 and location is not None
    return is_one_line and location is not None and enclosing_loop(location) is None
