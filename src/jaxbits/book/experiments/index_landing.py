"""Determine by experiment which cells of an array an index reads or writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LENGTH = 10
"""The length of the array. The value of each element is its own index."""


@dataclass(frozen=True)
class AccessResult:
    """The cells that an index reads or writes, or none if JAX fills the read or drops the write."""

    index: int
    cells: tuple[int, ...]


def read_cells(read: Callable[[jax.Array, int], jax.Array], index: int) -> AccessResult:
    """Return which cell of a ten-element array is read at an index, if any.

    Args:
        read: A function that reads an array at an index.
        index: The index to read, which may be out of bounds.

    >>> read_cells(lambda x, i: x[i], 11).cells, read_cells(jnp.take, 11).cells
    ((9,), ())
    """
    value = float(read(jnp.arange(float(LENGTH)), index))
    return AccessResult(index, () if np.isnan(value) else (int(value),))


def written_cells(index: int) -> AccessResult:
    """Return which cell of a ten-element array ``.at[index].set`` changes, if any.

    >>> written_cells(-1).cells, written_cells(11).cells
    ((9,), ())
    """
    changed = jnp.zeros(LENGTH).at[index].set(1.0)
    return AccessResult(index, tuple(int(i) for i in np.flatnonzero(changed)))


def sliced_cells(start: int, size: int) -> AccessResult:
    """Return which cells of a ten-element array `lax.dynamic_slice` reads.

    Args:
        start: The index of the first cell to read, which may be out of bounds.
        size: The number of cells to read.

    >>> sliced_cells(8, 4).cells
    (6, 7, 8, 9)
    """
    read = lax.dynamic_slice(jnp.arange(LENGTH), (start,), (size,))
    return AccessResult(start, tuple(int(i) for i in read))
