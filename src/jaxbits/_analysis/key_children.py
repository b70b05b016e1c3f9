"""Recognize the children of a PRNG key, no matter whether `split` or `fold_in` computes them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import jax
from jax.extend.core import Literal

_THREEFRY = "key<fry>"


class KeyChildren:
    """A record of which values are children of a key.

    JAX hashes the key together with the number of the child, in `split` as well as in `fold_in`.
    Therefore ``fold_in(key, 1)`` equals ``split(key)[1]``, with JAX's default settings:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/random/prng.py
    """

    def __init__(self) -> None:
        self._parents: dict[Hashable, Hashable] = {}
        self._rows: dict[Hashable, tuple[Hashable, int]] = {}
        self._made_by: dict[Hashable, set[str]] = {}

    def number(self, equation: Any, operand: Hashable, result: Hashable, index: int) -> Hashable:
        """Return the value number of a result, which is the same for equal children of a key.

        Args:
            equation: The equation that computes the result.
            operand: The value number of its first operand.
            result: The value number of the result if it is not a child of a key.
            index: The index of the result among those of the equation.
        """
        name, params = equation.primitive.name, equation.params
        child = None
        if name == "random_fold_in" and _is_single_threefry_key(equation.invars[0]):
            data = equation.invars[1]
            child = (operand, int(data.val)) if isinstance(data, Literal) else None
        elif name == "squeeze" and tuple(params["dimensions"]) == (0,):
            child = self._rows.get(operand)
        elif name == "unstack" and params["axis"] == 0 and operand in self._parents:
            child = self._parents[operand], index
        elif name == "random_split":
            if _is_single_threefry_key(equation.invars[0]) and len(params["shape"]) == 1:
                self._parents[result] = operand
        elif name == "slice" and operand in self._parents:
            first, last = params["start_indices"], params["limit_indices"]
            is_row = equation.invars[0].aval.shape[1:] == equation.outvars[0].aval.shape[1:]
            if is_row and last[0] - first[0] == 1:
                self._rows[result] = self._parents[operand], int(first[0])
        if child is None:
            return result
        number = ("child", *child)
        self._made_by.setdefault(number, set()).add("fold" if "fold" in name else "split")
        return number

    def explain(self, number: Hashable) -> str:
        """Return why a key equals another one, or "" if only one function computes it."""
        if len(self._made_by.get(number, ())) < 2 or not isinstance(number, tuple):
            return ""
        child = number[-1]
        return f" from `fold_in(key, {child})`, which equals `split(key)[{child}]`"


def _is_single_threefry_key(atom: Any) -> bool:
    is_single = str(getattr(atom.aval, "dtype", "")) == _THREEFRY and not atom.aval.shape
    return is_single and bool(getattr(jax.config, "jax_threefry_partitionable", True))
