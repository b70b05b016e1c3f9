"""The XOR dataset and its loaders.

This module does not import JAX, because every worker process of a loader imports this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader, Dataset

from jaxbits.xor._arguments import check_int, check_nonnegative, check_not_empty


class XorData(Dataset):  # type: ignore[type-arg] # as in the chapter
    """Noisy points around the corners of the unit square, each labeled with its corner's XOR.

    Args:
        size: The number of points.
        seed: The seed of NumPy's generator. The same seed gives the same points.
        std: The standard deviation of the noise that is added to each coordinate.

    Attributes:
        inputs: The points, as float32[size, 2].
        labels: The labels, 0 or 1, as int32[size].

    Raises:
        TypeError: If `size` or `seed` is not a whole number, or if `std` is not a number.
        ValueError: If `size` is below 1, or if `seed` or `std` is negative.

    >>> data = XorData(200, seed=42)
    >>> len(data), data.inputs.shape, data.labels.dtype
    (200, (200, 2), dtype('int32'))
    >>> XorData(0, seed=1)
    Traceback (most recent call last):
    ValueError: size must be at least 1, got 0
    """

    def __init__(self, size: int, seed: int, std: float = 0.1) -> None:
        check_int("size", size, at_least=1)
        check_int("seed", seed, at_least=0)
        check_nonnegative("std", std)
        rng = np.random.default_rng(seed)
        bits = rng.integers(0, 2, size=(size, 2))
        noise = rng.normal(0.0, std, size=(size, 2))
        self.inputs: npt.NDArray[np.float32] = (bits + noise).astype(np.float32)
        self.labels: npt.NDArray[np.int32] = (bits[:, 0] ^ bits[:, 1]).astype(np.int32)

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.labels)

    def __getitem__(self, i: Any) -> tuple[Any, Any]:
        """Return a point, float32[2], and its label, or several of each for a slice or an array."""
        return self.inputs[i], self.labels[i]


def numpy_collate(
    samples: Sequence[tuple[Any, Any]],
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Stack samples into a batch of NumPy arrays.

    PyTorch's default collate function returns a list of PyTorch tensors instead. This function
    returns a tuple, because `jax.jit` treats a list and a tuple as different structures.

    Args:
        samples: Pairs (inputs, label). All inputs must have the same shape.

    Returns:
        The stacked inputs and the stacked labels, each with a leading batch axis.

    Raises:
        ValueError: If there are no samples, or if a sample is not a pair.

    >>> inputs, labels = numpy_collate([(np.zeros(2), 1), (np.ones(2), 0)])
    >>> inputs.shape, labels
    ((2, 2), array([1, 0]))
    """
    check_not_empty("samples", samples)
    inputs, labels = zip(*samples, strict=True)
    return np.stack(inputs), np.stack(labels)


def train_loader(data: XorData, batch_size: int = 128) -> DataLoader[Any]:
    """Return a loader that shuffles the data and drops the last batch if it is not full.

    Every batch therefore has the same shape, and JAX compiles the training step only once.

    Args:
        data: The dataset to draw batches from.
        batch_size: The number of samples in a batch.

    Returns:
        A DataLoader that yields batches (inputs, labels) of float32[batch_size, 2] and
        int32[batch_size]. Its `generator` determines the order, and `train` seeds the generator
        before each epoch.

    Raises:
        TypeError: If `batch_size` is not a whole number.
        ValueError: If `batch_size` is below 1 or above the number of samples.

    >>> loader = train_loader(XorData(200, seed=42), batch_size=128)
    >>> [inputs.shape for inputs, labels in loader]
    [(128, 2)]
    """
    check_int("batch_size", batch_size, at_least=1, at_most=len(data))
    return DataLoader(
        data,
        batch_size,
        shuffle=True,
        drop_last=True,
        collate_fn=numpy_collate,
        generator=torch.Generator(),
    )


def eval_loader(data: XorData, batch_size: int = 128) -> DataLoader[Any]:
    """Return a loader that yields every sample in order. The last batch may be smaller.

    Args:
        data: The dataset to iterate over.
        batch_size: The number of samples in a batch.

    Returns:
        A DataLoader that yields batches (inputs, labels) of float32[batch, 2] and int32[batch].

    Raises:
        TypeError: If `batch_size` is not a whole number.
        ValueError: If `batch_size` is below 1.

    >>> loader = eval_loader(XorData(200, seed=42), batch_size=128)
    >>> [inputs.shape for inputs, labels in loader]
    [(128, 2), (72, 2)]
    """
    check_int("batch_size", batch_size, at_least=1)
    return DataLoader(data, batch_size, collate_fn=numpy_collate)
