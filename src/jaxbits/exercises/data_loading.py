"""The exercises of chapter 17, data loading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call
from jaxbits.loading import aligned


def filled(batch: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """Return the batch padded to `size` rows, and a mask of the rows that are real."""
    raise NotImplementedError


def solve_filled(batch: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """Pad the first axis of each array, and of a mask of True, which so ends in False."""
    mask = np.ones(len(batch[0]), bool)

    def pad(array: Any) -> Any:
        missing = [(0, size - len(array))] + [(0, 0)] * (array.ndim - 1)
        return np.pad(array, missing)

    return tuple(pad(array) for array in (*batch, mask))


def verify_filled(answer: Callable[..., Any]) -> None:
    """Ask for short batches and full ones, of one to three arrays, with zeros that are real."""
    images = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    images[1] = 0
    labels = np.array([0, 4, 0], np.int32)
    weights = np.array([0.5, 0.0, 2.0], np.float32)
    pair = {"images": images, "labels": labels}
    three = {**pair, "weights": weights}
    asked: list[tuple[dict[str, Any], int]] = [
        (pair, 3), (pair, 5), ({"images": images}, 4), (three, 4)
    ]  # fmt: skip
    for named, size in asked:
        for rows in (3, 2, 1):
            batch = tuple(array[:rows] for array in named.values())
            kept = tuple(array.copy() for array in batch)
            told = call(answer, batch, size)
            _rows_are(told, dict(zip(named, kept, strict=True)), size)
            if not all(np.array_equal(a, b) for a, b in zip(batch, kept, strict=True)):
                raise NotYet("the batch that it was given has changed")


def _rows_are(told: Any, batch: dict[str, Any], size: int) -> None:
    rows = len(batch["images"])
    how = f"for a batch of {rows} rows and size {size}"
    if not isinstance(told, tuple) or len(told) != len(batch) + 1:
        what = f"{len(told)} things" if isinstance(told, tuple) else type(told).__name__
        raise NotYet(f"{how} it should return a tuple: {', '.join(batch)} and a mask, was {what}")
    for seen, (name, given) in zip(told, batch.items(), strict=False):
        if np.shape(seen) != (size, *given.shape[1:]):
            raise NotYet(
                f"{how} the {name} have the shape {np.shape(seen)}, "
                f"should be {(size, *given.shape[1:])}"
            )
        if not isinstance(seen, np.ndarray) or seen.dtype != given.dtype:
            kind = getattr(seen, "dtype", type(seen).__name__)
            where = "NumPy's" if isinstance(seen, np.ndarray) else type(seen).__name__
            raise NotYet(f"{how} the {name} are {where} {kind}, should be NumPy's {given.dtype}")
        if not np.array_equal(seen[:rows], given) or seen[rows:].any():
            raise NotYet(f"{how} the {name} should be those of the batch, and zeros after them")
    mask, expected = told[-1], np.arange(size) < rows
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (size,):
        raise NotYet(f"{how} the mask should be {size} booleans of NumPy, was {mask!r}")
    if not np.array_equal(mask, expected):
        raise NotYet(
            f"{how} the mask is {mask.tolist()}, should be {expected.tolist()}: "
            "a label of 0 is real, too, and so is a black picture"
        )


def prefetched(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield the batches as JAX arrays, with `size` of them on the device ahead."""
    raise NotImplementedError


