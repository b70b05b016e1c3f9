"""Find the inputs whose dtype the caller has chosen on purpose."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxbits._analysis.carried_state import carried_leaves
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator


def state_inputs(target: FunctionUnderTest) -> set[int]:
    """Return the positions of the program's inputs that are arrays of floats in a state.

    A state is what the function returns in an updated form, such as the moments of an optimizer.
    Its dtype has to stay the same, so the caller has chosen it on purpose. A scalar may have its
    dtype by accident.
    """
    leaves = jax.tree.leaves((target.args, target.kwargs), is_leaf=is_iterator)
    carried = carried_leaves(target)
    return {
        position
        for position, leaf in enumerate(target.trace.traced)
        if leaf in carried and _float_size(leaves[leaf]) > 1
    }


def _float_size(leaf: Any) -> int:
    """Return how many floats a leaf has, or 0 if it is no array of floats."""
    dtype = getattr(leaf, "dtype", None)
    if dtype is None or not jnp.issubdtype(dtype, jnp.floating):
        return 0
    return math.prod(leaf.shape)
