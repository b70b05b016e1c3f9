"""Three versions of the classifier: linen with `nn.compact`, linen with `setup`, and nnx."""

from __future__ import annotations

import jax
from flax import linen as nn
from flax import nnx

from jaxbits.xor._arguments import check_int


class Classifier(nn.Module):
    """A linen network with two inputs, one hidden tanh layer, and one output logit.

    Attributes:
        width: The number of hidden units, at least 1.

    >>> import jax.numpy as jnp
    >>> model = Classifier()
    >>> variables = model.init(jax.random.key(0), jnp.zeros((1, 2)))
    >>> model.apply(variables, jnp.zeros((5, 2))).shape
    (5,)
    """

    width: int = 8

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the logits, as float32[batch], for inputs of float32[batch, 2]."""
        check_int("width", self.width, at_least=1)
        x = nn.tanh(nn.Dense(self.width, name="hidden")(x))
        return nn.Dense(1, name="output")(x)[..., 0]


class ClassifierWithSetup(nn.Module):
    """The same linen network with the same parameters, but with its layers defined in `setup`.

    Attributes:
        width: The number of hidden units, at least 1.

    >>> import jax.numpy as jnp
    >>> model = ClassifierWithSetup()
    >>> variables = model.init(jax.random.key(0), jnp.zeros((1, 2)))
    >>> sorted(variables["params"])
    ['hidden', 'output']
    """

    width: int = 8

    def setup(self) -> None:
        """Define the layers. Flax calls this method before it runs the model."""
        check_int("width", self.width, at_least=1)
        self.hidden = nn.Dense(self.width)
        self.output = nn.Dense(1)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the logits, as float32[batch], for inputs of float32[batch, 2]."""
        return self.output(nn.tanh(self.hidden(x)))[..., 0]


class NnxClassifier(nnx.Module):
    """The same network in nnx, where the module stores its own parameters.

    Args:
        width: The number of hidden units, at least 1.
        rngs: The nnx random streams. The network uses the stream `params`.

    >>> import jax.numpy as jnp
    >>> NnxClassifier(rngs=nnx.Rngs(0))(jnp.zeros((5, 2))).shape
    (5,)
    """

    def __init__(self, width: int = 8, *, rngs: nnx.Rngs) -> None:
        check_int("width", width, at_least=1)
        self.hidden = nnx.Linear(2, width, rngs=rngs)
        self.output = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the logits, as float32[batch], for inputs of float32[batch, 2]."""
        return self.output(nnx.tanh(self.hidden(x)))[..., 0]
