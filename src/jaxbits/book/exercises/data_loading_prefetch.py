"""The exercise on prefetching for chapter 17."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np

from jaxbits.book.data_loading import aligned_zeros
from jaxbits.book.exercises.assertions import AnswerRejected, call
from jaxbits.book.exercises.base import Exercise
from jaxbits.book.exercises.error_advice import describe_error


def prefetched(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield the batches as JAX arrays, and put `size` of them on the device in advance."""
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


# Use an unusual batch shape, so that a search for it finds few unrelated arrays.
SHAPE = (4, 48)


def verify_prefetched(answer: Callable[..., Any]) -> None:
    """Check which batches are read, and when, for new arrays, a reused buffer, and an iterable."""
    for count, size in ((5, 2), (5, 3), (1, 2), (0, 2), (9, 2)):
        _hands_out(answer, count, size)
        _hands_out(answer, count, size, refill=True)
    _hands_out(answer, 5, 2, again=True)


class _Loader:
    """A loader that counts the batches read from it. Each call to `iter` starts over."""

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
        what += ", from a loader that starts over on each call to iter"
    # Calling iter more than once is a mistake only if the loader is not itself an iterator.
    made = call(answer, loader if again else iter(loader), size)
    if not hasattr(made, "__next__"):
        raise AnswerRejected(
            f"your function must yield the batches one by one, got a {type(made).__name__}"
        )
    if loader.read and count > size and loader.read > size:
        raise AnswerRejected(
            f"{what}, your function reads {loader.read} batches before the first one is requested"
        )
    seen: list[int] = []
    for batch in _each(made, what):
        if len(seen) == count:
            why = "; call iter(batches) once, and read only from the iterator" if again else ""
            raise AnswerRejected(f"{what}, your generator yields more than {count}{why}")
        if not isinstance(batch, jax.Array):
            kind = "NumPy array" if isinstance(batch, np.ndarray) else type(batch).__name__
            raise AnswerRejected(f"your function must yield JAX arrays, got a {kind}")
        if len(seen) == 0 and count > size and not size <= loader.read <= size + 1:
            raise AnswerRejected(
                f"{what}, your function must have read {size} batches when it yields the first "
                f"one, got {loader.read}"
            )
        there = sum(array.shape == SHAPE for array in jax.live_arrays())
        if len(seen) == 0 and there < min(size, count):
            raise AnswerRejected(
                f"{what}, {min(size, count)} of them must be on the device when your "
                f"function yields the first one, got {there}"
            )
        seen.append(int(batch[0, 0]))
        if loader.read > len(seen) + size + 1:
            raise AnswerRejected(
                f"{what}, your function has read {loader.read} batches when it yields number "
                f"{len(seen)}, but at most {size} may be waiting"
            )
    if seen != list(range(count)):
        how = ", from a loader that refills one buffer" if refill else ""
        raise AnswerRejected(
            (f"{what}{how}, your function must yield the batches {[*range(count)]}, got {seen}")
            + ("; copy each batch before you read the next one" if refill else "")
        )


def _each(made: Any, what: str) -> Iterator[Any]:
    """Yield batches from the answer's generator, and reject the answer if it raises an error."""
    end = object()
    while True:
        try:
            batch = next(made, end)
        except NotImplementedError:
            call(lambda: next(made, end))
            raise
        except Exception as error:
            raise AnswerRejected(describe_error(error, f"{what}, your generator")) from error
        if batch is end:
            return
        yield batch


EXERCISES = (
    Exercise(
        id="data-loading/2",
        title="prefetch safely",
        stub=prefetched,
        hints=(
            "Use a deque as the queue. append adds a batch, and popleft removes the oldest one.",
            "Call iter(batches) once. islice(iterator, n) then takes the next n batches, or as "
            "many as are left.",
            "The loader may yield the same buffer every time, so copy each batch first: "
            "jax.device_put(batch.copy()).",
        ),
        verify=verify_prefetched,
        solution=solve_prefetched,
    ),
)
