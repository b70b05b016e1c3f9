"""A minimal imitation of filtering transformations, which treat everything but arrays as static.

Several libraries register modules as pytrees whose leaves include numbers, strings, and functions.
`jax.jit` rejects such a module, so these libraries wrap it.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def is_array(leaf: Any) -> bool:
    """Return whether a leaf is an array, which excludes Python numbers."""
    return isinstance(leaf, (jax.Array, np.ndarray))


def partition(tree: Any) -> tuple[list[Any], Any]:
    """Return the arrays among the leaves of a tree, and a hashable value that holds the rest."""
    leaves, structure = jax.tree.flatten(tree)
    dynamic = [leaf if is_array(leaf) else None for leaf in leaves]
    return dynamic, (structure, tuple(None if is_array(leaf) else leaf for leaf in leaves))


def combine(dynamic: list[Any], static: Any) -> Any:
    """Return the tree that `partition` took apart."""
    structure, rest = static
    leaves = [b if a is None else a for a, b in zip(dynamic, rest, strict=True)]
    return jax.tree.unflatten(structure, leaves)


@jax.tree_util.register_pytree_node_class
class _Static:
    """A pytree without leaves, through which a jitted function returns what is not an array."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tree_flatten(self) -> tuple[tuple[()], Any]:
        return (), self.value

    @classmethod
    def tree_unflatten(cls, value: Any, _: Any) -> _Static:
        return cls(value)


class FilterJit:
    """A function that is compiled for its array arguments, with all other leaves static."""

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._compiled = jax.jit(self._run, static_argnums=0)

    def _run(self, static: Any, dynamic: list[Any]) -> Any:
        args, kwargs = combine(dynamic, static)
        arrays, rest = partition(self._function(*args, **kwargs))
        return arrays, _Static(rest)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        dynamic, static = partition((args, kwargs))
        arrays, rest = self._compiled(static, dynamic)
        return combine(arrays, rest.value)


filter_jit = FilterJit


def filter_value_and_grad(function: Any) -> Any:
    """Return a function that differentiates with respect to the floating-point arrays only."""

    @functools.wraps(function)
    def value_and_grad(model: Any, *args: Any) -> Any:
        leaves, structure = jax.tree.flatten(model)
        is_parameter = [is_array(v) and jnp.issubdtype(v.dtype, jnp.floating) for v in leaves]

        def loss(parameters: list[Any]) -> Any:
            merged = [
                p if chosen else v
                for p, v, chosen in zip(parameters, leaves, is_parameter, strict=True)
            ]
            return function(jax.tree.unflatten(structure, merged), *args)

        parameters = [v if c else None for v, c in zip(leaves, is_parameter, strict=True)]
        value, gradients = jax.value_and_grad(loss)(parameters)
        return value, jax.tree.unflatten(structure, gradients)

    return value_and_grad


def descend(model: Any, gradients: Any, rate: float = 0.1) -> Any:
    """Return a model after a step of gradient descent on the arrays that have a gradient."""
    leaves, structure = jax.tree.flatten(model)
    slopes = jax.tree.leaves(gradients, is_leaf=lambda v: v is None)
    updated = [v if g is None else v - rate * g for v, g in zip(leaves, slopes, strict=True)]
    return jax.tree.unflatten(structure, updated)
