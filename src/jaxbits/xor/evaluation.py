"""Evaluation over a loader, where every sample counts once, also those of a short last batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbits.xor.losses import mean_loss
from jaxbits.xor.state import TrainState


class Scores(NamedTuple):
    """Mean loss and accuracy over all samples, and how many those were."""

    loss: float
    accuracy: float
    samples: int


@jax.jit
def eval_step(
    state: TrainState, inputs: jax.Array, labels: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the sums over one batch: of the losses, and of the right answers.

    Args:
        state: its parameters are used.
        inputs: float32 of shape (batch, 2).
        labels: integers 0 or 1, of shape (batch,).

    Returns:
        A float32 and an int32 scalar: sums and not means, so that batches of any size add up.
    """
    logits = state.apply_fn({"params": state.params}, inputs)
    right = jnp.sum((logits > 0) == (labels > 0))
    return mean_loss(logits, labels) * len(labels), right


def evaluate(state: TrainState, loader: Any) -> Scores:
    """Return the scores of a state over a loader, weighted by the sizes of its batches.

    The right answers are counted, so the accuracy is exact and does not depend on the batch size;
    the loss does in its last digits, since sums of floats do.

    Args:
        state: its parameters are used.
        loader: of pairs of inputs and labels, such as `eval_loader` gives.

    Raises:
        ValueError: when the loader is empty, or logits and labels differ in shape.
    """
    sums = [(*eval_step(state, inputs, labels), len(labels)) for inputs, labels in loader]
    if not sums:
        raise ValueError("loader: should give at least one batch, gave none")
    # Added up in Python: float32 counts to 2**24 only.
    loss, right, samples = (sum(part) for part in zip(*jax.device_get(sums), strict=True))
    return Scores(float(loss) / samples, int(right) / samples, samples)
