"""Programs with problems that the guards in chapter 05-non-array-inputs catch."""

import jax
import jax.numpy as jnp
import numpy as np

x = jnp.arange(10.0)

EXAMPLES = [
    ("list-as-argument", "list_args", lambda ns: jnp.sum(jnp.array(ns)), ([1.0] * 50,), {}),
    (
        "list-to-array-slow",
        "list_args",
        lambda a: jnp.array([v / 2 for v in a]),
        (jnp.ones(100),),
        {},
    ),
    ("device-put-list", "list_args", jnp.stack, (jax.device_put([1.0] * 50),), {}),
    ("numpy-takes-over", "transfer", lambda a: a - np.median(a), (x,), {}),
    ("argument-not-an-array", "control_flow", lambda a, mode: a, (x, "train"), {}),
    ("tensor-integers-cut", "x64", lambda ids: jnp.asarray(ids) % 2, (np.array([2**40]),), {}),
]
