"""Test that NaN is found in weights that a step stores in an attribute of its object."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from jaxbits import detect


@jax.jit
def update(weights, x):
    return weights - jnp.log(weights) * x


class Trainer:
    def __init__(self, smallest):
        self.weights = jnp.array([smallest, 1.0, 2.0])

    def step(self, x):
        self.weights = self.weights - jnp.log(self.weights) * x

    def jitted_step(self, x):
        self.weights = update(self.weights, x)

    def step_with_loss(self, x):
        self.weights = update(self.weights, x)
        return x.sum()


@pytest.mark.parametrize("method", ["step", "jitted_step", "step_with_loss"])
def test_nan_finds_weights_stored_in_self(method):
    (found,) = detect.nan(getattr(Trainer(-1.0), method), jnp.ones(3))
    assert (found.severity, found.message) == ("error", "NaN arises in log")
    assert "jnp.log(" in found.place.text
    assert not detect.nan(getattr(Trainer(0.5), method), jnp.ones(3))
