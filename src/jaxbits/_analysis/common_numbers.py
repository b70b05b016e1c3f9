"""Recognize common random numbers, which two calls of a function draw from one key on purpose.

Antithetic sampling, finite differences, and some comparisons evaluate the same random function
twice with other arguments. If both calls draw the same numbers, the difference of their results has
much less noise.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from jaxbits._analysis.computations import Computations
from jaxbits._analysis.key_calls import Frame, call_sites, called_function, outer_frames
from jaxbits._analysis.key_values import KeyUse
from jaxbits._analysis.shared_numbers import SharedNumbers

_VERBS = dict.fromkeys(("lt", "le", "gt", "ge"), "compared") | {"sub": "subtracted"}
"""The primitives that relate the results of two calls, and how."""

_SHIFTS = {"add", "sub", "scatter-add", "add_any"}
"""The primitives with which a program shifts an argument a little."""

_MAX_PAIRS = 5000
"""The maximum number of pairs of values to compare."""


def find_common_numbers(
    use: KeyUse, other: KeyUse, computations: Computations
) -> SharedNumbers | None:
    """Return how a program relates two calls that draw the same numbers, or None if it does not.

    Args:
        use: A use of a key.
        other: Another use of the same key, with an equal result.
        computations: How the program computes its values.
    """
    sites = call_sites(use.frames, other.frames)
    if sites is None:
        return None
    rest = outer_frames(use.frames, sites[0])
    for computation in computations.depending_on(use, other):
        if computation.name not in _VERBS:
            continue
        first, second = computation.operands
        if use.number in second.uses:
            first, second = second, first
        separate = use.number in first.uses.keys() - second.uses.keys()
        if not separate or other.number not in second.uses.keys() - first.uses.keys():
            continue
        results = (first.number, second.number)
        arguments = list(_find_arguments(computations, results, sites, rest))
        if arguments:
            is_shifted = any(_are_shifted(computations, *pair) for pair in arguments)
            return SharedNumbers(
                "shifted" if is_shifted else "related",
                sites,
                called_function(use.frames, sites[0]),
                _VERBS[computation.name],
            )
    return None


def _find_arguments(
    computations: Computations,
    results: tuple[Hashable, Hashable],
    sites: tuple[Frame, Frame],
    rest: Sequence[Frame],
) -> Iterator[tuple[Hashable, Hashable]]:
    """Yield the pairs of different values that two calls receive from outside.

    The search goes backward from the results, as long as both are computed in the same way.

    Args:
        computations: How the program computes its values.
        results: The value numbers of what is compared.
        sites: The frames of the two calls.
        rest: The frames that lead to both.
    """
    waiting, seen = [(results, False)], set[tuple[Hashable, Hashable]]()
    while waiting and len(seen) < _MAX_PAIRS:
        pair, has_entered = waiting.pop()
        if pair[0] == pair[1] or pair in seen:
            continue
        seen.add(pair)
        one, other = map(computations.origin, pair)
        if one is None or other is None:
            is_inside = False
        else:
            is_inside = one.is_inside(sites[0], rest) and other.is_inside(sites[1], rest)
        if has_entered and not is_inside:
            yield pair
        elif one and other and one.has_same_form(other):
            operands = zip(one.operands, other.operands, strict=True)
            waiting += [((a.number, b.number), is_inside) for a, b in operands]


def _are_shifted(computations: Computations, first: Hashable, second: Hashable) -> bool:
    """Return whether two values are the same value plus or minus something."""
    bases = []
    for number in (first, second):
        origin = computations.origin(number)
        is_shift = origin is not None and origin.name in _SHIFTS
        operands = origin.operands if origin and is_shift else ()
        bases.append({number, *(value.number for value in operands)})
    return any(not _is_literal(number) for number in set.intersection(*map(set, bases)))


def _is_literal(number: Hashable) -> bool:
    return isinstance(number, tuple) and number[0] == "literal"


def group_uses(
    uses: Sequence[KeyUse], found: Sequence[tuple[KeyUse, KeyUse]]
) -> list[list[KeyUse]]:
    """Return the sets of uses that pairs connect, such as two calls that share their numbers."""
    groups = {use: [use] for use in uses}
    for use, other in found:
        one, two = groups[use], groups[other]
        if one is not two:
            one += two
            groups.update(dict.fromkeys(two, one))
    return list({id(group): group for group in groups.values()}.values())
