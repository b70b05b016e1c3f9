"""Datasets and a prefetching loop, written without JAX, for the chapter on data loading.

Spawned workers import this module to unpickle its classes, so it must not import JAX.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Batch = TypeVar("Batch")


class RandomImages:
    """A dataset of small random grayscale images and their labels.

    Args:
        size: The number of images.
        seed: The seed for NumPy's random generator.
        wait: How many seconds to wait before returning an image, to simulate a disk or a network.
        work: How many times to sort an image before returning it, to simulate slow decoding.

    Attributes:
        images: The images, uint8[size, 28, 28].
        labels: The labels from 0 to 9, int64[size].

    >>> data = RandomImages(3)
    >>> data[0][0].shape, data[0][0].dtype, len(data)
    ((28, 28), dtype('uint8'), 3)
    """

    def __init__(self, size: int, *, seed: int = 0, wait: float = 0.0, work: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.images: npt.NDArray[np.uint8] = rng.integers(0, 256, (size, 28, 28), np.uint8)
        self.labels: npt.NDArray[np.int64] = rng.integers(0, 10, size)
        self.wait, self.work = wait, work

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int) -> tuple[npt.NDArray[np.uint8], np.int64]:
        """Return an image and its label."""
        if self.wait:
            time.sleep(self.wait)
        for _ in range(self.work):
            np.sort(self.images[i], axis=None)
        return self.images[i], self.labels[i]


class RandomCrops:
    """A dataset whose samples are random positions, drawn from a generator in the dataset.

    Each sample is the position, from 0 to 99, at which a random crop would start. If a loader has
    worker processes, each of them gets a copy of the generator.

    Args:
        size: The number of samples.

    Attributes:
        rng: The generator, created with the seed 0.

    >>> crops = RandomCrops(8)
    >>> [crops[i] for i in range(3)]
    [85, 63, 51]
    """

    def __init__(self, size: int) -> None:
        self.rng = np.random.default_rng(0)
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: int) -> int:
        """Return the next random position, whatever the index."""
        return int(self.rng.integers(100))


def aligned_zeros(shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Return a float32 array of zeros that is 64-byte-aligned, so that JAX can share its memory.

    >>> aligned_zeros((2, 3)).ctypes.data % 64
    0
    """
    size = 4 * int(np.prod(shape))
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(np.float32).reshape(shape)


_END = object()


def prefetch(batches: Iterable[Batch], size: int = 2) -> Iterator[Batch]:
    """Yield batches that a background thread loads in advance.

    The thread starts when the caller requests the first batch. If loading a batch fails, the
    generator raises the error instead of yielding the batch. If the caller leaves the loop early,
    the thread stops once it has loaded its current batch.

    Args:
        batches: An iterable of batches of any type.
        size: The maximum number of loaded batches in the queue. The thread may hold one more.

    Raises:
        ValueError: If `size` is below 1.

    >>> list(prefetch(range(3)))
    [0, 1, 2]
    """
    # Check here, because a generator does not run until the caller requests the first batch.
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    return _prefetch(batches, size)


def _prefetch(batches: Iterable[Batch], size: int) -> Iterator[Batch]:
    waiting: queue.Queue[Any] = queue.Queue(size)
    stopped = threading.Event()

    def put(item: Any) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put(item, timeout=0.1)
                return

    def load() -> None:
        try:
            for batch in batches:
                put((batch, None))
                if stopped.is_set():
                    return
            put((_END, None))
        except BaseException as error:  # Without this, the caller would wait forever.
            put((_END, error))

    threading.Thread(target=load, daemon=True).start()
    try:
        while True:
            batch, error = waiting.get()
            if error is not None:
                raise error
            if batch is _END:
                return
            yield batch
    finally:
        stopped.set()
