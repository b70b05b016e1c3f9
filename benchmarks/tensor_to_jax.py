"""Measure how long collating takes with NumPy and with PyTorch, and the transfer that follows."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch.utils.data import default_collate

from book_tools.benchmarking.timing import (
    quartiles,
    ratio_quartiles,
    round_significant,
    time_interleaved,
)
from jaxbits.book.data_loading import RandomImages

TITLE = f"a batch of 256 images: collating it, and giving it to JAX (torch {torch.__version__})"
ROUNDS = 15


def run() -> dict[str, Any]:
    """Time both collate functions and both transfers in turn, so that all see the same load."""
    torch.set_num_threads(1)  # PyTorch does the same in a worker.
    samples = list(RandomImages(256).images)
    array, tensor = np.stack(samples), default_collate(samples)
    ways: dict[str, Callable[[], object]] = {
        "np.stack": lambda: np.stack(samples),
        "default_collate": lambda: default_collate(samples),
        "jnp.asarray of the array": lambda: jax.block_until_ready(jnp.asarray(array)),
        "jnp.asarray of the tensor": lambda: jax.block_until_ready(jnp.asarray(tensor)),
    }
    for way in ways.values():
        way()
    times = time_interleaved(ways, ROUNDS, dict.fromkeys(ways, 20))
    in_ms = {name: [1e3 * seconds for seconds in values] for name, values in times.items()}
    return {
        "results": {name: quartiles(values, "ms") for name, values in in_ms.items()},
        "ratios": {
            "default_collate against np.stack": ratio_quartiles(
                in_ms["default_collate"], in_ms["np.stack"]
            ),
            "a tensor against an array": ratio_quartiles(
                in_ms["jnp.asarray of the tensor"], in_ms["jnp.asarray of the array"]
            ),
        },
        "series": {
            "medians": {
                name: round_significant(statistics.median(values), 2)
                for name, values in in_ms.items()
            }
        },
    }
