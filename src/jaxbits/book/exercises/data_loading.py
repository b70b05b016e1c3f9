"""The exercises of chapter 17, data loading."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np

from jaxbits.book.data_loading import aligned_zeros
from jaxbits.book.exercises.assertions import AnswerRejected, call, raised
from jaxbits.book.exercises.registry import Exercise


def filled(batch: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """Return the batch padded to `size` rows, and a mask of the rows that are real."""
    raise NotImplementedError


def solve_filled(batch: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """Pad each array along its first axis, and a mask of True with False."""
    mask = np.ones(len(batch[0]), bool)

    def pad(array: Any) -> Any:
        missing = [(0, size - len(array))] + [(0, 0)] * (array.ndim - 1)
        return np.pad(array, missing)

    return tuple(pad(array) for array in (*batch, mask))


def verify_filled(answer: Callable[..., Any]) -> None:
    """Check short and full batches of one to three arrays, in which some real rows are zero."""
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
            batch = tuple(array[:rows].copy() for array in named.values())
            kept = tuple(array.copy() for array in batch)
            told = call(answer, batch, size)
            _rows_are(told, dict(zip(named, kept, strict=True)), size)
            if not all(np.array_equal(a, b) for a, b in zip(batch, kept, strict=True)):
                raise AnswerRejected("it changes the batch that you passed in")


def _rows_are(told: Any, batch: dict[str, Any], size: int) -> None:
    rows = len(batch["images"])
    how = f"for a batch of {rows} {'row' if rows == 1 else 'rows'} and size {size}"
    if not isinstance(told, tuple) or len(told) != len(batch) + 1:
        what = f"{len(told)} arrays" if isinstance(told, tuple) else f"a {type(told).__name__}"
        raise AnswerRejected(
            f"{how} it returns {what} instead of a tuple of {', '.join(batch)}, and a mask"
        )
    for seen, (name, given) in zip(told, batch.items(), strict=False):
        if np.shape(seen) != (size, *given.shape[1:]):
            raise AnswerRejected(
                f"{how} its {name} have the shape {np.shape(seen)} instead of "
                f"{(size, *given.shape[1:])}"
            )
        if not isinstance(seen, np.ndarray):
            kind = "JAX" if isinstance(seen, jax.Array) else type(seen).__name__
            raise AnswerRejected(f"{how} its {name} are a {kind} array instead of a NumPy array")
        if seen.dtype != given.dtype:
            raise AnswerRejected(f"{how} its {name} are {seen.dtype} instead of {given.dtype}")
        if not np.array_equal(seen[:rows], given):
            raise AnswerRejected(f"{how} its {name} should start with those of the batch")
        if seen[rows:].any():
            raise AnswerRejected(f"{how} the added {name} should be zeros")
    mask, expected = told[-1], np.arange(size) < rows
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (size,):
        what = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else f"{mask!r:.60}"
        raise AnswerRejected(
            f"{how} the mask should be a NumPy array of {size} booleans; it is {what}"
        )
    if not np.array_equal(mask, expected):
        why = "The rows that you add are not real"
        if not mask[:rows].all():
            why = "Do not derive it from the values: a label of 0 and a black image can be real"
        raise AnswerRejected(
            f"{how} the mask is {mask.tolist()} instead of {expected.tolist()}. {why}"
        )


def prefetched(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield the batches as JAX arrays, with `size` of them on the device ahead of time."""
    raise NotImplementedError


