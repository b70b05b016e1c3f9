"""The classifier, three times over: linen in both styles, and nnx; one function of the weights."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import nnx

WIDTH = 8
"""Hidden units of the chapter's classifier."""


class Classifier(nn.Module):
    """Two inputs, one hidden layer with tanh, one logit (linen, ``@nn.compact``).

    Attributes:
        width: how many hidden units.

    >>> model = Classifier()
    >>> variables = model.init(jax.random.key(0), jnp.zeros((1, 2)))
    >>> model.apply(variables, jnp.zeros((5, 2))).shape
    (5,)
    """

    width: int = WIDTH

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the logits, of shape (batch,), of inputs of shape (batch, 2)."""
        x = nn.tanh(nn.Dense(self.width, name="hidden")(x))
        return nn.Dense(1, name="output")(x)[..., 0]


class ClassifierWithSetup(nn.Module):
    """The same function of the same parameters, its layers made in ``setup``."""

    width: int = WIDTH

    def setup(self) -> None:
        """Make the layers; linen calls this when the module is first used."""
        self.hidden = nn.Dense(self.width)
        self.output = nn.Dense(1)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the logits, of shape (batch,), of inputs of shape (batch, 2)."""
        return self.output(nn.tanh(self.hidden(x)))[..., 0]


class NnxClassifier(nnx.Module):
    """The same function in nnx, where the module holds its parameters.

    Args:
        width: how many hidden units.
        rngs: nnx's random streams; ``params`` is used.

    >>> NnxClassifier(rngs=nnx.Rngs(0))(jnp.zeros((5, 2))).shape
    (5,)
    """

    def __init__(self, width: int = WIDTH, *, rngs: nnx.Rngs) -> None:
        self.hidden = nnx.Linear(2, width, rngs=rngs)
        self.output = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the logits, of shape (batch,), of inputs of shape (batch, 2)."""
        return self.output(jnp.tanh(self.hidden(x)))[..., 0]

    def load(self, params: Any) -> None:
        """Take over the parameters of the linen model, a tree with hidden and output."""
        for name in ("hidden", "output"):
            layer = getattr(self, name)
            layer.kernel[...] = params[name]["kernel"]
            layer.bias[...] = params[name]["bias"]
