"""Recognize the children of a PRNG key, no matter whether `split` or `fold_in` computes them."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxbits._analysis.key_values import Children, KeyUse, Value
from jaxbits._analysis.known_integers import Integers, select_elements

_THREEFRY = "key<fry>"


def find_children(equation: Any, operands: Sequence[Value], index: int) -> Children | None:
    """Return which children of a key the result of an equation consists of, if that is known.

    JAX hashes the key together with the number of the child, in `split` as well as in `fold_in`.
    Therefore ``fold_in(key, 1)`` equals ``split(key)[1]``, with JAX's default settings:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/random/prng.py

    Args:
        equation: The equation that computes the result.
        operands: The values of its operands.
        index: The index of the result among those of the equation.
    """
    name, first, key = equation.primitive.name, operands[0], equation.invars[0].aval
    if name in ("random_fold_in", "random_split") and not _is_threefry(key):
        return None
    if name == "random_fold_in":
        return _fold(equation, operands)
    if name == "random_split":
        shape = equation.params["shape"]
        if len(shape) != 1:
            return None
        return Children(first.number, Integers(np.arange(*shape)), batch_axes=len(key.shape))
    if first.children is None:
        return None
    selected = select_elements(equation, first.children.numbers, index, first.children.batch_axes)
    return None if selected is None else replace(first.children, numbers=selected)


def _fold(equation: Any, operands: Sequence[Value]) -> Children | None:
    """Return which children `fold_in` computes, for a single key or for each key of a batch."""
    numbers, shape = operands[1].integers, equation.invars[0].aval.shape
    if numbers is None or (shape and equation.outvars[0].aval.shape != shape):
        return None
    if shape:
        values = np.unique(numbers.values)
        numbers = Integers(values[0]) if values.size == 1 else Integers(values, varies=True)
    is_fixed = not operands[1].from_input
    return Children(operands[0].number, numbers, True, is_fixed, batch_axes=len(shape))


def _is_threefry(aval: Any) -> bool:
    is_threefry = str(getattr(aval, "dtype", "")) == _THREEFRY
    return is_threefry and bool(getattr(jax.config, "jax_threefry_partitionable", True))


class ChildNumbers:
    """The value numbers of the children of keys, which are the same for equal children."""

    def __init__(self) -> None:
        self._made_by: dict[Hashable, set[bool]] = defaultdict(set)

    def value_number(self, children: Children | None, result: Hashable) -> Hashable:
        """Return the value number of a result.

        Args:
            children: The children of a key that the result consists of, if it does.
            result: The value number of the result if it is not a single child with a fixed number.
        """
        if children is None or not children.is_single or not children.is_fixed:
            return result
        number = ("child", children.parent, children.first)
        self._made_by[number].add(children.is_folded)
        return number

    def explain(self, use: KeyUse) -> KeyUse:
        """Return a use, and say why its key equals another one if that is not obvious."""
        if len(self._made_by.get(use.key, ())) < 2 or use.children is None:
            return use
        return _explain(use, use.children.first)


def find_equal_children(uses: Iterable[KeyUse]) -> Iterator[list[KeyUse]]:
    """Yield groups of uses of a child that `split` computes and that `fold_in` computes, too.

    Uses whose keys have the same value number are left out, because it is obvious that they are
    uses of one key. So are two uses of folded keys. If an argument contains equal numbers, for
    example because the same user appears twice, their keys are equal on purpose.
    """
    by_parent: dict[Hashable, tuple[list[KeyUse], list[KeyUse]]] = defaultdict(lambda: ([], []))
    for use in uses:
        if use.children is not None:
            by_parent[use.children.parent][use.children.is_folded].append(use)
    for split, folded in by_parent.values():
        seen = set[Hashable]()
        for one, other in itertools.product(split, folded):
            assert one.children is not None
            assert other.children is not None
            common = np.intersect1d(one.children.numbers.values, other.children.numbers.values)
            if common.size and one.key != other.key and other.key not in seen:
                seen.add(other.key)
                yield [one, _explain(other, int(common[0]))]


def _explain(use: KeyUse, child: int) -> KeyUse:
    return replace(use, why=f", from `fold_in(key, {child})`, which equals `split(key)[{child}]`")
