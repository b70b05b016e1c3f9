"""Measure the cost of data loading in the loop, ahead of the loop, and in worker processes."""

from __future__ import annotations

import collections
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch.utils.data import DataLoader, default_collate

from book_tools.benchmarking.timing import (
    quartiles,
    ratio_quartiles,
    round_significant,
    time_interleaved,
)
from jaxbits.book.data_loading import RandomImages, prefetch
from jaxbits.xor.data import numpy_collate

TITLE = f"a step with its batch: in the loop, ahead, in workers (torch {torch.__version__})"
STEPS, BATCH, ROUNDS, SIZE = 12, 16, 5, 400
GOAL = 0.025  # The seconds that a step and a batch should each take


@jax.jit
def _step(weights: jax.Array, images: jax.Array, length: int) -> tuple[jax.Array, jax.Array]:
    """Do about as much work as a training step, and return new weights and a loss."""
    for_batch = images.astype(jnp.float32).mean()
    made = jax.lax.fori_loop(0, length, lambda _, w: w @ weights, weights)
    return weights, made[0, 0] * for_batch


def _on_device(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield batches while later batches are already being copied to the device."""
    waiting: collections.deque[Any] = collections.deque()
    batches = iter(batches)
    for batch in itertools.islice(batches, size):
        waiting.append(jax.device_put(batch))
    while waiting:
        yield waiting.popleft()
        for batch in itertools.islice(batches, 1):
            waiting.append(jax.device_put(batch))


def _stepping(length: int) -> list[float]:
    """Return the durations, in seconds, of several steps of a given length."""
    weights, images = jnp.eye(SIZE), np.zeros((BATCH, 28, 28), np.uint8)
    times = []
    for _ in range(10):
        began = time.perf_counter()
        _step(weights, images, length)[1].block_until_ready()
        times.append(time.perf_counter() - began)
    return times[1:]  # The first step may compile.


def _epoch(batches: Iterable[Any], length: int, read: bool) -> None:
    """Run a step for each batch, and either read each loss or wait only for the last one."""
    weights, loss = jnp.eye(SIZE), jnp.zeros(())
    for images, _ in batches:
        weights, loss = _step(weights, images, length)
        if read:
            float(loss)
    loss.block_until_ready()


def _loader(data: RandomImages, workers: int) -> Any:
    """Return a PyTorch loader with a NumPy collate function and persistent workers."""
    return DataLoader(
        data,  # type: ignore[arg-type]
        batch_size=BATCH,
        collate_fn=numpy_collate,
        num_workers=workers,
        multiprocessing_context="spawn" if workers else None,
        persistent_workers=workers > 0,
    )


def _loops(data: RandomImages, length: int) -> dict[str, list[float]]:
    """Return the milliseconds per step in each round, for each way of loading."""
    plain, one, two = (_loader(data, workers) for workers in (0, 1, 2))
    ways: dict[str, Callable[[], object]] = {
        "the loader alone": lambda: collections.deque(plain, maxlen=0),
        "loss read every step": lambda: _epoch(plain, length, read=True),
        "loss not read": lambda: _epoch(plain, length, read=False),
        "2 on the device ahead": lambda: _epoch(_on_device(plain, 2), length, read=True),
        "a thread ahead": lambda: _epoch(prefetch(plain, 2), length, read=True),
        "1 worker": lambda: _epoch(one, length, read=True),
        "2 workers": lambda: _epoch(two, length, read=True),
    }
    for way in ways.values():
        way()  # Compile the step, and start the workers.
    times = time_interleaved(ways, ROUNDS, dict.fromkeys(ways, 1))
    return {name: [1e3 * seconds / STEPS for seconds in values] for name, values in times.items()}


def _work_for(seconds: float) -> int:
    """Return how many times to sort an image so that a batch takes the given time."""
    trial = RandomImages(BATCH, work=100)
    times = []
    for _ in range(5):
        began = time.perf_counter()
        for i in range(BATCH):
            trial[i]
        times.append(time.perf_counter() - began)
    return max(1, round(100 * seconds / statistics.median(times)))


def _stacking() -> dict[str, list[float]]:
    """Return the times, in ms, of several ways of turning 256 samples into one device array."""
    samples = list(RandomImages(256).images)
    on_jax = [jnp.asarray(sample) for sample in samples]
    indices = np.arange(256)
    images = RandomImages(256).images
    ways: dict[str, Callable[[], object]] = {
        "one indexing of the whole array": lambda: jnp.asarray(images[indices]),
        "np.stack, then one transfer": lambda: jnp.asarray(np.stack(samples)),
        "PyTorch's default, then jnp.asarray": lambda: jnp.asarray(default_collate(samples)),
        "jnp.stack of 256 JAX arrays": lambda: jnp.stack(on_jax),
        "jnp.array of the list": lambda: jnp.array(samples),
    }
    waited = {
        name: lambda way=way: jax.block_until_ready(way())  # type: ignore[misc]
        for name, way in ways.items()
    }
    for way in waited.values():
        way()
    times = time_interleaved(waited, 9, dict.fromkeys(waited, 5))
    return {name: [1e3 * seconds for seconds in values] for name, values in times.items()}


def _cheap() -> dict[str, list[float]]:
    """Return the µs per batch for each number of workers, with samples that take almost no time."""
    loaders = {f"{n} workers": _loader(RandomImages(BATCH * 200), n) for n in (0, 1, 2)}

    def consume(batches: Any) -> None:
        collections.deque(batches, maxlen=0)

    ways = {name: lambda one=one: consume(one) for name, one in loaders.items()}
    for way in ways.values():
        way()
    times = time_interleaved(ways, ROUNDS, dict.fromkeys(ways, 1))
    return {name: [1e6 * seconds / 200 for seconds in values] for name, values in times.items()}


def run() -> dict[str, Any]:
    """Time loops whose dataset waits or computes, and then stacking and cheap batches."""
    torch.set_num_threads(1)  # PyTorch does the same in a worker.
    length = max(1, round(10 * GOAL / statistics.median(_stepping(10))))
    alone = _stepping(length)
    goal = statistics.median(alone)  # Reading a batch should take as long as a step.
    kinds = {
        "waits": _loops(RandomImages(STEPS * BATCH, wait=goal / BATCH), length),
        "computes": _loops(RandomImages(STEPS * BATCH, work=_work_for(goal)), length),
    }
    stacked, little = _stacking(), _cheap()

    def medians(times: dict[str, list[float]]) -> dict[str, float]:
        return {
            name: round_significant(statistics.median(values), 3) for name, values in times.items()
        }

    results = {f"{kind}: {w}": quartiles(v, "ms") for kind in kinds for w, v in kinds[kind].items()}
    results |= {f"stack: {name}": quartiles(values, "ms") for name, values in stacked.items()}
    results |= {f"cheap: {name}": quartiles(values, "µs") for name, values in little.items()}
    waits = kinds["waits"]
    turns = waits["loss read every step"]
    return {
        "results": results
        | {"the step alone": quartiles([1e3 * seconds for seconds in alone], "ms")},
        "ratios": {
            "in turns against a thread, when reading waits": ratio_quartiles(
                turns, waits["a thread ahead"]
            ),
            "in turns against two ahead on the device": ratio_quartiles(
                turns, waits["2 on the device ahead"]
            ),
            "in turns against two workers, when reading waits": ratio_quartiles(
                turns, waits["2 workers"]
            ),
            "jnp.array of a list against np.stack": ratio_quartiles(
                stacked["jnp.array of the list"], stacked["np.stack, then one transfer"]
            ),
            "jnp.stack of JAX arrays against np.stack": ratio_quartiles(
                stacked["jnp.stack of 256 JAX arrays"], stacked["np.stack, then one transfer"]
            ),
            "one worker against none, cheap batches": ratio_quartiles(
                little["1 workers"], little["0 workers"]
            ),
        },
        "series": {
            "loops": {kind: medians(times) for kind, times in kinds.items()},
            "step": round_significant(1e3 * goal, 3),
            "batch": round_significant(1e3 * goal, 3),
            "stacking": medians(stacked),
            "cheap": medians(little),
        },
    }
