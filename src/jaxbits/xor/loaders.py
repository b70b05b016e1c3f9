"""Loaders over the XOR data, by PyTorch's: NumPy batches, in an order from seed and epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from torch.utils.data import DataLoader, Sampler

from jaxbits.xor.checks import whole_number
from jaxbits.xor.data import Batch, XorData, numpy_collate


class EpochBatches(Sampler[Any]):
    """Index arrays of one epoch's batches, in an order that depends on seed and epoch alone.

    So a training that is resumed at epoch 50 sees what it would have seen without the break.

    Args:
        size: how many samples there are.
        batch_size: how many indices a batch has; the last one, if shorter, is dropped or kept.
        seed: of the shuffling, or None to keep the order.
        drop_last: whether a last batch that is not full is left out.
        at_once: how many batches come in one array of indices, of shape (at_once, batch_size).
    """

    def __init__(
        self, size: int, batch_size: int, *, seed: int | None, drop_last: bool, at_once: int = 1
    ) -> None:
        whole_number("batch_size", batch_size, 1, size)
        whole_number("at_once", at_once, 1)
        self.size, self.batch_size, self.seed, self.drop_last = size, batch_size, seed, drop_last
        self.at_once, self.epoch = at_once, 0

    def __iter__(self) -> Iterator[npt.NDArray[np.int64]]:
        order = np.arange(self.size)
        if self.seed is not None:
            order = np.random.default_rng((self.seed, self.epoch)).permutation(self.size)
        full = self.size // self.batch_size
        batches = order[: full * self.batch_size].reshape(full, self.batch_size)
        for start in range(0, full, self.at_once):
            yield batches[start : start + self.at_once]
        if not self.drop_last and full * self.batch_size < self.size:
            yield order[None, full * self.batch_size :]


class Loader:
    """Batches from PyTorch's loader, which is asked for several of them at once.

    Each ``next`` of a `DataLoader` marks itself for PyTorch's profiler, which for small batches
    costs more than the data, and slows down the compiled step that follows. Here one ``next``
    fetches an array of batches, and they are handed out one by one.

    Attributes:
        epoch: decides the order, with the seed. It goes up by one with each pass, and may be set.
    """

    def __init__(self, data: XorData, batches: EpochBatches, workers: int) -> None:
        self.batches = batches
        self.fetching: DataLoader[Any] = DataLoader(
            data,  # type: ignore[arg-type] # a sequence will do
            batch_sampler=batches,
            collate_fn=numpy_collate,
            num_workers=workers,
            # Never forked: JAX runs threads, and a fork of such a process can hang.
            multiprocessing_context="spawn" if workers else None,
        )

    @property
    def epoch(self) -> int:
        """The epoch whose order comes next."""
        return self.batches.epoch

    @epoch.setter
    def epoch(self, number: int) -> None:
        self.batches.epoch = number

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        full, rest = divmod(self.batches.size, self.batches.batch_size)
        return full if self.batches.drop_last or not rest else full + 1

    def __iter__(self) -> Iterator[Batch]:
        try:
            for inputs, labels in self.fetching:
                yield from zip(inputs, labels, strict=True)
        finally:  # also when the pass is broken off
            self.epoch += 1


def train_loader(
    data: XorData, *, batch_size: int = 128, seed: int = 0, workers: int = 0, at_once: int = 32
) -> Loader:
    """Return a loader that shuffles and drops the last batch where it is not full.

    Every batch so has one shape, and the training step is compiled once.

    Args:
        data: the data set.
        batch_size: samples in a batch.
        seed: of the order; with ``loader.epoch`` it decides the order.
        workers: processes that fetch, started afresh for each epoch, never forked. A script that
            asks for them needs ``if __name__ == "__main__":`` around what it does.
        at_once: how many batches PyTorch's loader fetches in one go; 1 is its own way.

    Returns:
        A loader of pairs: inputs, float32 of shape (batch_size, 2), and labels, int32 of shape
        (batch_size,), both NumPy arrays.

    Raises:
        TypeError: when one of these is not a whole number.
        ValueError: when `batch_size` is below 1 or above the number of samples, or `at_once`
            below 1.

    >>> data = XorData(200, seed=42)
    >>> [inputs.shape for inputs, labels in train_loader(data, batch_size=128)]
    [(128, 2)]
    """
    batches = EpochBatches(len(data), batch_size, seed=seed, drop_last=True, at_once=at_once)
    return Loader(data, batches, workers)


def eval_loader(
    data: XorData, *, batch_size: int = 128, workers: int = 0, at_once: int = 32
) -> Loader:
    """Return a loader that keeps the order and every sample; the last batch may be shorter.

    Arguments and batches are those of `train_loader`, save for the seed.

    >>> [inputs.shape for inputs, labels in eval_loader(XorData(200, seed=42), batch_size=128)]
    [(128, 2), (72, 2)]
    """
    batch_size = min(batch_size, len(data))
    batches = EpochBatches(len(data), batch_size, seed=None, drop_last=False, at_once=at_once)
    return Loader(data, batches, workers)
