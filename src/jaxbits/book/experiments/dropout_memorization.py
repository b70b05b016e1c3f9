"""Train a linear model on pure noise with dropout, and compare ways of passing the key."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import lax, random

UNITS, ROWS = 40, 20
INPUTS: jax.Array = random.normal(random.key(1), (ROWS, UNITS))
"""Twenty examples of forty random features."""

TARGETS: jax.Array = random.normal(random.key(2), (ROWS,))
"""Random targets, which a model can only memorize."""

_DROPOUT = nn.Dropout(0.5, deterministic=False)


def _drop(rows: jax.Array, key: jax.Array) -> Any:
    return _DROPOUT.apply({}, rows, rngs={"dropout": key})


def _drop_by_row(rows: jax.Array, key: jax.Array) -> Any:
    return jax.vmap(_drop, in_axes=(0, None))(rows, key)


def _same_key(key: jax.Array, step: jax.Array) -> jax.Array:
    return key


WAYS: dict[str, tuple[Callable[..., Any], Callable[..., jax.Array], bool]] = {
    "same key": (_drop, _same_key, False),
    "same key, rows shuffled": (_drop, _same_key, True),
    "fold_in, rows shuffled": (_drop, random.fold_in, True),
    "vmap, same key, rows shuffled": (_drop_by_row, _same_key, True),
}
"""For each way: how dropout is applied, the key of a step, and whether the rows are shuffled."""


@partial(jax.jit, static_argnums=0)
def train(way: str) -> tuple[jax.Array, jax.Array]:
    """Return the mean loss of the last 100 of 2000 steps, and the final loss without dropout.

    Args:
        way: One of `WAYS`.
    """
    drop, key_of, is_shuffled = WAYS[way]

    def step(weights: jax.Array, i: jax.Array) -> tuple[jax.Array, jax.Array]:
        order = jnp.arange(ROWS)
        if is_shuffled:
            order = random.permutation(random.fold_in(random.key(9), i), ROWS)

        def loss(weights: jax.Array) -> jax.Array:
            seen = drop(INPUTS[order], key_of(random.key(0), i))
            return jnp.mean((seen @ weights - TARGETS[order]) ** 2)

        value, slope = jax.value_and_grad(loss)(weights)
        return weights - 0.02 * slope, value

    weights, losses = lax.scan(step, jnp.zeros(UNITS), jnp.arange(2000))
    return losses[-100:].mean(), jnp.mean((INPUTS @ weights - TARGETS) ** 2)
