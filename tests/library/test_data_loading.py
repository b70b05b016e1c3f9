"""Test the image generator, aligned buffers, and `prefetch` from the chapter on data loading."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from jaxbits.book.data_loading import RandomImages, aligned_zeros, prefetch


def running_threads() -> set[threading.Thread]:
    return set(threading.enumerate())


def new_threads_end(before: set[threading.Thread], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while running_threads() - before:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def count_forever() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def test_random_images_depend_only_on_seed() -> None:
    first, second, third = RandomImages(4), RandomImages(4), RandomImages(4, seed=1)
    assert np.array_equal(first.images, second.images)
    assert not np.array_equal(first.images, third.images)
    image, label = first[2]
    assert image.shape == (28, 28)
    assert image.dtype == np.uint8
    assert label.dtype == np.int64


def test_random_images_ignore_wait_and_work() -> None:
    slow = RandomImages(2, wait=0.02, work=2)
    start = time.perf_counter()
    image, _ = slow[1]
    assert time.perf_counter() - start >= 0.02
    assert np.array_equal(image, RandomImages(2).images[1])


@pytest.mark.parametrize("shape", [(1,), (3, 5), ()])
def test_aligned_zeros_returns_aligned_float32_zeros(shape: tuple[int, ...]) -> None:
    buffer = aligned_zeros(shape)
    assert buffer.shape == shape
    assert buffer.dtype == np.float32
    assert buffer.ctypes.data % 64 == 0
    assert not buffer.any()


def test_data_loading_module_does_not_import_jax() -> None:
    program = "import sys; sys.modules['jax'] = None; import jaxbits.book.data_loading"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("size", [1, 3])
def test_prefetch_yields_batches_in_order_and_ends_thread(count: int, size: int) -> None:
    before = running_threads()
    assert list(prefetch(range(count), size)) == list(range(count))
    assert new_threads_end(before)


def test_prefetch_rejects_size_below_1_immediately() -> None:
    with pytest.raises(ValueError, match="size must be at least 1, got 0"):
        prefetch(range(3), 0)


def test_prefetch_loads_at_most_size_plus_1_batches_ahead() -> None:
    loaded: list[int] = []

    def record_loads() -> Iterator[int]:
        for number in range(20):
            loaded.append(number)
            yield number

    batches = prefetch(record_loads(), 2)
    next(batches)
    time.sleep(0.3)
    assert len(loaded) == 4  # One was yielded, two are queued, and the thread holds one.
    assert list(batches) == list(range(1, 20))


def test_prefetch_ends_thread_after_break() -> None:
    before = running_threads()
    for batch in prefetch(count_forever()):
        if batch == 3:
            break
    assert new_threads_end(before)


def test_prefetch_ends_thread_after_error_in_loop() -> None:
    before = running_threads()

    def loop() -> None:
        for batch in prefetch(count_forever()):
            1 / (3 - batch)

    with pytest.raises(ZeroDivisionError):
        loop()
    assert new_threads_end(before)


def test_prefetch_starts_no_thread_before_first_batch() -> None:
    before = running_threads()
    batches = prefetch(count_forever())
    assert running_threads() == before
    del batches


@pytest.mark.parametrize("error", [KeyError("lost"), SystemExit(3)])
def test_prefetch_raises_loading_error_after_earlier_batches(error: BaseException) -> None:
    def raise_after_first() -> Iterator[int]:
        yield 0
        raise error

    before = running_threads()
    yielded: list[int] = []
    with pytest.raises(type(error)):
        yielded.extend(prefetch(raise_after_first()))
    assert yielded == [0]
    assert new_threads_end(before)
