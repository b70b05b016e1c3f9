"""Data sets and loops of the chapter on data loading, in NumPy: a worker imports no JAX for them.

They stand in a module because a spawned worker has to find them by name.
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
    """Small grey pictures and their labels, made from a seed.

    Args:
        size: how many pictures.
        seed: of NumPy's generator.
        wait: seconds that reading one picture waits, as for a disk or a network.
        work: how often a picture is sorted before it is returned, as for an expensive decoding.

    Attributes:
        images: uint8 of shape (size, 28, 28).
        labels: int64 of shape (size,), 0 to 9.

    >>> pictures = RandomImages(3)
    >>> pictures[0][0].shape, pictures[0][0].dtype, len(pictures)
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
        """Return a picture and its label."""
        if self.wait:
            time.sleep(self.wait)
        for _ in range(self.work):
            np.sort(self.images[i], axis=None)
        return self.images[i], self.labels[i]


def aligned_zeros(shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Return zeros that begin at a multiple of 64 bytes, which JAX may share on a CPU.

    >>> aligned_zeros((2, 3)).ctypes.data % 64
    0
    """
    size = 4 * int(np.prod(shape))
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(np.float32).reshape(shape)


_END = object()


def prefetch(batches: Iterable[Batch], size: int = 2) -> Iterator[Batch]:
    """Yield batches that a thread loads ahead, while whoever takes them computes.

    The thread starts when the first batch is asked for. An error of the loading is raised where the
    batch would have been handed over. When the caller breaks off, or raises, the thread ends with
    the batch that it is loading.

    Args:
        batches: anything that can be iterated over.
        size: how many batches may wait; one more is being loaded.

    Raises:
        ValueError: when `size` is below 1.

    >>> list(prefetch(range(3)))
    [0, 1, 2]
    """
    if size < 1:
        raise ValueError(f"size={size}: should be at least 1")
    return _handed_over(batches, size)


def _handed_over(batches: Iterable[Batch], size: int) -> Iterator[Batch]:
    waiting: queue.Queue[Any] = queue.Queue(size)
    over = threading.Event()

    def put(item: Any) -> None:
        while not over.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put(item, timeout=0.1)
                return

    def load() -> None:
        try:
            for batch in batches:
                put((batch, None))
                if over.is_set():
                    return
            put((_END, None))
        except BaseException as error:  # whoever waits must hear of it, whatever it is
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
        over.set()
