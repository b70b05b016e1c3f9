"""Write to a NumPy buffer that was passed to JAX, and return what JAX read from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits.book.figures.immutable_arrays import aligned_buffer

_SIZE = 400
_BATCHES = 3

Convert = Callable[[Any], Any]
"""A function that converts a NumPy array to a JAX array, such as `jax.device_put`."""


@jax.jit
def _score(weights: jax.Array, batch: jax.Array) -> jax.Array:
    """Return the mean of the batch after a slow computation.

    The weights are the identity matrix, so multiplying by them changes nothing but takes time.
    """
    weights = lax.fori_loop(0, 25, lambda _, w: w @ w, weights)
    return (batch @ weights).mean()


def _keep_unchanged(buffer: Any) -> Any:
    return buffer


def batches_in_reused_buffer(
    convert: Convert, buffer: np.ndarray[Any, Any] | None = None
) -> list[int]:
    """Fill a buffer with 0, 1, and 2 in turn, convert it each time, and return what is kept.

    Args:
        convert: The conversion under test. This function waits for each result.
        buffer: The NumPy array to reuse, or `None` for one whose memory JAX can share.

    Returns:
        The first element of each JAX array, read at the end. Correct is ``[0, 1, 2]``.

    >>> batches_in_reused_buffer(lambda buffer: jax.device_put(buffer.copy()))
    [0, 1, 2]
    """
    buffer = aligned_buffer(16) if buffer is None else buffer
    kept = []
    for number in range(_BATCHES):
        buffer[:] = number
        kept.append(convert(buffer).block_until_ready())
    return [int(batch[0]) for batch in kept]


def scores_of_reused_buffer(convert: Convert = _keep_unchanged, wait: bool = False) -> list[float]:
    """Run a slow step on a buffer that is filled with 0, 1, and 2 in turn.

    Args:
        convert: A function that is applied to the buffer before it is passed to the step.
        wait: Whether to wait for each result before the buffer is filled again.

    Returns:
        The mean of each batch as the step saw it. Correct is ``[0.0, 1.0, 2.0]``.

    >>> scores_of_reused_buffer(wait=True)
    [0.0, 1.0, 2.0]
    """
    weights, buffer, scores = jnp.eye(_SIZE), aligned_buffer(_SIZE), []
    _score(weights, np.zeros(_SIZE, np.float32)).block_until_ready()  # compiles the step
    for number in range(_BATCHES):
        buffer[:] = number
        score = _score(weights, convert(buffer))
        scores.append(score.block_until_ready() if wait else score)
    return [round(float(score), 3) for score in scores]


def copies_while_busy(convert: Convert, buffer: np.ndarray[Any, Any] | None = None) -> list[int]:
    """Convert a reused buffer three times while the device is busy, and return what is kept.

    Args:
        convert: The conversion under test.
        buffer: The NumPy array to reuse, or `None` for one whose memory JAX can share.

    Returns:
        The first element of each JAX array, read at the end. Correct is ``[0, 1, 2]``.

    >>> copies_while_busy(lambda buffer: jnp.array(buffer.copy()))
    [0, 1, 2]
    """
    buffer = aligned_buffer(_SIZE) if buffer is None else buffer
    weights = jnp.eye(_SIZE)
    for warm_up in (_score(weights, np.zeros(_SIZE, np.float32)), convert(buffer)):
        warm_up.block_until_ready()
    running, kept = _score(weights, np.zeros(_SIZE, np.float32)), []
    for number in range(_BATCHES):
        buffer[:] = number
        kept.append(convert(buffer))
    running.block_until_ready()
    return [int(batch[0]) for batch in kept]
