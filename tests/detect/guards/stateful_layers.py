"""Programs with problems that the guards in chapter 16-stateful-layers catch."""

import jax.numpy as jnp
from flax import nnx

x = jnp.ones((3, 2))
layer = nnx.Linear(2, 1, rngs=nnx.Rngs(0))


def by_name(a):
    return layer(a)


EXAMPLES = [("model-from-outside", "stale_global", by_name, (x,), {})]
