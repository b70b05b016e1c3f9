"""Find the inputs whose dtype the caller has chosen on purpose."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxbits._analysis.carried_state import carried_leaves
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator


def chosen_inputs(target: FunctionUnderTest) -> set[int]:
    """Return the positions of the program's inputs whose dtype a result should have, if it is wide.

    These are all arrays of floats except scalars and parameters that most of their siblings are
    narrower than, because such a parameter may have its dtype by accident. A state that the
    function returns has its dtype on purpose.
    """
    leaves = jax.tree.leaves((target.args, target.kwargs), is_leaf=is_iterator)
    strays = _strays(target) - carried_leaves(target)
    return {
        position
        for position, leaf in enumerate(target.trace.traced)
        if _float_size(leaves[leaf]) > 1 and leaf not in strays
    }


def _strays(target: FunctionUnderTest) -> set[int]:
    """Return the leaves of the arguments in a tree that mostly consists of narrower floats."""
    found: set[int] = set()
    start = 0
    for argument in (*target.args, *(target.kwargs[name] for name in sorted(target.kwargs))):
        leaves = jax.tree.leaves(argument, is_leaf=is_iterator)
        for position, leaf in enumerate(leaves):
            if _float_size(leaf):
                size = leaf.dtype.itemsize
                narrow = sum(_float_size(x) for x in leaves if _itemsize(x) < size)
                if 2 * narrow > sum(map(_float_size, leaves)):
                    found.add(start + position)
        start += len(leaves)
    return found


def _itemsize(leaf: Any) -> int:
    return int(leaf.dtype.itemsize) if _float_size(leaf) else 0


def _float_size(leaf: Any) -> int:
    """Return how many floats a leaf has, or 0 if it is no array of floats."""
    dtype = getattr(leaf, "dtype", None)
    if dtype is None or not jnp.issubdtype(dtype, jnp.floating):
        return 0
    return math.prod(leaf.shape)
