"""Find the state among the arguments of a step, and the new state in the step's output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
