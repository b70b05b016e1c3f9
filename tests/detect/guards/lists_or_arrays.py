"""Programs with problems that the guards in chapter 18-lists-or-arrays catch."""

import jax.numpy as jnp
import numpy as np
import optax

narrow = jnp.ones(4, jnp.bfloat16)
# Like a float64 with x64 on, this scalar is strongly typed and wider than `narrow`.
element = jnp.array([0.1, 0.2], jnp.float32)[0]


def descend(weights, rate):
    return optax.apply_updates(weights, -rate * weights)


EXAMPLES = [
    ("array-element-widens", "promotion", lambda g, t: jnp.exp(-g * t), (element, narrow), {}),
    ("list-element-or-array-element", "promotion", lambda t, g: g * t, (narrow, element), {}),
    ("list-element-or-array-element", "promotion", lambda t: np.float32(2) * t, (narrow,), {}),
    ("wide-learning-rate", "promotion", descend, (narrow, element), {}),
]
