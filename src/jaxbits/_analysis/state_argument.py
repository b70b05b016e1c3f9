"""Find the state among the arguments of a step, and the new state in the step's output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.program_values import NumberedType
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.state_types import ArrayType, likeness, types_of
from jaxbits._analysis.tracing_errors import parameter_names


def find_state_argument(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    state_argument: int | str,
) -> int | str | None:
    """Return the state's position among the arguments, or its name if it is passed by keyword.

    Args:
        function: The step.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        state_argument: The position or name of the state.

    Returns:
        The position or name, or None if the state is the first of no arguments.

    Raises:
        ValueError: If no argument has this position or name.
    """
    if state_argument in kwargs or (isinstance(state_argument, int) and state_argument < len(args)):
        return state_argument
    names = parameter_names(function)
    if isinstance(state_argument, str) and state_argument in names[: len(args)]:
        return names.index(state_argument)
    if (
        isinstance(state_argument, int)
        and state_argument < len(names)
        and names[state_argument] in kwargs
    ):
        return names[state_argument]
    if state_argument == 0:
        return None
    choices = ", ".join(map(repr, [*names[: len(args)], *kwargs]))
    raise ValueError(f"carry must be a position or one of {choices}; got {state_argument!r}")


def find_new_state(old: Any, output: Any, key: int | str) -> tuple[Any, bool]:
    """Return the part of a step's output that is most similar to the old state.

    Args:
        old: The types in the old state.
        output: The output, or the types in it.
        key: The position or name of the state among the arguments.

    Returns:
        The part of the output, and whether its position is unusual.
    """
    candidates: list[Any] = []
    if isinstance(output, (list, tuple)):
        candidates = list(output)
    elif isinstance(output, dict):
        candidates = list(output.values())
    preferred = key if isinstance(key, int) and key < len(candidates) else 0
    best, highest, is_aside = output, likeness(old, types_of(output)), False
    for index, part in enumerate(candidates):
        score = likeness(old, types_of(part))
        if index == preferred and isinstance(old, ArrayType) and score >= 2:
            score += 1.5  # A step returns the new state first, perhaps followed by the old one.
        if score > highest:
            best, highest, is_aside = part, score, index != preferred
    return best, is_aside


def traced_state(target: FunctionUnderTest, key: int | str) -> tuple[Any, Any] | None:
    """Return the types in a step's state before and after the step, as the shared trace shows them.

    Args:
        target: The step.
        key: The position or name of the state among the arguments.

    Returns:
        The types in the old and the new state, or None if the trace does not show them.
    """
    trace = target.trace
    if trace.program is None or trace.output_types is None:
        return None
    leaves, tree = jax.tree.flatten((list(target.args), target.kwargs), is_leaf=is_iterator)
    for index, aval in zip(trace.traced, trace.program.in_avals, strict=True):
        leaves[index] = ArrayType(aval.shape, aval.dtype, aval.weak_type)
    try:  # A user's container may accept only arrays.
        args, kwargs = jax.tree.unflatten(tree, leaves)
        old = types_of((args if isinstance(key, int) else kwargs)[key])
        outputs = jax.tree.map(_without_number, trace.output_types, is_leaf=is_iterator)
        return old, types_of(find_new_state(old, outputs, key)[0])
    except Exception:
        return None


def _without_number(leaf: Any) -> Any:
    if isinstance(leaf, NumberedType):
        return ArrayType(leaf.shape, leaf.dtype, leaf.weak)
    return leaf
