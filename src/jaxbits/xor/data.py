"""The XOR data set, in NumPy alone: workers of a data loader import nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from jaxbits.xor.checks import whole_number

Batch = tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]
"""Inputs of shape (batch, 2) and labels of shape (batch,)."""


class XorData:
    """Noisy points at the corners of the unit square; a label is the XOR of the corner's two bits.

    Args:
        size: how many points.
        seed: of NumPy's generator; the same seed gives the same points.
        std: standard deviation of the noise on each coordinate.

    Attributes:
        inputs: float32 of shape (size, 2).
        labels: int32 of shape (size,), 0 or 1.

    Raises:
        TypeError: when `size` or `seed` is not a whole number.
        ValueError: when `size` is below 1, `seed` negative, or `std` negative or not finite.

    >>> data = XorData(200, seed=42)
    >>> len(data), data.inputs.shape, data.labels.dtype
    (200, (200, 2), dtype('int32'))
    >>> XorData(0, seed=1)
    Traceback (most recent call last):
    ValueError: size=0: should be at least 1
    """

    def __init__(self, size: int, *, seed: int, std: float = 0.1) -> None:
        whole_number("size", size, 1)
        whole_number("seed", seed, 0)
        if not (math.isfinite(std) and std >= 0):
            raise ValueError(f"std={std}: should be a number of at least 0")
        rng = np.random.default_rng(seed)
        bits = rng.integers(0, 2, size=(size, 2))
        noise = rng.normal(0.0, std, size=(size, 2))
        self.inputs: npt.NDArray[np.float32] = (bits + noise).astype(np.float32)
        self.labels: npt.NDArray[np.int32] = (bits[:, 0] ^ bits[:, 1]).astype(np.int32)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: Any) -> Batch:
        """Return a point and its label; an array of indices gives a whole batch at once."""
        return self.inputs[i], self.labels[i]

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Return a whole batch at once: PyTorch's loader asks for this where it is there.

        The loader's default asks for one point at a time and stacks them, which takes most of the
        time for data as small as this.
        """
        return self[np.asarray(indices)]


def numpy_collate(batch: Any) -> Any:
    """Make a batch of NumPy arrays, where PyTorch's default makes one of its tensors.

    Args:
        batch: a list of samples, each an array, a number, or a tuple, list or dict of them; or a
            batch that the data set made in one go (a tuple of arrays), which is returned as it is.

    Returns:
        The samples stacked, in the same structure: tuples stay tuples, since a list in place of a
        tuple is another pytree and would be traced again.

    Raises:
        TypeError: naming the type, when a sample is something else.
        ValueError: when there is no sample.

    >>> numpy_collate([(np.zeros(2), 1), (np.ones(2), 0)])[1]
    array([1, 0])
    """
    if isinstance(batch, tuple) and all(isinstance(part, np.ndarray) for part in batch):
        return batch
    if not len(batch):
        raise ValueError("numpy_collate(batch=[]): should hold at least one sample")
    first = batch[0]
    if isinstance(first, np.ndarray | np.generic | int | float):
        return np.stack([np.asarray(sample) for sample in batch])
    if isinstance(first, tuple | list):
        parts = [numpy_collate(list(part)) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if isinstance(first, dict):
        return {key: numpy_collate([sample[key] for sample in batch]) for key in first}
    raise TypeError(f"numpy_collate cannot stack samples of type {type(first).__name__}")
