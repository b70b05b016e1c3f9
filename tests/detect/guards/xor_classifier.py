"""Programs with problems that the guards in chapter 15-xor-classifier catch."""

import jax
import jax.numpy as jnp

x = jnp.arange(10.0)


def two_draws(key):
    return jax.random.normal(key, (2,)) + jax.random.uniform(key, (2,))


def constant_key(value):
    return value + jax.random.normal(jax.random.key(0))


lengths = {"calls": [(jnp.ones(n),) for n in (4, 4, 3)]}
containers = {"calls": [([x, x],), ((x, x),)]}

EXAMPLES = [
    ("one-key-for-two-draws", "key_reuse", two_draws, (jax.random.key(0),), {}),
    ("one-key-for-two-draws", "const_key", constant_key, (1.0,), {}),
    ("batch-list-or-tuple", "recompile", jax.jit(lambda batch: batch[0]), (), containers),
    ("short-last-batch", "recompile", jax.jit(jnp.sum), (), lengths),
]
