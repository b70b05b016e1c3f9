"""Maximize a ratio of signal to noise with the true gradient and with one that `.item()` breaks."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

_SPREADS = np.array([0.5, 0.4, 0.3, 4.0])
_GAINS = np.array([1.0, 0.8, 0.6, 2.0])
READINGS: jax.Array = jnp.asarray(
    _GAINS + np.random.RandomState(0).randn(64, 4) * _SPREADS, jnp.float32
)
"""64 readings of four sensors. The last sensor is the loudest and the noisiest."""

START = jnp.ones(4)
"""The weights at which the climbs start."""


def ratio(weights: jax.Array) -> jax.Array:
    """Return the ratio of signal to noise of the weighted sum of the readings."""
    mixed: jax.Array = READINGS @ weights
    return mixed.mean() / mixed.std()


def ratio_with_item(weights: jax.Array) -> jax.Array:
    """Return the same ratio, but compute with a Python float for the noise."""
    mixed: jax.Array = READINGS @ weights
    result: jax.Array = mixed.mean() / mixed.std().item()
    return result


def ratio_and_log(weights: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Return the ratio, and the noise as auxiliary data for a log."""
    mixed: jax.Array = READINGS @ weights
    spread = mixed.std()
    return mixed.mean() / spread, {"spread": spread}


def climb(function: Callable[[jax.Array], jax.Array], steps: int = 40) -> list[float]:
    """Return the ratio before and after each step along the gradient of a function."""
    weights, slope = START, jax.grad(function)
    heights = [ratio(weights)]
    for _ in range(steps):
        weights = weights + 0.05 * slope(weights)
        heights.append(ratio(weights))
    return [round(float(height), 3) for height in heights]
