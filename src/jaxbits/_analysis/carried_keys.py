"""Find PRNG keys that a step uses and returns, so that the next step uses them again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import jax
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.key_dataflow import KeyFlow, has_key_uses
from jaxbits._analysis.key_values import NEXT_ITERATION, KeyUse, Value
from jaxbits._analysis.program_values import NumberedType, numbered_types
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.source.passed_keys import takes_key_from_callee
from jaxbits._analysis.state_argument import find_new_state, find_state_argument


@dataclass(frozen=True)
class CarriedKey:
    """A key that two steps use.

    Attributes:
        use: The first use of the key in a step.
        path: Where the key is among the results, such as ``[1]['rng']``, or None if the next step
            computes the key again from the same state.
        is_argument: Whether the key is an argument of the step, and not computed by it.
    """

    use: KeyUse
    path: str | None = None
    is_argument: bool = False

    @property
    def location(self) -> CodeLocation | None:
        """The line of the function that uses the key and returns it.

        If this function only passes the key to another function, it is the line of this call.
        """
        outer_to_inner = [frame.location for frame in reversed(self.use.frames)]
        callers = itertools.takewhile(takes_key_from_callee, outer_to_inner[:-1])
        return outer_to_inner[len(list(callers))] if outer_to_inner else None


def find_carried_keys(target: FunctionUnderTest) -> Iterator[CarriedKey]:
    """Yield the keys that a function uses and then returns, so that a caller can pass them back.

    A key that a loop carries on after its use is left out, because the loop itself uses it again.
    If the argument that holds the state is known, the function also yields a key that the next step
    computes again, for example by folding the same number into a key that the state keeps.
    """
    program = target.trace.program
    if program is None or not has_key_uses(program):
        return
    program = _jax_compat.remove_dead_code(program)
    flow = KeyFlow()
    inputs = flow.input_values(program)
    outputs = flow.run(program, inputs, None)
    uses = flow.explained_uses()
    used = {use.key: use for use in reversed(uses) if use.from_input}
    carried_on = {use.key for use in uses if use.again == NEXT_ITERATION}
    arguments = {value.number for value in inputs}
    returned = list(_returned_keys(program, outputs, used, arguments, _output_paths(target)))
    yield from (found for found in returned if found.use.key not in carried_on)
    if returned or target.carry is None:
        return
    pairs, count = _state_pairs(target, target.carry), len(flow.uses)
    if pairs:
        again = [
            outputs[pairs[i]] if i in pairs else flow.new_value(True) for i in range(len(inputs))
        ]
        flow.run(program, again, None)
        repeated = (use for use in flow.uses[count:] if use.key in used)
        # The keys that are split from a repeated key are repeated, too.
        yield from (CarriedKey(use) for use in list(repeated)[:1])


def _returned_keys(
    program: ClosedJaxpr,
    outputs: list[Value],
    used: dict[object, KeyUse],
    arguments: set[object],
    paths: dict[int, str],
) -> Iterator[CarriedKey]:
    """Yield the used keys among the results that have the type of an argument."""
    types = {_type_of(variable) for variable in program.jaxpr.invars}
    reported = set[object]()
    for number, (variable, value) in enumerate(zip(program.jaxpr.outvars, outputs, strict=True)):
        use = used.get(value.number)
        if use and use.key not in reported and _type_of(variable) in types:
            reported.add(use.key)
            yield CarriedKey(use, paths.get(number, ""), use.key in arguments)


def _type_of(variable: object) -> tuple[object, str]:
    aval = getattr(variable, "aval", None)
    return getattr(aval, "shape", None), str(getattr(aval, "dtype", ""))


def _output_paths(target: FunctionUnderTest) -> dict[int, str]:
    """Return the path of each output of the program in the function's result."""
    leaves = jax.tree_util.tree_leaves_with_path(target.trace.output_types)
    keystr = jax.tree_util.keystr
    return {leaf.number: keystr(path) for path, leaf in leaves if isinstance(leaf, NumberedType)}


def _state_pairs(target: FunctionUnderTest, carry: int | str) -> dict[int, int]:
    """Return, for each input that belongs to the state, the output that replaces it."""
    trace = target.trace
    key = find_state_argument(target.function, target.args, target.kwargs, carry)
    if key is None:
        return {}
    arguments = (list(target.args), dict(target.kwargs))
    input_of = {leaf: number for number, leaf in enumerate(trace.traced)}
    count = len(jax.tree.leaves(arguments, is_leaf=is_iterator))
    args, kwargs = numbered_types(arguments, [input_of.get(i) for i in range(count)])
    old = args[key] if isinstance(key, int) else kwargs[key]
    new, _ = find_new_state(old, trace.output_types, key)
    outputs = dict(jax.tree_util.tree_leaves_with_path(new))
    pairs = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(old):
        other = outputs.get(path)
        if not (isinstance(leaf, NumberedType) and isinstance(other, NumberedType)):
            continue
        if (leaf.shape, leaf.dtype) == (other.shape, other.dtype):
            pairs[leaf.number] = other.number
    return pairs
