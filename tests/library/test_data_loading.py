"""What the chapter on data loading takes from the library: pictures, buffers, a thread ahead."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from jaxbits.book.data_loading import RandomImages, aligned_zeros, prefetch


def others() -> set[threading.Thread]:
    return set(threading.enumerate())


def ended(before: set[threading.Thread], seconds: float = 5.0) -> bool:
    limit = time.monotonic() + seconds
    while others() - before:
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def endless() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def test_random_images_depend_only_on_the_seed() -> None:
    one, other, third = RandomImages(4), RandomImages(4), RandomImages(4, seed=1)
    assert np.array_equal(one.images, other.images)
    assert not np.array_equal(one.images, third.images)
    image, label = one[2]
    assert image.shape == (28, 28)
    assert image.dtype == np.uint8
    assert label.dtype == np.int64


def test_wait_and_work_do_not_change_the_images() -> None:
    slow = RandomImages(2, wait=0.02, work=2)
    began = time.perf_counter()
    image, _ = slow[1]
    assert time.perf_counter() - began >= 0.02
    assert np.array_equal(image, RandomImages(2).images[1])


@pytest.mark.parametrize("shape", [(1,), (3, 5), ()])
def test_aligned_zeros(shape: tuple[int, ...]) -> None:
    buffer = aligned_zeros(shape)
    assert buffer.shape == shape
    assert buffer.dtype == np.float32
    assert buffer.ctypes.data % 64 == 0
    assert not buffer.any()


def test_the_module_imports_no_jax() -> None:
    program = "import sys; sys.modules['jax'] = None; import jaxbits.book.data_loading"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("size", [1, 3])
def test_prefetch_yields_all_batches_in_order_and_ends_its_thread(count: int, size: int) -> None:
    before = others()
    assert list(prefetch(range(count), size)) == list(range(count))
    assert ended(before)


def test_prefetch_rejects_a_size_below_one_immediately() -> None:
    with pytest.raises(ValueError, match="size must be at least 1, got 0"):
        prefetch(range(3), 0)


def test_prefetch_loads_at_most_size_plus_one_batches() -> None:
    read: list[int] = []

    def logged() -> Iterator[int]:
        for number in range(20):
            read.append(number)
            yield number

    batches = prefetch(logged(), 2)
    next(batches)
    time.sleep(0.3)
    assert len(read) == 4  # One was yielded, two wait, and the thread holds one.
    assert list(batches) == list(range(1, 20))


def test_the_thread_ends_after_a_break() -> None:
    before = others()
    for batch in prefetch(endless()):
        if batch == 3:
            break
    assert ended(before)


def test_the_thread_ends_after_an_error_in_the_loop() -> None:
    before = others()

    def loop() -> None:
        for batch in prefetch(endless()):
            1 / (3 - batch)

    with pytest.raises(ZeroDivisionError):
        loop()
    assert ended(before)


def test_prefetch_starts_no_thread_before_the_first_batch() -> None:
    before = others()
    batches = prefetch(endless())
    assert others() == before
    del batches


@pytest.mark.parametrize("error", [KeyError("lost"), SystemExit(3)])
def test_a_loading_error_is_raised_after_the_earlier_batches(error: BaseException) -> None:
    def fails() -> Iterator[int]:
        yield 0
        raise error

    before = others()
    seen: list[int] = []
    with pytest.raises(type(error)):
        seen.extend(prefetch(fails()))
    assert seen == [0]
    assert ended(before)
