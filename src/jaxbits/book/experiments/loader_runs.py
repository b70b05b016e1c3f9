"""Runs of loaders and processes that the checks in the chapter on data loading compare.

Call these functions in a new process, for example with `run_on_simulated_devices`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.multihost_utils import process_allgather
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from torch.utils.data import DataLoader

from jaxbits.book.data_loading import RandomCrops


def crop_in_other_ways() -> list[list[list[int]]]:
    """Return the crops of two epochs for five datasets and kinds of workers.

    The first dataset uses NumPy's global generator, the second keeps its workers, and the other
    three draw each number from the epoch and the index, without, with new, and with kept workers.
    """

    class GlobalCrops(RandomCrops):
        def __getitem__(self, i: int) -> int:
            return int(np.random.randint(10**6))

    class StatelessCrops:
        def __getitem__(self, index: tuple[int, int]) -> int:
            return int(np.random.default_rng((0, *index)).integers(100))

    class Pairs:
        epoch = 0

        def __iter__(self) -> Iterator[tuple[int, int]]:
            return ((self.epoch, i) for i in range(8))

    def draw_two_epochs(dataset: Any, sampler: Any = None, **workers: Any) -> list[list[int]]:
        loader: Any = DataLoader(dataset, 2, sampler=sampler, collate_fn=list, **workers)
        epochs = []
        for epoch in range(2):
            if sampler is not None:
                sampler.epoch = epoch
            epochs.append([number for batch in loader for number in batch])
        return epochs

    # Forking is quick, and it is safe because JAX has not started in this process.
    new: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "fork"}
    kept = new | {"persistent_workers": True}
    return [
        draw_two_epochs(GlobalCrops(8), **new),
        draw_two_epochs(RandomCrops(8), **kept),
        *[draw_two_epochs(StatelessCrops(), Pairs(), **how) for how in ({}, new, kept)],
    ]


def gather_other_batches(address: str, rank: int) -> tuple[list[list[int]], list[Any]]:
    """Return the samples in three global batches, and what one process sees of a replicated array.

    In the first batch, each process reads its half of the samples. In the second, both processes
    read all samples. In the third, both shuffle with the same seed and read their half. The array
    is replicated but built from different data. Of it, the function returns whether JAX treats it
    as replicated, and its sum.
    """
    jax.distributed.initialize(address, 2, rank)
    mesh = Mesh(np.array(jax.devices()), ("data",))
    samples, half = np.arange(8), slice(4 * rank, 4 * rank + 4)
    shuffled = np.random.default_rng(0).permutation(8)

    def combine(part: Any, axes: str | None) -> Any:
        return jax.make_array_from_process_local_data(NamedSharding(mesh, P(axes)), part)

    gathered = [
        sorted(process_allgather(combine(part, "data"), tiled=True).tolist())
        for part in (samples[half], samples, shuffled[half])
    ]
    replica = combine(samples[half], None)
    return gathered, [replica.is_fully_replicated, int(jax.jit(jnp.sum)(replica))]
