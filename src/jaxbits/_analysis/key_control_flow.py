"""Follow PRNG keys through the branches and loops of a program."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis.key_calls import LibraryCall
from jaxbits._analysis.key_values import (
    EVERY_ITERATION,
    NEXT_ITERATION,
    KeyUse,
    Value,
    choose_uses,
)
from jaxbits._analysis.known_integers import count_iterations


class Flow(Protocol):
    """The analysis of a whole program, which `KeyFlow` implements."""

    uses: list[KeyUse]

    @property
    def depth(self) -> int:
        """The number of frames of user code that lead to the current jaxpr."""

    def next_number(self) -> int:
        """Return a number that the analysis has not used yet."""

    def new_value(
        self, from_input: bool, *varies: frozenset[int], sources: Iterable[Value] = ()
    ) -> Value:
        """Return a value that differs from all others."""

    def run(
        self, program: ClosedJaxpr, inputs: Sequence[Value], call: LibraryCall | None
    ) -> list[Value]:
        """Analyze a jaxpr, record its uses of keys, and return the values of its results."""


def run_branches(
    flow: Flow, equation: Any, values: list[Value], call: LibraryCall | None
) -> list[Value]:
    """Analyze all branches, and keep each key's uses from the branch that uses it most."""
    before, most = flow.uses, dict[Hashable, list[KeyUse]]()
    selection = flow.next_number()
    results = []
    for branch in equation.params["branches"]:
        flow.uses = []
        results.append(flow.run(branch, values[1:], call))
        for key, times in Counter(use.key for use in flow.uses).items():
            if times > len(most.get(key, ())):
                most[key] = [use for use in flow.uses if use.key == key]
    before += itertools.chain.from_iterable(most.values())
    flow.uses, outputs = before, []
    for column in zip(*results, strict=True):
        if all(value == column[0] for value in column):
            outputs.append(column[0])
        else:
            sources = [values[0], *column]
            from_input = any(v.from_input for v in sources)
            varies = [v.varies for v in sources]
            value = flow.new_value(from_input, *varies)
            candidates = frozenset[Hashable]().union(*(v.possible_numbers for v in column))
            uses = choose_uses(sources, selection)
            outputs.append(replace(value, uses=uses, candidates=candidates - most.keys()))
    return outputs


def run_loop(
    flow: Flow, equation: Any, values: list[Value], call: LibraryCall | None
) -> list[Value]:
    """Analyze a loop's body repeatedly until it is clear which carried values change."""
    params = equation.params
    if equation.primitive.name == "scan":
        num_consts, num_carry = _jax_compat.scan_counts(equation)
        body, first_x = params["jaxpr"], num_consts + num_carry
        consts, carry, xs = values[:num_consts], values[num_consts:first_x], values[first_x:]
        iterations, starts = params["length"], [v.integers for v in carry]
    else:
        first_body = params["cond_nconsts"]
        body, first_carry = params["body_jaxpr"], first_body + params["body_nconsts"]
        consts, carry, xs = values[first_body:first_carry], values[first_carry:], []
        iterations, starts = 2, [None] * len(carry)
    variables = body.jaxpr.invars[len(consts) :]
    steps = zip(starts, variables, body.jaxpr.outvars, strict=False)
    counts = [count_iterations(body.jaxpr, *step, iterations) for step in steps]
    before, loop = flow.uses, frozenset({flow.next_number()})

    def run_body(carried: Sequence[Value]) -> list[Value]:
        flow.uses = []
        elements = [replace(_changing(flow, v, loop), **v.element()) for v in xs]
        return flow.run(body, [*consts, *carried, *elements], call)

    changes = [False] * len(carry)
    first_turn: list[KeyUse] | None = None
    while True:
        carried = [
            replace(_changing(flow, v, loop), integers=count) if is_changed else v
            for v, is_changed, count in zip(carry, changes, counts, strict=True)
        ]
        outputs = run_body(carried)
        first_turn = flow.uses if first_turn is None else first_turn
        triples = zip(changes, outputs, carried, strict=False)
        updated = [was or end.number != start.number for was, end, start in triples]
        if updated == changes:
            break
        changes = updated
    inside, repeated = flow.uses, list[KeyUse]()
    used = {use.key for use in inside if use.varies & loop}
    if used and iterations > 1 and call is None:
        pairs = zip(changes, outputs, carried, strict=False)
        run_body([end if is_changed else start for is_changed, end, start in pairs])
        repeated = [use for use in flow.uses if use.key in used]
    flow.uses = before + _uses_of_loop(first_turn, inside, repeated, loop, iterations, flow.depth)
    sources = (*values, *outputs)
    from_input = any(v.from_input for v in sources)
    varies = [v.varies - loop for v in sources]
    results = [
        replace(
            flow.new_value(from_input, *varies, sources=sources), candidates=last.possible_numbers
        )
        for last in outputs
    ]
    for index, (start, is_changed) in enumerate(zip(carry, changes, strict=True)):
        if not is_changed:  # The loop returns this value as it got it.
            results[index] = start
        elif (last := outputs[index]).number in used:  # The last iteration has used this key.
            results[index] = replace(
                results[index], number=last.number, split_from=last.split_from, seed=last.seed
            )
    return results


def _uses_of_loop(
    first_turn: Sequence[KeyUse],
    inside: Sequence[KeyUse],
    repeated: Sequence[KeyUse],
    loop: frozenset[int],
    iterations: int,
    depth: int,
) -> list[KeyUse]:
    """Return the uses of keys in a loop, as the program around the loop sees them.

    Args:
        first_turn: The uses in the first iteration, of the values that the loop starts with.
        inside: The same uses in any iteration.
        repeated: The uses in the next iteration of keys that an iteration has already used.
        loop: The number of the loop.
        iterations: How many iterations it has.
        depth: How many frames of user code lead to it.
    """
    found = []
    for number, use in enumerate(inside):
        if len(first_turn) == len(inside) and (first := first_turn[number]).key != use.key:
            first = replace(first, call=use.call, number=use.number)
            found.append(replace(first, varies=first.varies - loop))
        found.append(replace(use, varies=use.varies - loop))
        if iterations > 1 and not use.varies & loop:
            found.append(replace(use, again=EVERY_ITERATION, loop_depth=depth))
    once = {use.key: use for use in reversed(repeated)}
    found += [replace(u, varies=u.varies - loop, again=NEXT_ITERATION) for u in once.values()]
    return found


def _changing(flow: Flow, value: Value, loop: frozenset[int]) -> Value:
    """Return a value that a loop computes from another one, differently in each iteration."""
    return flow.new_value(value.from_input, value.varies, loop, sources=[value])
