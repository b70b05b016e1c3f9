"""Parse the limits that the tasks of an assignment set for their inputs.

The author declares them in the front matter, and the text of the task gives them to students:

    limits:
      prepare.levels: {size: [1, 512], values: [-100, 100], kinds: [np.float32]}
      prepare.return: {values: [0, 200]}

The key ``return`` stands for the result, which is often largest where several limits meet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_ARGUMENT = re.compile(r"(?P<function>[^\W\d]\w*)\.(?P<argument>[^\W\d]\w*)")
_KIND = re.compile(r"int|float|bool|list|tuple|dict|str|(np|jnp)(\.[a-z]+[0-9]*)?")
_SPECIAL = ("nan", "inf", "-inf", "-0.0")
_KEYS = ("size", "values", "step", "kinds", "special")
_KEYS_OF_RESULT = ("values", "step", "special")
RESULT = "return"
"""The name of the result, which cannot be the name of an argument."""


class LimitError(ValueError):
    """Raised if limits are not of the right form. The message says which."""


@dataclass(frozen=True)
class InputLimits:
    """The limits of an argument or of a result.

    Attributes:
        function: The name of the function.
        argument: The name of the argument, or "return".
        sizes: For each axis, the smallest and the largest size of an array, or the lengths of a
            list.
        values: The smallest and the largest number, or None.
        step: A difference between two numbers that an answer must not ignore, or None.
        kinds: The types that the argument or its items may have, such as "int", "list", "np" for
            any NumPy array or scalar, or "jnp.int32".
        special: The special numbers that may occur, such as "nan".
    """

    function: str
    argument: str
    sizes: tuple[tuple[int, int], ...] = ()
    values: tuple[float, float] | None = None
    step: float | None = None
    kinds: tuple[str, ...] = ()
    special: tuple[str, ...] = ()

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> InputLimits:
        """Return the limits that `dataclasses.asdict` and JSON have turned into plain data."""
        return cls(
            data["function"],
            data["argument"],
            tuple((low, high) for low, high in data["sizes"]),
            (data["values"][0], data["values"][1]) if data["values"] else None,
            data["step"],
            tuple(data["kinds"]),
            tuple(data["special"]),
        )


def parse_limits(given: object) -> tuple[InputLimits, ...]:
    """Return the limits in the front matter of an assignment.

    Args:
        given: A mapping from ``function.argument`` or ``function.return`` to a mapping with some
            of the keys `size`, `values`, `step`, `kinds`, and `special`. A `size` is a pair of
            sizes, or a list of pairs, one for each axis. A result has no `size` and no `kinds`.

    Raises:
        LimitError: If the limits are not of this form.

    Example:
        >>> parse_limits({"mean.row": {"size": [1, 50], "kinds": ["np", "list"]}})[0].sizes
        ((1, 50),)
    """
    if not isinstance(given, Mapping):
        raise LimitError(f"'limits' must be a mapping, got {given!r}")
    return tuple(_parse_one(str(key), value) for key, value in given.items())


def _parse_one(key: str, given: object) -> InputLimits:
    match = _ARGUMENT.fullmatch(key)
    if match is None:
        raise LimitError(f"a key of 'limits' must be of the form function.argument, got {key!r}")
    keys = _KEYS_OF_RESULT if match["argument"] == RESULT else _KEYS
    if not isinstance(given, Mapping) or not given or set(given) - set(keys):
        expected = f"a mapping with some of the keys {', '.join(keys)}"
        raise LimitError(f"the limits of {key!r} must be {expected}, got {given!r}")
    for name in ("size", "kinds", "special"):
        if not isinstance(given.get(name, []), list):
            raise LimitError(f"the {name} of {key!r} must be a list, got {given[name]!r}")
    size = given.get("size", [])
    pairs = [size] if size and not isinstance(size[0], list) else size
    sizes = tuple((int(a), int(b)) for a, b in (_pair(key, "size", one) for one in pairs))
    step, special = given.get("step"), tuple(map(str, given.get("special", ())))
    if step is not None and not (_is_number(step) and step > 0):
        raise LimitError(f"the step of {key!r} must be a positive number, got {step!r}")
    kinds = tuple(map(str, given.get("kinds", ())))
    for name, found, is_valid in (
        ("kinds", kinds, lambda one: _KIND.fullmatch(one)),
        ("special", special, _SPECIAL.__contains__),
    ):
        if wrong := [one for one in found if not is_valid(one)]:
            raise LimitError(f"the {name} of {key!r} must not contain {wrong[0]!r}")
    return InputLimits(
        match["function"],
        match["argument"],
        sizes,
        _pair(key, "values", given["values"]) if "values" in given else None,
        step,
        kinds,
        special,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _pair(key: str, name: str, given: Any) -> tuple[float, float]:
    is_pair = isinstance(given, list) and len(given) == 2 and all(map(_is_number, given))
    if not is_pair or given[0] > given[1]:
        raise LimitError(
            f"the {name} of {key!r} must be the smallest and the largest, got {given!r}"
        )
    return given[0], given[1]
