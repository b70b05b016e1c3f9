"""Labeled cases for out_of_bounds, written before the detector ran on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()


X = jnp.arange(10.0)
M = jnp.arange(12.0).reshape(3, 4)


# ------------------------------------------------------------ out_of_bounds
add("out_of_bounds", True, lambda x, i: x[i], X, 10)
add("out_of_bounds", True, lambda x, i: x[i], X, jnp.array([0, 3, 40]))
add("out_of_bounds", True, lambda x, i: x.at[i].set(1.0), X, jnp.array([11]))
add(
    "out_of_bounds",
    True,
    lambda x, i: jnp.take(x, i, axis=1, mode="clip") * 0 + x[:, i],
    M,
    jnp.array([4, 0]),
)
add("out_of_bounds", True, jax.jit(lambda x, i: lax.dynamic_slice(x, (i,), (4,))), X, 8)
add("out_of_bounds", True, jax.vmap(lambda x, i: x[i], in_axes=(None, 0)), X, jnp.arange(8, 12))
add(
    "out_of_bounds", True, lambda x, s: jax.ops.segment_sum(x, s, num_segments=3), X, jnp.arange(10)
)
add(
    "out_of_bounds",
    True,
    lambda x, i: jnp.take_along_axis(x, i, axis=1),
    M,
    jnp.array([[4], [0], [1]]),
)


@case("out_of_bounds", True, X)
def own_oob_scan(x):
    def body(carry, i):
        return carry + x[i + 1] - x[i], None

    return lax.scan(body, 0.0, jnp.arange(10))[0]


@case("out_of_bounds", True, X, jnp.array(-11))
def own_oob_cond(x, i):
    return lax.cond(i < 0, lambda: x[i], lambda: x[0])


@case("out_of_bounds", True, jnp.ones((5, 3)), jnp.array([1, 5, 2]))
def own_oob_grad_embedding(table, ids):
    return jax.grad(lambda t: (t[ids] ** 2).sum())(table)


@case("out_of_bounds", True, X, 5)
def own_oob_while(x, n):
    return lax.while_loop(lambda s: s[0] < 12, lambda s: (s[0] + n, s[1] + x[s[0]]), (0, 0.0))[1]


add("out_of_bounds", False, lambda x, i: x[i], X, -1)
add("out_of_bounds", False, lambda x, i: x[i], X, jnp.array([0, 9, -10]))
add("out_of_bounds", False, lambda x, i: x.at[i].get(mode="fill", fill_value=0), X, jnp.array([12]))
add("out_of_bounds", False, lambda x, i: x.at[i].set(1.0, mode="drop"), X, jnp.array([12]))
add("out_of_bounds", False, lambda x: jnp.sort(x)[::-1][jnp.argmax(x)], X)
add("out_of_bounds", False, lambda x: jnp.nonzero(x, size=20, fill_value=0)[0], X)
add("out_of_bounds", False, lambda x: jnp.interp(jnp.array([-3.0, 99.0]), x, x), X)
add("out_of_bounds", False, lambda x: jnp.histogram(x, bins=3, range=(0.0, 2.0))[0], X)
add(
    "out_of_bounds",
    False,
    lambda x, i: jnp.where(i < 10, x[jnp.minimum(i, 9)], 0.0),
    X,
    jnp.arange(14),
)
add("out_of_bounds", False, lambda x: lax.fori_loop(0, 9, lambda i, s: s + x[i] * x[i + 1], 0.0), X)
add(
    "out_of_bounds",
    False,
    lambda x, i: jax.nn.one_hot(i, 4) @ x.reshape(4, 3),
    jnp.arange(12.0),
    jnp.array([5]),
)
add("out_of_bounds", False, lambda x: jax.grad(lambda v: jnp.max(v[2:5]))(x), X)


# Reads that `jnp.where` masks stay masked in the backward pass, where they are multiplied by zero.
def own_masked_read(w, x, i):
    return jnp.where(i < x.shape[0], x[i] * w, 0.0)


def own_unmasked_read(w, x, i):
    return jnp.tanh(x[i] * w)


add("out_of_bounds", False, own_masked_read, 2.0, X, 10)
add("out_of_bounds", False, jax.grad(own_masked_read), 2.0, X, 10)
add("out_of_bounds", False, jax.value_and_grad(own_masked_read, argnums=1), 2.0, X, 10)
add("out_of_bounds", True, jax.grad(own_unmasked_read), 0.01, X, 10)
add("out_of_bounds", True, own_unmasked_read, 2e6, X, 10)
add("out_of_bounds", True, jax.value_and_grad(own_unmasked_read, argnums=1), 0.01, X, 10)
