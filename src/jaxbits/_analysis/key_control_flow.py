"""Follow PRNG keys through the branches and loops of a program."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.key_values import KeyUse, Value, choose_uses
from jaxbits._analysis.known_integers import count_iterations


class Flow(Protocol):
    """The analysis of a whole program, which `KeyFlow` implements."""

    uses: list[KeyUse]

    def next_number(self) -> int:
        """Return a number that the analysis has not used yet."""

    def new_value(
        self, from_input: bool, *varies: frozenset[int], sources: Iterable[Value] = ()
    ) -> Value:
        """Return a value that differs from all others."""

    def run(
        self, program: ClosedJaxpr, inputs: Sequence[Value], call: CodeLocation | None
    ) -> list[Value]:
        """Analyze a jaxpr, record its uses of keys, and return the values of its results."""


def run_branches(
    flow: Flow, equation: Any, values: list[Value], call: CodeLocation | None
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
            outputs.append(replace(value, uses=choose_uses(sources, selection)))
    return outputs


def run_loop(
    flow: Flow, equation: Any, values: list[Value], call: CodeLocation | None
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
    changes = [False] * len(carry)
    first_turn: list[KeyUse] | None = None
    while True:
        flow.uses = []
        carried = [
            replace(_changing(flow, v, loop), integers=count) if is_changed else v
            for v, is_changed, count in zip(carry, changes, counts, strict=True)
        ]
        elements = [replace(_changing(flow, v, loop), **v.element()) for v in xs]
        outputs = flow.run(body, [*consts, *carried, *elements], call)
        first_turn = flow.uses if first_turn is None else first_turn
        triples = zip(changes, outputs, carried, strict=False)
        updated = [was or end.number != start.number for was, end, start in triples]
        if updated == changes:
            break
        changes = updated
    inside, flow.uses = flow.uses, before
    for first, use in zip(first_turn, inside, strict=True):
        if first.key != use.key:  # The first turn uses the values that the loop starts with.
            flow.uses.append(replace(first, varies=first.varies - loop))
        flow.uses.append(replace(use, varies=use.varies - loop))
        if iterations > 1 and not use.varies & loop:
            flow.uses.append(replace(use, how=f"{use.how}, again in every iteration"))
    sources = (*values, *outputs)
    from_input = any(v.from_input for v in sources)
    varies = [v.varies - loop for v in sources]
    results = [flow.new_value(from_input, *varies, sources=sources) for _ in equation.outvars]
    for index, (start, is_changed) in enumerate(zip(carry, changes, strict=True)):
        if not is_changed:  # The loop returns this value as it got it.
            results[index] = start
    return results


def _changing(flow: Flow, value: Value, loop: frozenset[int]) -> Value:
    """Return a value that a loop computes from another one, differently in each iteration."""
    return flow.new_value(value.from_input, value.varies, loop, sources=[value])
