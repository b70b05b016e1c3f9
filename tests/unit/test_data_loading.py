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


def test_the_same_seed_gives_the_same_pictures() -> None:
    one, other, third = RandomImages(4), RandomImages(4), RandomImages(4, seed=1)
    assert np.array_equal(one.images, other.images)
    assert not np.array_equal(one.images, third.images)
    image, label = one[2]
    assert image.shape == (28, 28)
    assert image.dtype == np.uint8
    assert label.dtype == np.int64


def test_reading_waits_and_works_without_changing_anything() -> None:
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


def test_the_module_needs_no_jax() -> None:
    program = "import sys; sys.modules['jax'] = None; import jaxbits.book.data_loading"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("size", [1, 3])
def test_ahead_yields_all_in_order_and_its_thread_ends(count: int, size: int) -> None:
    before = others()
    assert list(prefetch(range(count), size)) == list(range(count))
    assert ended(before)


def test_a_size_below_one_is_refused_at_the_call() -> None:
    with pytest.raises(ValueError, match="size=0"):
        prefetch(range(3), 0)


def test_no_more_than_size_and_one_are_read_ahead() -> None:
    read: list[int] = []

    def logged() -> Iterator[int]:
        for number in range(20):
            read.append(number)
            yield number

    batches = prefetch(logged(), 2)
    next(batches)
    time.sleep(0.3)
    assert len(read) == 4  # one handed over, two that wait, one in the thread's hand
    assert list(batches) == list(range(1, 20))


def test_the_thread_ends_when_the_loop_breaks_off() -> None:
    before = others()
    for batch in prefetch(endless()):
        if batch == 3:
            break
    assert ended(before)


def test_the_thread_ends_when_the_loop_raises() -> None:
    before = others()

    def loop() -> None:
        for batch in prefetch(endless()):
            1 / (3 - batch)

    with pytest.raises(ZeroDivisionError):
        loop()
    assert ended(before)


def test_there_is_no_thread_before_the_first_batch() -> None:
    before = others()
    batches = prefetch(endless())
    assert others() == before
    del batches


@pytest.mark.parametrize("error", [KeyError("lost"), SystemExit(3)])
def test_an_error_of_the_loading_arrives_after_the_batches_before_it(error: BaseException) -> None:
    def fails() -> Iterator[int]:
        yield 0
        raise error

    before = others()
    seen: list[int] = []
    with pytest.raises(type(error)):
        seen.extend(prefetch(fails()))
    assert seen == [0]
    assert ended(before)
