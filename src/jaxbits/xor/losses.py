"""What is minimised and what is reported, both from logits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax


def mean_loss(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean sigmoid cross-entropy.

    Args:
        logits: float of shape (batch,): the log of the odds that the label is 1.
        labels: integers 0 or 1, of shape (batch,).

    Returns:
        A scalar of the logits' dtype.
    """
    return optax.sigmoid_binary_cross_entropy(logits, labels).mean()


def accuracy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the share of rows whose logit is on the side of its label, a float32 scalar.

    >>> float(accuracy(jnp.array([-1.0, 2.0]), jnp.array([0, 0])))
    0.5
    """
    return jnp.mean((logits > 0) == (labels > 0), dtype=jnp.float32)
