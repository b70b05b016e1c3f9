"""Recognize arrays that `jax.vmap` repeats for each row of a batch."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any


class RepeatedArrays:
    """The arrays of a program that repeat another array along new axes."""

    def __init__(self) -> None:
        self._originals: dict[Hashable, tuple[Hashable, set[int]]] = {}

    def record(self, equation: Any, array: Hashable, result: Hashable) -> None:
        """Record what the result of an equation repeats, if it only has more axes.

        Args:
            equation: A `broadcast_in_dim`.
            array: The value number of its operand.
            result: The value number of its result.
        """
        kept = [int(axis) for axis in equation.params["broadcast_dimensions"]]
        shape, old_shape = equation.outvars[0].aval.shape, equation.invars[0].aval.shape
        if old_shape and tuple(shape[axis] for axis in kept) == old_shape:
            original, axes = self._originals.get(array, (array, set()))
            new = set(range(len(shape))) - set(kept)
            self._originals[result] = original, new | {kept[axis] for axis in axes}

    def arrays_written_to(self, scatter: Any, array: Hashable) -> Iterator[Hashable]:
        """Yield the array that a scatter writes to, and the one that `jax.vmap` repeats to get it.

        The indices have the same meaning for both arrays.

        Args:
            scatter: The equation.
            array: The value number of its array.
        """
        yield array
        if array in self._originals:
            original, axes = self._originals[array]
            if axes <= set(scatter.params["dimension_numbers"].operand_batching_dims):
                yield original
