"""Evaluation over a loader, where every sample counts once, also those of a short last batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbits.xor.losses import accuracy, mean_loss
from jaxbits.xor.state import TrainState


class Scores(NamedTuple):
    """Mean loss and accuracy over all samples, and how many those were."""

    loss: float
    accuracy: float
    samples: int


@jax.jit
def eval_step(state: TrainState, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the sums over one batch: loss, right answers, samples.

    Args:
        state: its parameters are used.
        inputs: float32 of shape (batch, 2).
        labels: integers 0 or 1, of shape (batch,).

    Returns:
        float32 of shape (3,): sums and not means, so that batches of other sizes add up right.
    """
    logits = state.apply_fn({"params": state.params}, inputs)
    means = jnp.stack([mean_loss(logits, labels), accuracy(logits, labels), jnp.float32(1)])
    return means * len(labels)


def evaluate(state: TrainState, loader: Any) -> Scores:
    """Return the scores of a state over a loader, weighted by the sizes of its batches.

    Args:
        state: its parameters are used.
        loader: of pairs of inputs and labels, such as `eval_loader` gives.

    Raises:
        ValueError: when the loader is empty.
    """
    sums = [eval_step(state, inputs, labels) for inputs, labels in loader]
    if not sums:
        raise ValueError("evaluate(loader=...): should give at least one batch, gave none")
    loss, right, samples = (float(x) for x in jnp.stack(sums).sum(axis=0))
    return Scores(loss / samples, right / samples, int(samples))
