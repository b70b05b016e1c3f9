"""Find arrays among the static fields of arguments, which are part of a tree's structure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from jaxbits._analysis.python_state.iterators import is_iterator

_MAX_DEPTH = 8


def find_static_arrays(tree: Any) -> Iterator[tuple[type, Any]]:
    """Yield each array that a tree keeps in its structure, after the class that keeps it there.

    Args:
        tree: The tree, such as the arguments of a function.

    >>> import dataclasses
    >>> import jax.numpy as jnp
    >>> @jax.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Lens:
    ...     radius: jax.Array
    ...     z: jax.Array = dataclasses.field(metadata={"static": True})
    >>> [(kept_by.__name__, array.shape) for kept_by, array in find_static_arrays(
    ...     Lens(jnp.ones(3), jnp.ones(2)))]
    [('Lens', (2,))]
    """
    waiting: list[Any] = [jax.tree.structure(tree, is_leaf=is_iterator)]
    while waiting:
        structure = waiting.pop()
        waiting += structure.children()
        node = structure.node_data()
        if node is not None:
            kept_by, data = node
            yield from ((kept_by, array) for array in _arrays_in(data, _MAX_DEPTH))


def _arrays_in(data: Any, depth: int) -> Iterator[Any]:
    if isinstance(data, (jax.Array, np.ndarray)):
        yield data
    elif depth and isinstance(data, (tuple, list, dict)):
        for part in data.values() if isinstance(data, dict) else data:
            yield from _arrays_in(part, depth - 1)
