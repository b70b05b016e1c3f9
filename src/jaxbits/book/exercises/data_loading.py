"""The exercises for chapter 17, data loading."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxbits.book.exercises.assertions import AnswerRejected, call
from jaxbits.book.exercises.base import Exercise


def filled(batch: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """Return the batch padded to `size` rows, and a mask that is True for the real rows."""
    raise NotImplementedError


def solve_filled(batch: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """Pad each array with zeros along its first axis, and append a mask of the real rows."""
    mask = np.ones(len(batch[0]), bool)

    def pad(array: Any) -> Any:
        missing = [(0, size - len(array))] + [(0, 0)] * (array.ndim - 1)
        return np.pad(array, missing)

    return tuple(pad(array) for array in (*batch, mask))


def verify_filled(answer: Callable[..., Any]) -> None:
    """Test short and full batches of one to three arrays, including real rows of zeros."""
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
                raise AnswerRejected("your function modifies its input batch in place")


def _rows_are(told: Any, batch: dict[str, Any], size: int) -> None:
    rows = len(batch["images"])
    how = f"for a batch of {rows} {'row' if rows == 1 else 'rows'} and size {size}"
    if not isinstance(told, tuple) or len(told) != len(batch) + 1:
        what = f"{len(told)} arrays" if isinstance(told, tuple) else f"a {type(told).__name__}"
        raise AnswerRejected(
            f"{how}, your function must return a tuple of {', '.join(batch)}, and a mask, "
            f"got {what}"
        )
    for seen, (name, given) in zip(told, batch.items(), strict=False):
        if np.shape(seen) != (size, *given.shape[1:]):
            raise AnswerRejected(
                f"{how}, the {name} must have shape {(size, *given.shape[1:])}, got "
                f"{np.shape(seen)}"
            )
        if not isinstance(seen, np.ndarray):
            kind = "JAX array" if isinstance(seen, jax.Array) else type(seen).__name__
            raise AnswerRejected(f"{how}, the {name} must be a NumPy array, got a {kind}")
        if seen.dtype != given.dtype:
            raise AnswerRejected(f"{how}, the {name} must be {given.dtype}, got {seen.dtype}")
        if not np.array_equal(seen[:rows], given):
            raise AnswerRejected(f"{how}, the {name} must start with the ones in the batch")
        if seen[rows:].any():
            raise AnswerRejected(f"{how}, the {name} that you add must be zeros")
    mask, expected = told[-1], np.arange(size) < rows
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (size,):
        what = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else f"{mask!r:.60}"
        raise AnswerRejected(
            f"{how}, the mask must be a NumPy array of {size} booleans, got {what}"
        )
    if not np.array_equal(mask, expected):
        why = "The rows that you add are padding, so mark them as False"
        if not mask[:rows].all():
            why = "A label of 0 or a black image can be real, so do not derive it from the values"
        raise AnswerRejected(
            f"{how}, the mask must be {expected.tolist()}, got {mask.tolist()}. {why}"
        )


def numbers_of(process: int, processes: int, samples: int, seed: int, epoch: int) -> Any:
    """Return the indices of the samples that a process reads in an epoch."""
    raise NotImplementedError


def solve_numbers_of(process: int, processes: int, samples: int, seed: int, epoch: int) -> Any:
    """Draw one order for all processes, drop the remainder, and take every n-th index."""
    order = np.random.default_rng((seed, epoch)).permutation(samples)
    return order[: samples - samples % processes][process::processes]


# A wrong answer may multiply the seed or the epoch by one of these factors and then add the two.
# In that case, different pairs of seed and epoch can give the same order.
_APART = (
    *range(1, 129), 255, 256, 500, 512, 997, 999, 1000, 1001, 1009, 1024, 1234, 4096, 9973, 10_000,
    10_007, 65_536, 65_537, 99_991, 100_000, 1_000_000, 1_000_003,
)  # fmt: skip


def verify_numbers_of(answer: Callable[..., Any]) -> None:
    """Check the indices for several processes, epochs, and seeds, and reject global generators."""

    def asked(process: int, processes: int, samples: int, seed: int = 0, epoch: int = 0) -> Any:
        given = call(answer, process, processes, samples, seed, epoch)
        if not isinstance(given, np.ndarray) or given.ndim != 1:
            what = "JAX array" if isinstance(given, jax.Array) else type(given).__name__
            raise AnswerRejected(f"the result must be a NumPy array with one axis, got a {what}")
        if given.dtype.kind not in "iu":
            raise AnswerRejected(f"the indices must be integers, got {given.dtype}")
        return given.tolist()

    for processes, samples in ((2, 40), (4, 43)):
        parts = [asked(process, processes, samples) for process in range(processes)]
        each = samples // processes
        if {len(part) for part in parts} != {each}:
            raise AnswerRejected(
                f"for {samples} samples and {processes} processes, each process must read "
                f"{each} samples, got {[len(part) for part in parts]}"
            )
        numbers = [number for part in parts for number in part]
        if not set(numbers) <= set(range(samples)):
            raise AnswerRejected(
                f"for {samples} samples, all indices must be from 0 to {samples - 1}"
            )
        if len(set(numbers)) != len(numbers):
            raise AnswerRejected(
                "two processes read the same sample; start from the same order in all "
                "processes, and then take a different part of it in each"
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
            "called a second time with the same arguments, your function must return the same order"
        )
    if (np.random.get_state()[1].tolist(), random.getstate()) != before:  # type: ignore[index]
        raise AnswerRejected(
            "your function uses a global random generator; create your own generator"
        )
    other, later = asked(0, 2, 40, seed=1), asked(0, 2, 40, epoch=1)
    for apart in _APART:
        for seed, epoch, same, where in ((0, apart, other, (1, 0)), (apart, 0, later, (0, 1))):
            if asked(0, 2, 40, seed=seed, epoch=epoch) == same:
                raise AnswerRejected(
                    f"seed {seed} gives the same order in epoch {epoch} as seed {where[0]} "
                    f"in epoch {where[1]}. Do not combine seed and epoch into one number, "
                    "because np.random.default_rng takes both"
                )
    if set(asked(0, 2, 40, epoch=1)) == set(first):
        raise AnswerRejected(
            "a process reads the same samples in every epoch; shuffle all samples first, "
            "and then take the part for this process"
        )


EXERCISES = (
    Exercise(
        id="data-loading/1",
        title="pad a short batch",
        stub=filled,
        hints=(
            "Each array lacks size - len(array) rows, so pad only its first axis.",
            "np.pad(array, [(0, missing), (0, 0), …]) takes one pair for each axis. The pair "
            "gives the amount of padding before and after the array along this axis.",
            "The mask is np.ones(rows, bool), padded like the arrays. You cannot derive it from "
            "the values, because a real row may be all zeros.",
        ),
        verify=verify_filled,
        solution=solve_filled,
    ),
    Exercise(
        id="data-loading/3",
        title="the samples of one process",
        stub=numbers_of,
        hints=(
            "The order must not depend on the process. Only the part that a process takes of it "
            "may do so.",
            "np.random.default_rng((seed, epoch)) creates a generator for this seed and epoch. "
            "If you added the two numbers, different pairs could give the same order.",
            "Truncate the order so that processes divides its length, and then take "
            "order[process::processes].",
        ),
        verify=verify_numbers_of,
        solution=solve_numbers_of,
    ),
)
