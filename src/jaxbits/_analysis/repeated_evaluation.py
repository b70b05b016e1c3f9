"""Recognize a random function that a program evaluates again, to differentiate another result.

A program may call `jax.grad` once for each of several losses that one function returns, or evaluate
a loss and then its gradient. All these evaluations belong to one sample, so they use one key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Any

from jaxbits._analysis.computations import Computation, Computations
from jaxbits._analysis.key_calls import call_sites, called_function, outer_frames
from jaxbits._analysis.key_values import KeyUse
from jaxbits._analysis.shared_numbers import SharedNumbers


def find_repeated_evaluation(
    use: KeyUse, other: KeyUse, computations: Computations
) -> SharedNumbers | None:
    """Return how a program evaluates a function again, or None if it does not.

    Both evaluations must compute equal values wherever they run the same code, at least one of them
    must be differentiated, and the program must use different results of them. They must not be two
    steps of one differentiated function, such as two layers of a network.

    Args:
        use: A use of a key.
        other: Another use of the same key, with an equal result.
        computations: How the program computes its values.
    """
    sites = call_sites(use.frames, other.frames)
    if sites is None:
        return None
    rest = outer_frames(use.frames, sites[0])
    pair = [
        [c for c in computations.depending_on(one) if c.is_inside(site, rest)]
        for one, site in zip((use, other), sites, strict=True)
    ]
    is_loop = sites[0] == sites[1]  # A Python loop makes both calls, so only the uses differ.
    if is_loop:
        pair = [
            [c for c in run if not c.depends_on(excluded)]
            for run, excluded in zip(pair, (other, use), strict=True)
        ]
    if not any("jvp" in c.transformations for run in pair for c in run):
        return None
    if _are_steps(use, other, pair, computations):
        return None
    everything = [{number for c in run for number in c.results} for run in pair]
    if everything[0] == everything[1]:
        return None
    if not is_loop:
        # A derivative may leave a result of the forward pass unused and compute a similar value.
        # For example, the derivative of `x**3` computes `x**2` on the same line.
        computations = computations.with_dead_code
        pair = [[c for c in computations if c.is_inside(site, rest)] for site in sites]
    places = [_values_by_place(run, computations, len(rest) + 1) for run in pair]
    common = places[0].keys() & places[1].keys()
    if not common or not all(_are_nested(places[0][p], places[1][p]) for p in common):
        return None
    return SharedNumbers("evaluated", sites, called_function(use.frames, sites[0]))


def _are_steps(
    use: KeyUse, other: KeyUse, pair: Iterable[Iterable[Computation]], computations: Computations
) -> bool:
    """Return whether both calls are steps of one differentiated function.

    For example, a loss depends on all layers of a network, whereas the gradients of two losses meet
    only after the differentiation, if they meet at all.

    Args:
        use: A use of a key.
        other: Another use of the same key.
        pair: The equations of the two calls.
        computations: How the program computes its values.
    """
    depths = (_jvp_depth(c) for run in pair for c in run if not c.is_backward)
    depth = max(depths, default=0) or 1
    both = computations.depending_on(use, other)
    return any(_jvp_depth(c) >= depth and not _is_outer_backward(c) for c in both)


def _jvp_depth(computation: Computation) -> int:
    """Return how many derivatives an equation is inside."""
    return computation.transformations.count("jvp(")


def _is_outer_backward(computation: Computation) -> bool:
    """Return whether an equation belongs to the backward pass of an outer derivative.

    An example is "transpose(jvp(jvp()))", but not "jvp(transpose(jvp()))".
    """
    outer = computation.transformations.rpartition("jvp(")[0]
    return "transpose" in outer.removesuffix("transpose(")


def _are_nested(one: set[Hashable], other: set[Hashable]) -> bool:
    return one <= other or other <= one


def _values_by_place(
    run: Iterable[Computation], computations: Computations, depth: int
) -> dict[Any, set[Hashable]]:
    """Return the values of a forward pass by the code that computes or reads them.

    The backward pass reads values of the forward pass that the program may compute for no other
    reason, such as the factors of a product.

    Args:
        run: The equations of one evaluation, in the forward and the backward pass.
        computations: How the program computes its values.
        depth: The number of frames that lead to the evaluated function.
    """
    found: dict[Any, set[Hashable]] = defaultdict(set)
    for computation in run:
        place = (computation.frames[:-depth], computation.name)
        if not computation.is_backward:
            found["results", *place].update(computation.results)
        for number in (value.number for value in computation.operands):
            origin = computations.origin(number)
            if origin is None or not origin.is_backward:
                found["operands", *place, computation.is_backward].add(number)
    return found