def solve_prefetched(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """A queue of `size`; a copy of each batch, before the loader writes into its buffer again."""
    from collections import deque
    from itertools import islice

    batches, waiting = iter(batches), deque[jax.Array]()
    for batch in islice(batches, size):
        waiting.append(jax.device_put(batch.copy()))
    while waiting:
        yield waiting.popleft()
        for batch in islice(batches, 1):
            waiting.append(jax.device_put(batch.copy()))


SHAPE = (4, 48)  # of the batches: few other arrays have it


def verify_prefetched(answer: Callable[..., Any]) -> None:
    """Count what is read and when, with new arrays and with one buffer that is refilled."""
    for count, size in ((5, 2), (5, 3), (1, 2), (0, 2), (9, 2)):
        _hands_out(answer, count, size, refill=False)
        _hands_out(answer, count, size, refill=True)


def _hands_out(answer: Callable[..., Any], count: int, size: int, refill: bool) -> None:
    read = 0
    buffer = aligned(SHAPE)

    def loader() -> Iterator[Any]:
        nonlocal read
        for number in range(count):
            batch = buffer if refill else np.empty(SHAPE, np.float32)
            batch[:] = number
            read += 1
            yield batch

    what = f"with {count} batches and size={size}"
    made = call(answer, loader(), size)
    if not hasattr(made, "__next__"):
        raise NotYet(f"it should be a generator: yield each batch; it returned {type(made)}")
    if read and count > size and read > size:
        raise NotYet(f"{what} it has read {read} batches before the first was asked for")
    seen: list[int] = []
    for batch in _each(made):
        if len(seen) == count:
            raise NotYet(f"{what} it does not end after {count}")
        if not isinstance(batch, jax.Array):
            raise NotYet(f"it hands out a {type(batch).__name__}, should be a JAX array")
        if len(seen) == 0 and count > size and not size <= read <= size + 1:
            raise NotYet(
                f"{what} it had read {read} batches when it handed out the first, should be {size}"
            )
        there = sum(array.shape == SHAPE for array in jax.live_arrays())
        if len(seen) == 0 and there < min(size, count):
            raise NotYet(
                f"{what} there were {there} on the device when it handed out the first, "
                f"should be {min(size, count)}"
            )
        seen.append(int(batch[0, 0]))
        if read > len(seen) + size + 1:
            raise NotYet(
                f"{what} it had read {read} batches when it handed out number {len(seen)}: "
                f"no more than {size} should wait"
            )
    if seen != list(range(count)):
        how = "one buffer is refilled, and " if refill else ""
        raise NotYet(f"{what}, {how}it hands out the batches {seen}, should be {[*range(count)]}")


def _each(made: Any) -> Iterator[Any]:
    """Yield what a generator yields, its errors told as those of a call are."""
    end = object()
    while (batch := call(lambda: next(made, end))) is not end:
        yield batch


def numbers_of(process: int, processes: int, samples: int, seed: int, epoch: int) -> Any:
    """Return the numbers of the samples that a process reads in an epoch."""
    raise NotImplementedError


def solve_numbers_of(process: int, processes: int, samples: int, seed: int, epoch: int) -> Any:
    """One order for all, its end left out, and then every so many-th for each."""
    order = np.random.default_rng((seed, epoch)).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def verify_numbers_of(answer: Callable[..., Any]) -> None:
    """Gather the numbers of all processes, over epochs, seeds and in another order of asking."""

    def asked(process: int, processes: int, samples: int, seed: int = 0, epoch: int = 0) -> Any:
        given = call(answer, process, processes, samples, seed, epoch)
        if not isinstance(given, np.ndarray) or given.ndim != 1:
            raise NotYet(f"it should return a NumPy array of numbers, was {type(given).__name__}")
        if given.dtype.kind not in "iu":
            raise NotYet(f"the numbers should be integers, were {given.dtype}")
        return given.tolist()

    for processes, samples in ((2, 40), (4, 43)):
        parts = [asked(process, processes, samples) for process in range(processes)]
        each = samples // processes
        if {len(part) for part in parts} != {each}:
            raise NotYet(
                f"for {samples} samples and {processes} processes they read "
                f"{[len(part) for part in parts]}, each should read {each}"
            )
        numbers = [number for part in parts for number in part]
        if not set(numbers) <= set(range(samples)):
            raise NotYet(f"there are numbers outside of 0 to {samples - 1}")
        if len(set(numbers)) != len(numbers):
            raise NotYet(
                "a sample is read by two processes: all must begin with the same order, "
                "and then take parts of it"
            )
    first = asked(0, 2, 40)
    if first == sorted(first):
        raise NotYet("the samples are not shuffled")
    if asked(0, 2, 40, epoch=1) == first:
        raise NotYet("epoch 1 has the order of epoch 0")
    if asked(0, 2, 40, seed=1) == first:
        raise NotYet("another seed gives the same order")
    before = np.random.get_state()[1].tolist()  # type: ignore[index]
    if asked(0, 2, 40) != first:
        raise NotYet("asked a second time, it gives another order")
    if np.random.get_state()[1].tolist() != before:  # type: ignore[index]
        raise NotYet("it changes NumPy's global generator: make one of your own")
    for apart in (1, 10, 100, 1000, 10_000):
        if asked(0, 2, 40, seed=0, epoch=apart) == asked(0, 2, 40, seed=1, epoch=0):
            raise NotYet(
                f"seed 0 in epoch {apart} is seed 1 in epoch 0: do not add them up, "
                "default_rng takes both"
            )
    if set(asked(0, 2, 40, epoch=1)) == set(first):
        raise NotYet(
            "a process reads the same samples in every epoch: shuffle all of them, "
            "and take its part after that"
        )


EXERCISES = (
    Exercise(
        id="data-loading/1",
        title="a short batch made full",
        stub=filled,
        hints=(
            "The rows are the first axis; how many are missing is size - len(array).",
            "np.pad(array, [(0, missing), (0, 0), …]) has a pair for each axis.",
            "The mask is np.ones(rows, bool), padded like the others.",
        ),
        verify=verify_filled,
        solution=solve_filled,
    ),
    Exercise(
        id="data-loading/2",
        title="ahead, and safe",
        stub=prefetched,
        hints=(
            "A deque is the queue: append at one end, popleft from the other.",
            "islice(batches, n) takes at most n, and is content with fewer.",
            "What the loader gives may be its buffer: jax.device_put(batch.copy()).",
        ),
        verify=verify_prefetched,
        solution=solve_prefetched,
    ),
    Exercise(
        id="data-loading/3",
        title="the samples of one process",
        stub=numbers_of,
        hints=(
            "The order must not depend on the process; only the part taken of it does.",
            "np.random.default_rng((seed, epoch)) is a generator for this epoch alone.",
            "Cut the order to a multiple of processes, then take order[process::processes].",
        ),
        verify=verify_numbers_of,
        solution=solve_numbers_of,
    ),
)
