"""A permutation computed without sorting, a cheap way to shuffle inside a compiled program."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits.xor._arguments import check_int

ROUNDS = 6


def shuffled(key: jax.Array, size: int) -> jax.Array:
    """Return the numbers from 0 to size - 1 in a pseudorandom order.

    `jax.random.permutation` sorts random numbers, which on a CPU takes longer than all the training
    steps of an epoch with small batches. This function instead computes each position independently
    with a Feistel network (Luby and Rackoff, 1988) over the cells of a nearly square grid, which
    has `size` cells or a few more. It applies the network again to every number that is too large,
    until all numbers are below `size`.

    Use this function to shuffle data, but not for permutation statistics or cryptography.

    Args:
        key: A key from `jax.random.key`.
        size: How many numbers to return, as a Python integer from 1 to 2**30.

    Returns:
        The permutation, as int32[size].

    Raises:
        TypeError: If `size` is not a whole number.
        ValueError: If `size` is out of range.

    >>> sorted(shuffled(jax.random.key(0), 10).tolist()) == list(range(10))
    True
    """
    check_int("size", size, at_least=1, at_most=2**30)
    rows = int(np.ceil(np.sqrt(size)))
    columns = -(-size // rows)
    keys = jax.random.bits(key, (ROUNDS,), dtype=jnp.uint32)

    def once(i: jax.Array) -> jax.Array:
        row, column = i // columns, i % columns
        for n in range(ROUNDS):
            if n % 2:
                column = (column + _hash(row, keys[n], columns)) % columns
            else:
                row = (row + _hash(column, keys[n], rows)) % rows
        return row * columns + column

    landed = once(jnp.arange(size, dtype=jnp.int32))
    if rows * columns == size:
        return landed
    return lax.while_loop(
        lambda i: jnp.any(i >= size), lambda i: jnp.where(i >= size, once(i), i), landed
    )


def _hash(x: jax.Array, key: jax.Array, below: int) -> jax.Array:
    """Hash `x` with multiplications and shifts, and return an int32 smaller than `below`."""
    h = x.astype(jnp.uint32) * np.uint32(2654435761) ^ key
    h = (h ^ (h >> 15)) * np.uint32(2246822519)
    return ((h ^ (h >> 13)) % np.uint32(below)).astype(jnp.int32)
