"""Parse which arguments the grader may draw anew, to compare answers with right answers.

The author declares them in the front matter. If arguments depend on each other, a condition says
which ones fit together:

    new_inputs:
      sell: [plan, requests, first]
      middle: {change: [weights, count], only_if: count <= len(weights)}
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

_KEYS = {"change", "only_if", "atol", "same_types"}


class NewInputsError(ValueError):
    """Raised if new inputs are not of the right form. The message says which."""


@dataclass(frozen=True)
class NewInputs:
    """The arguments of a function that may be drawn anew.

    Attributes:
        arguments: Their names.
        condition: An expression of the arguments that holds for all inputs that are allowed.
        atol: How far a number may be from that of the solution, in addition to rounding errors.
        same_types: Whether results must also have the same types and dtypes as right results.
    """

    arguments: tuple[str, ...]
    condition: str = "True"
    atol: float = 0.0
    same_types: bool = False


def parse_new_inputs(given: object, functions: Mapping[str, list[str]]) -> dict[str, NewInputs]:
    """Return the new inputs in the front matter, keyed by the name of the function.

    Args:
        given: A mapping from the name of a function to a list of arguments, or to a mapping with
            the keys `change` (this list), `only_if` (the condition), `atol`, and `same_types`.
        functions: The names of the arguments of each function of a solution.

    Raises:
        NewInputsError: If the new inputs are not of this form.

    Example:
        >>> parse_new_inputs({"mean": ["row"]}, {"mean": ["row"]})
        {'mean': NewInputs(arguments=('row',), condition='True', atol=0.0, same_types=False)}
    """
    if not isinstance(given, Mapping):
        raise NewInputsError(f"'new_inputs' must be a mapping, got {given!r}")
    return {str(name): _parse_one(str(name), one, functions) for name, one in given.items()}


def _parse_one(name: str, given: object, functions: Mapping[str, list[str]]) -> NewInputs:
    if name not in functions:
        raise NewInputsError(
            f"a key of 'new_inputs' must be a function of a solution, got {name!r}"
        )
    about = given if isinstance(given, Mapping) else {"change": given}
    change, condition = about.get("change"), about.get("only_if", "True")
    atol, same_types = about.get("atol", 0), about.get("same_types", False)
    if set(about) - _KEYS or not isinstance(change, list) or not change:
        raise NewInputsError(
            f"the new inputs of {name!r} must be a list of arguments, or a mapping with the keys "
            f"change, only_if, atol, and same_types, got {given!r}"
        )
    if unknown := [one for one in change if one not in functions[name]]:
        raise NewInputsError(
            f"the new inputs of {name!r} must be some of {functions[name]}, got {unknown[0]!r}"
        )
    try:
        ast.parse(str(condition), mode="eval")
    except (SyntaxError, ValueError):
        raise NewInputsError(
            f"only_if of {name!r} must be an expression of its arguments, got {condition!r}"
        ) from None
    if isinstance(atol, bool) or not isinstance(atol, int | float) or atol < 0:
        raise NewInputsError(f"atol of {name!r} must be a number from 0 on, got {atol!r}")
    if not isinstance(same_types, bool):
        raise NewInputsError(f"same_types of {name!r} must be true or false, got {same_types!r}")
    return NewInputs(tuple(change), str(condition), float(atol), same_types)
