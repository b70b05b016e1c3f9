"""Functions that copy arguments, so that no check can modify the originals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxbits._analysis import resource_limits
from jaxbits._analysis.python_state.iterators import copy_iterator, is_iterator

PYTHON_NUMBERS = (bool, int, float, complex)


class NotCopied(TypeError):
    """Raised if the user's function advances an iterator that cannot be copied."""


def is_array(value: Any) -> bool:
    """Return whether a value is an array or a Python number, which `jax.jit` treats as an array."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biufcV" and value.dtype != object
    return isinstance(value, (jax.Array, *PYTHON_NUMBERS))


def copy_tree(tree: Any) -> Any:
    """Return a copy of a tree, including its containers, arrays, and iterators.

    Raises:
        TooLarge: If the arrays take up more than `resource_limits.MAX_COPY_BYTES`.

    >>> given = {"x": np.ones(2)}
    >>> copy_tree(given)["x"] is given["x"]
    False
    """
    resource_limits.check_copy_size(tree)
    return jax.tree.map(copy_leaf, tree, is_leaf=is_iterator)


def copy_tree_keeping_aliases(tree: Any) -> Any:
    """Return a copy of a tree in which references to the same array still share a single array.

    >>> x = np.ones(2)
    >>> a, b = copy_tree_keeping_aliases((x, x))
    >>> a is b, a is x
    (True, False)
    """
    copies: dict[int, Any] = {}

    def copy_once(leaf: Any) -> Any:
        if id(leaf) not in copies:
            copies[id(leaf)] = copy_tree(leaf)
        return copies[id(leaf)]

    return jax.tree.map(copy_once, tree, is_leaf=is_iterator)


def copy_leaf(leaf: Any) -> Any:
    """Return a copy of an array or iterator, or the value itself if it is neither."""
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    if isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.clone(leaf)
        return jnp.array(leaf, copy=True)
    if is_iterator(leaf):
        return copy_iterator(leaf) or _uncopyable_iterator(leaf)
    return leaf


def _uncopyable_iterator(iterator: Any) -> Iterator[Any]:
    """Return a stand-in for an iterator that cannot be copied. Advancing it raises an error."""
    raise NotCopied(f"a {type(iterator).__name__} cannot be copied, so no check advances it")
    yield
