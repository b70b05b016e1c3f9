"""Faster versions of the loader, the step, and the training loop.

`faster_loader` fetches many batches at once, `donating_train_step` reuses the memory of the old
state, and `train_on_device` executes a whole training run as one compiled program.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import torch
from flax.training.train_state import TrainState
from jax import lax
from torch.utils.data import DataLoader, Dataset, Sampler

from jaxbits.xor._arguments import check_int
from jaxbits.xor.data import XorData
from jaxbits.xor.training import train_step
from jaxbits.xor.variants.shuffle import shuffled

donating_train_step = jax.jit(inspect.unwrap(train_step), donate_argnums=0)
"""`train_step`, compiled so that JAX writes the new state into the memory of the old one.

JAX deletes the old state, so copy the initial state if you need it again:
``jax.tree.map(jnp.copy, state)``.
"""


class WholeBatches(Dataset):  # type: ignore[type-arg]
    """A dataset from which PyTorch's loader fetches whole batches.

    The loader calls `__getitems__` if the dataset has this method. Otherwise, it fetches the
    samples one by one, and the collate function stacks them. With this small dataset, that takes
    longer than a training step.

    Args:
        data: The dataset to index, which must accept an array of indices.

    >>> WholeBatches(XorData(200, seed=42)).__getitems__([3, 1, 2])[0].shape
    (3, 2)
    """

    def __init__(self, data: XorData) -> None:
        self.data = data

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.data)

    def __getitem__(self, i: Any) -> tuple[Any, Any]:
        """Return one sample."""
        return self.data[i]

    def __getitems__(self, indices: Sequence[int] | npt.NDArray[np.int64]) -> tuple[Any, Any]:
        """Return a batch by indexing the inputs once and the labels once."""
        return self.data[np.asarray(indices)]


class _ShuffledBatches(Sampler):  # type: ignore[type-arg]
    """A sampler that yields indices in RandomSampler's order, as int64[at_once, batch_size]."""

    def __init__(
        self, size: int, batch_size: int, at_once: int, generator: torch.Generator
    ) -> None:
        self.size, self.batch_size, self.at_once = size, batch_size, at_once
        self.generator = generator

    def __iter__(self) -> Iterator[npt.NDArray[np.int64]]:
        order = torch.randperm(self.size, generator=self.generator).numpy()
        full = self.size // self.batch_size
        batches = order[: full * self.batch_size].reshape(full, self.batch_size)
        for start in range(0, full, self.at_once):
            yield batches[start : start + self.at_once]


def _identity(batch: Any) -> Any:
    return batch


class FasterLoader:
    """A loader with the same batches as `train_loader`, in the same order, but fetched in bulk.

    This loader fetches several batches with one call to `next` on a DataLoader, and then yields
    them one by one. Every such call records an event for PyTorch's profiler, which takes longer
    than fetching a batch of small samples:
    https://github.com/pytorch/pytorch/blob/v2.6.0/torch/utils/data/dataloader.py

    Attributes:
        generator: The generator that determines the order. `train` seeds it before each epoch.
    """

    def __init__(self, data: XorData, batch_size: int, at_once: int) -> None:
        self.generator = torch.Generator()
        self._batches = _ShuffledBatches(len(data), batch_size, at_once, self.generator)
        self._fetching = DataLoader(
            WholeBatches(data),
            batch_sampler=self._batches,
            collate_fn=_identity,
            # The DataLoader draws a seed from the generator before each epoch. The DataLoader in
            # `train_loader` does the same, and both must leave the generator in the same state.
            generator=self.generator,
        )

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return self._batches.size // self._batches.batch_size

    def __iter__(self) -> Iterator[tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]]:
        for inputs, labels in self._fetching:
            yield from zip(inputs, labels, strict=True)


def faster_loader(data: XorData, batch_size: int = 128, at_once: int = 32) -> FasterLoader:
    """Return a loader that yields the same batches as `train_loader`, but in less time.

    Args:
        data: The dataset to train on.
        batch_size: The number of samples in a batch.
        at_once: The number of batches that PyTorch's loader fetches at a time.

    Returns:
        A loader that `train` accepts.

    Raises:
        TypeError: If `batch_size` or `at_once` is not a whole number.
        ValueError: If `batch_size` is below 1 or above the number of samples, or if `at_once` is
            below 1.

    >>> loader = faster_loader(XorData(300, seed=42), batch_size=128)
    >>> [inputs.shape for inputs, labels in loader]
    [(128, 2), (128, 2)]
    """
    check_int("batch_size", batch_size, at_least=1, at_most=len(data))
    check_int("at_once", at_once, at_least=1)
    return FasterLoader(data, batch_size, at_once)


def train_on_device(
    state: TrainState, data: XorData, epochs: int, batch_size: int = 128, seed: int = 0
) -> tuple[TrainState, npt.NDArray[np.float32]]:
    """Train in one compiled program, which scans over epochs and over the batches of each epoch.

    This function moves the data to the device once, and `shuffled` shuffles it there in each
    epoch. As in `train_loader`, samples that do not fill the last batch are dropped.

    Args:
        state: The state to start from. It is not changed.
        data: The dataset to train on.
        epochs: The number of epochs. JAX compiles a new program for each new number.
        batch_size: The number of samples in a batch.
        seed: The seed for shuffling the samples.

    Returns:
        The state after the last epoch, and the history as float32[epochs, 2]. Each row of the
        history contains the loss and the accuracy of one epoch, averaged over its batches.

    Raises:
        TypeError: If `epochs`, `batch_size`, or `seed` is not a whole number.
        ValueError: If `epochs` is below 1, or if `batch_size` is below 1 or above the number of
            samples.

    >>> import optax
    >>> from jaxbits.xor import Classifier, create_state
    >>> state = create_state(0, Classifier(), optax.sgd(0.1))
    >>> state, history = train_on_device(state, XorData(2500, seed=42), epochs=100)
    >>> bool(history[-1, 1] > 0.99)
    True
    """
    check_int("epochs", epochs, at_least=1)
    check_int("batch_size", batch_size, at_least=1, at_most=len(data))
    check_int("seed", seed)
    state, history = _train_epochs(
        state, data.inputs, data.labels, jax.random.key(seed), epochs, batch_size
    )
    return state, np.asarray(history)


@functools.partial(jax.jit, static_argnames=("epochs", "batch_size"))
def _train_epochs(
    state: TrainState,
    inputs: jax.Array,
    labels: jax.Array,
    key: jax.Array,
    epochs: int,
    batch_size: int,
) -> tuple[TrainState, jax.Array]:
    size = len(labels) // batch_size * batch_size

    def one_batch(state: TrainState, rows: jax.Array) -> tuple[TrainState, jax.Array]:
        state, metrics = train_step(state, inputs[rows], labels[rows])
        return state, jnp.stack(metrics)

    def one_epoch(state: TrainState, key: jax.Array) -> tuple[TrainState, jax.Array]:
        order = shuffled(key, len(labels))[:size].reshape(-1, batch_size)
        state, metrics = lax.scan(one_batch, state, order)
        return state, metrics.mean(axis=0)

    return lax.scan(one_epoch, state, jax.random.split(key, epochs))
