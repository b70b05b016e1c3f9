"""Programs with problems that the guards in chapter 09-nans catch."""

import jax
import jax.numpy as jnp
import optax
from jax import lax

x, zero = jnp.arange(10.0), jnp.float32(0)


def root_or_zero(a):
    return jnp.where(a > 0, jnp.sqrt(a), 0.0)


def selected(a):
    return lax.select(a > 0, a**0.5, a)


def prints(a):
    print(a)
    return a


def spread(a):
    return jnp.linalg.norm(a - a.mean())


def largest_direction(a):
    return jnp.linalg.eigh(a)[1][0, 0]


def clipped(a):
    return optax.clip_by_global_norm(1.0).update({"a": a, "b": 0 * jnp.log(a)}, optax.EmptyState())


def nothing_kept(a):
    return jax.nn.softmax(jnp.where(a > 99, a, -jnp.inf))


EXAMPLES = [
    ("print-while-hunting", "side_effect", prints, (x,), {}),
    ("mean-of-nothing-known", "nan", lambda a, k: jnp.mean(a, where=k), (x, x > 99), {}),
    ("where-gradient-nan", "nan", jax.grad(root_or_zero), (zero,), {}),
    (
        "cond-or-where-gradient",
        "nan",
        jax.grad(lambda a: lax.select(a > 0, a**0.5, a)),
        (zero,),
        {},
    ),
    ("norm-gradient-at-zero", "nan", jax.grad(spread), (jnp.ones(3),), {}),
    ("empty-mask", "nan", nothing_kept, (x,), {}),
    ("debug-nans-blind-spots", "nan", root_or_zero, (jnp.float32(4),), {}),
    ("checkify-nan-checks", "nan", jnp.linalg.cholesky, (-jnp.eye(2),), {}),
    ("linalg-never-raises", "nan", jnp.linalg.inv, (jnp.zeros((2, 2)),), {}),
    ("clip-spreads-nan", "nan", clipped, (x,), {}),
    ("degenerate-eigenvectors", "nan", jax.grad(largest_direction), (jnp.eye(2),), {}),
    ("debug-infs-output-only", "nan", lambda a: 1 / a, (zero,), {}),
]
