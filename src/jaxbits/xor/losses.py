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

    Raises:
        ValueError: when the shapes differ; they would be broadcast, and each logit be compared
            with each label.
    """
    _alike(logits, labels)
    return optax.sigmoid_binary_cross_entropy(logits, labels).mean()


def accuracy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the share of rows whose logit is on the side of its label, a float32 scalar.

    >>> float(accuracy(jnp.array([-1.0, 2.0]), jnp.array([0, 0])))
    0.5
    """
    _alike(logits, labels)
    return jnp.mean((logits > 0) == (labels > 0), dtype=jnp.float32)


def _alike(logits: jax.Array, labels: jax.Array) -> None:
    if jnp.shape(logits) != jnp.shape(labels):
        raise ValueError(
            f"logits of shape {jnp.shape(logits)} and labels of shape {jnp.shape(labels)}: "
            "should be the same shape"
        )
