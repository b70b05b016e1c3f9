"""Programs that the guards of chapter 18-lists-or-arrays are for."""

import jax.numpy as jnp
import numpy as np
import optax

narrow = jnp.ones(4, jnp.bfloat16)
element = jnp.array([0.1, 0.2], jnp.float32)[0]  # as a float64 is with x64 on: wider, and strong


def descend(weights, rate):
    return optax.apply_updates(weights, -rate * weights)


EXAMPLES = [
    ("list-element-or-array-element", "promotion", lambda t, g: g * t, (narrow, element), {}),
    ("list-element-or-array-element", "promotion", lambda t: np.float32(2) * t, (narrow,), {}),
    ("wide-learning-rate", "promotion", descend, (narrow, element), {}),
]