def solve_prefetched(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Keep a queue of `size` copies, because the loader may refill its buffer at any time."""
    from collections import deque
    from itertools import islice

    batches = iter(batches)
    waiting: deque[Any] = deque()
    for batch in islice(batches, size):
        waiting.append(jax.device_put(batch.copy()))
    while waiting:
        yield waiting.popleft()
        for batch in islice(batches, 1):
            waiting.append(jax.device_put(batch.copy()))


SHAPE = (4, 48)  # of the batches: few other arrays have it


def verify_prefetched(answer: Callable[..., Any]) -> None:
    """Count what is read and when, with new arrays, with a buffer that is refilled, and a list."""
    for count, size in ((5, 2), (5, 3), (1, 2), (0, 2), (9, 2)):
        _hands_out(answer, count, size)
        _hands_out(answer, count, size, refill=True)
    _hands_out(answer, 5, 2, again=True)


class _Loader:
    """Batches that are counted as they are read, and read from the start by every `iter`."""

    def __init__(self, count: int, refill: bool) -> None:
        self.count, self.buffer, self.read = count, aligned_zeros(SHAPE) if refill else None, 0

    def __iter__(self) -> Iterator[Any]:
        for number in range(self.count):
            batch = np.empty(SHAPE, np.float32) if self.buffer is None else self.buffer
            batch[:] = number
            self.read += 1
            yield batch


def _hands_out(
    answer: Callable[..., Any], count: int, size: int, refill: bool = False, again: bool = False
) -> None:
    loader = _Loader(count, refill)
    what = f"with {count} {'batch' if count == 1 else 'batches'} and size={size}"
    if again:
        what += ", from a loader that starts again at every iter(batches)"
    # Only a loader that is not an iterator itself shows whether an answer calls iter once.
    made = call(answer, loader if again else iter(loader), size)
    if not hasattr(made, "__next__"):
        raise AnswerRejected(f"it returns a {type(made).__name__}, but it should yield each batch")
    if loader.read and count > size and loader.read > size:
        raise AnswerRejected(f"{what}, it reads {loader.read} batches before you ask for the first")
    seen: list[int] = []
    for batch in _each(made, what):
        if len(seen) == count:
            why = ": call iter(batches) once, and read only from that" if again else ""
            raise AnswerRejected(f"{what}, it does not end after {count}{why}")
        if not isinstance(batch, jax.Array):
            kind = "NumPy array" if isinstance(batch, np.ndarray) else type(batch).__name__
            raise AnswerRejected(f"it yields a {kind} instead of a JAX array")
        if len(seen) == 0 and count > size and not size <= loader.read <= size + 1:
            raise AnswerRejected(
                f"{what}, it has read {loader.read} when it yields the first, instead of {size}"
            )
        there = sum(array.shape == SHAPE for array in jax.live_arrays())
        if len(seen) == 0 and there < min(size, count):
            raise AnswerRejected(
                f"{what}, only {there} of them {'is' if there == 1 else 'are'} on the device when "
                f"it yields the first, instead of {min(size, count)}"
            )
        seen.append(int(batch[0, 0]))
        if loader.read > len(seen) + size + 1:
            raise AnswerRejected(
                f"{what}, it has read {loader.read} when it yields number {len(seen)}: no more "
                f"than {size} should wait"
            )
    if seen != list(range(count)):
        how = ", from a loader that refills one buffer" if refill else ""
        raise AnswerRejected(
            f"{what}{how}, it yields the batches {seen} instead of {[*range(count)]}"
            + (": copy each batch before you read the next" if refill else "")
        )


def _each(made: Any, what: str) -> Iterator[Any]:
    """Yield what a generator yields, and report its errors as those of a call."""
    end = object()
    while True:
        try:
            batch = next(made, end)
        except NotImplementedError:
            call(lambda: next(made, end))
            raise
        except Exception as error:
            raise AnswerRejected(raised(error, f"{what}, it")) from error
        if batch is end:
            return
        yield batch


def numbers_of(process: int, processes: int, samples: int, seed: int, epoch: int) -> Any:
    """Return the numbers of the samples that a process reads in an epoch."""
    raise NotImplementedError


def solve_numbers_of(process: int, processes: int, samples: int, seed: int, epoch: int) -> Any:
    """Draw one order for all processes, drop the remainder, and take every n-th number."""
    order = np.random.default_rng((seed, epoch)).permutation(samples)
    return order[: samples - samples % processes][process::processes]


# Factors that people multiply a seed or an epoch by, and what may then coincide.
_APART = (
    *range(1, 129), 255, 256, 500, 512, 997, 999, 1000, 1001, 1009, 1024, 1234, 4096, 9973, 10_000,
    10_007, 65_536, 65_537, 99_991, 100_000, 1_000_000, 1_000_003,
)  # fmt: skip


def verify_numbers_of(answer: Callable[..., Any]) -> None:
    """Gather the numbers of all processes, over epochs and seeds, and look for global state."""

    def asked(process: int, processes: int, samples: int, seed: int = 0, epoch: int = 0) -> Any:
        given = call(answer, process, processes, samples, seed, epoch)
        if not isinstance(given, np.ndarray) or given.ndim != 1:
            what = "JAX array" if isinstance(given, jax.Array) else type(given).__name__
            raise AnswerRejected(f"it returns a {what} instead of a NumPy array with one axis")
        if given.dtype.kind not in "iu":
            raise AnswerRejected(f"its numbers are {given.dtype} instead of integers")
        return given.tolist()

    for processes, samples in ((2, 40), (4, 43)):
        parts = [asked(process, processes, samples) for process in range(processes)]
        each = samples // processes
        if {len(part) for part in parts} != {each}:
            raise AnswerRejected(
                f"for {samples} samples and {processes} processes, they read "
                f"{[len(part) for part in parts]} samples, but each should read {each}"
            )
        numbers = [number for part in parts for number in part]
        if not set(numbers) <= set(range(samples)):
            raise AnswerRejected(
                f"for {samples} samples, some numbers are outside 0 to {samples - 1}"
            )
        if len(set(numbers)) != len(numbers):
            raise AnswerRejected(
                "two processes read the same sample: all processes must start from the same order, "
                "and then take different parts of it"
            )
    first = asked(0, 2, 40)
    if first == sorted(first):
        raise AnswerRejected("the samples are not shuffled")
    if asked(0, 2, 40, epoch=1) == first:
        raise AnswerRejected("epoch 1 has the same order as epoch 0")
    if asked(0, 2, 40, seed=1) == first:
        raise AnswerRejected("seeds 0 and 1 give the same order")
    before = np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index]
    if asked(0, 2, 40) != first:
        raise AnswerRejected(
            "called a second time with the same arguments, it returns another order"
        )
    if (np.random.get_state()[1].tolist(), random.getstate()) != before:  # type: ignore[index]
        raise AnswerRejected("it uses a global random generator: create one of your own")
    other, later = asked(0, 2, 40, seed=1), asked(0, 2, 40, epoch=1)
    for apart in _APART:
        for seed, epoch, same, where in ((0, apart, other, (1, 0)), (apart, 0, later, (0, 1))):
            if asked(0, 2, 40, seed=seed, epoch=epoch) == same:
                raise AnswerRejected(
                    f"seed {seed} gives the same order in epoch {epoch} as seed {where[0]} in "
                    f"epoch {where[1]}: do not compute one number from seed and epoch, because "
                    "np.random.default_rng takes both"
                )
    if set(asked(0, 2, 40, epoch=1)) == set(first):
        raise AnswerRejected(
            "a process reads the same samples in every epoch: first shuffle all samples, and then "
            "take the part of the process"
        )


EXERCISES = (
    Exercise(
        id="data-loading/1",
        title="a short batch made full",
        stub=filled,
        hints=(
            "The rows are the first axis, and size - len(array) of them are missing.",
            "np.pad(array, [(0, missing), (0, 0), …]) takes a pair for each axis.",
            "The mask is np.ones(rows, bool), padded like the arrays. It cannot be derived from "
            "the values, because a real row may be zero.",
        ),
        verify=verify_filled,
        solution=solve_filled,
    ),
    Exercise(
        id="data-loading/2",
        title="ahead, and safe",
        stub=prefetched,
        hints=(
            "A deque can be the queue: append at one end, and popleft from the other.",
            "Call iter(batches) once. islice(iterator, n) then takes the next n batches, or fewer "
            "if there are fewer.",
            "What the loader yields may be its buffer, so copy it first: "
            "jax.device_put(batch.copy()).",
        ),
        verify=verify_prefetched,
        solution=solve_prefetched,
    ),
    Exercise(
        id="data-loading/3",
        title="the samples of one process",
        stub=numbers_of,
        hints=(
            "The order must not depend on the process. Only the part that it takes does.",
            "np.random.default_rng((seed, epoch)) is a generator for this epoch alone. A sum of "
            "the two would give two epochs of different seeds the same order.",
            "Cut the order to a multiple of processes, and then take order[process::processes].",
        ),
        verify=verify_numbers_of,
        solution=solve_numbers_of,
    ),
)
