"""Labeled cases for key_reuse and const_key, written before the detectors ran on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()


X = jnp.arange(10.0)


# ------------------------------------------------------------ key_reuse
KEY = jax.random.key(7)
RAW = jax.random.PRNGKey(7)
normal, uniform, split = jax.random.normal, jax.random.uniform, jax.random.split
add("key_reuse", True, lambda k: normal(k) + uniform(k), KEY)
add("key_reuse", True, lambda k: normal(k) + normal(k), RAW)
add("key_reuse", True, lambda k: (split(k)[0], normal(k)), KEY)
add("key_reuse", True, lambda k: [normal(k, (2,)) for _ in range(3)], KEY)
add("key_reuse", True, lambda k: lax.fori_loop(0, 4, lambda i, s: s + normal(k), 0.0), KEY)
add(
    "key_reuse",
    True,
    jax.jit(lambda k, x: jax.vmap(lambda v: v + normal(k))(x) + normal(k)),
    RAW,
    X,
)
add("key_reuse", True, lambda k: (split(k, 3), split(k, 2)), KEY)
add("key_reuse", True, lambda k: lax.scan(lambda c, _: (c, normal(c)), k, None, length=3)[1], KEY)


@case("key_reuse", True, KEY, X)
def own_kr_dropout(key, x):
    a, b = split(key)
    x = x * jax.random.bernoulli(a, 0.5, x.shape)
    return x * jax.random.bernoulli(a, 0.5, x.shape) + normal(b)


@case("key_reuse", True, RAW)
def own_kr_children(key):
    keys = split(key, 4)
    return normal(keys[1]) + uniform(keys[1])


@case("key_reuse", True, KEY)
def own_kr_fold(key):
    return normal(jax.random.fold_in(key, 1)) + normal(jax.random.fold_in(key, 1))


@case("key_reuse", True, KEY, True)
def own_kr_cond(key, flag):
    y = lax.cond(flag, lambda k: normal(k), lambda k: 0.0, key)
    return y + uniform(key)


add("key_reuse", False, lambda k: [normal(c) for c in split(k, 3)], KEY)
add(
    "key_reuse",
    False,
    lambda k: normal(jax.random.fold_in(k, 0)) + normal(jax.random.fold_in(k, 1)),
    RAW,
)
add(
    "key_reuse",
    False,
    lambda k: lax.fori_loop(0, 4, lambda i, s: s + normal(jax.random.fold_in(k, i)), 0.0),
    KEY,
)
add(
    "key_reuse",
    False,
    lambda k: lax.scan(
        lambda c, _: tuple((n := split(c), (n[0], normal(n[1])))[1]), k, None, length=3
    ),
    KEY,
)
add("key_reuse", False, lambda k, f: lax.cond(f, lambda: normal(k), lambda: uniform(k)), KEY, True)
add("key_reuse", False, lambda k: jax.vmap(normal)(split(k, 5)), KEY)
add("key_reuse", False, lambda k: jax.random.permutation(k, 10), KEY)
add("key_reuse", False, lambda k: normal(k) * 2, RAW)
add("key_reuse", False, lambda k, x: jax.grad(lambda w: (w * normal(k, (10,))).sum())(x), KEY, X)
add(
    "key_reuse",
    False,
    lambda k: lax.scan(lambda c, kk: (c + normal(kk), None), 0.0, split(k, 6))[0],
    RAW,
)


@case("key_reuse", False, KEY)
def own_nkr_chain(key):
    total = 0.0
    for _ in range(4):
        key, sub = split(key)
        total += normal(sub)
    return total, key


# ------------------------------------------------------------ const_key
add("const_key", True, lambda x: x + normal(jax.random.key(0), (10,)), X)
add("const_key", True, lambda x: x * jax.random.bernoulli(jax.random.PRNGKey(3), 0.5, (10,)), X)
add("const_key", True, lambda x: x + normal(KEY, (10,)), X)
add("const_key", True, jax.jit(lambda x: x + uniform(split(jax.random.key(1))[0], (10,))), X)
add("const_key", True, lambda x: lax.scan(lambda c, v: (c + v * normal(RAW), None), 0.0, x)[0], X)
add("const_key", True, lambda x: jax.random.permutation(jax.random.key(0), x), X)
add("const_key", True, lambda x: jax.vmap(lambda v: v + normal(KEY))(x), X)
add("const_key", True, lambda x: x + normal(jax.random.fold_in(jax.random.key(0), 3)), X)
add("const_key", True, lambda x, k: x + normal(k, (10,)) + normal(jax.random.key(9)), X, KEY)
add("const_key", True, jax.grad(lambda x: (x * normal(jax.random.key(0), (10,))).sum()), X)
add("const_key", False, lambda x, k: x + normal(k, (10,)), X, KEY)
add("const_key", False, lambda x, seed: x + normal(jax.random.key(seed), (10,)), X, 3)
add(
    "const_key",
    False,
    lambda x, i: x + normal(jax.random.fold_in(jax.random.key(0), i), (10,)),
    X,
    5,
)
add("const_key", False, lambda x: jnp.sin(x), X)
add("const_key", False, lambda k: jax.vmap(normal)(split(k, 3)), RAW)
add("const_key", False, jax.jit(lambda x, seed: x + normal(jax.random.PRNGKey(seed), (10,))), X, 3)
add(
    "const_key",
    False,
    lambda k: lax.scan(lambda c, _: (split(c)[0], normal(split(c)[1])), k, None, length=3)[1],
    KEY,
)
add(
    "const_key",
    False,
    lambda x, k: lax.fori_loop(0, 3, lambda i, s: s + normal(jax.random.fold_in(k, i)), x),
    X,
    KEY,
)
add("const_key", False, lambda s: normal(s["key"]) * s["x"], {"key": KEY, "x": 1.0})
add("const_key", False, lambda x: x + 0 * jnp.uint32(7), X)


# ------------------------------------------------------------ keys that nobody draws from
def _zeros_for_a_cell(key, shape):
    first, second = split(key)
    del first, second
    return jnp.zeros(shape), jnp.zeros(shape)


def _noise_for_a_cell(key, shape):
    first, second = split(key)
    return normal(first, shape), normal(second, shape)


@case("key_reuse", False, X)
def own_nkr_zeros_from_equal_constants(x):
    forward = _zeros_for_a_cell(jax.random.key(0), x.shape)
    backward = _zeros_for_a_cell(jax.random.key(0), x.shape)
    return x + forward[0] - backward[1]


@case("key_reuse", False, KEY, X)
def own_nkr_zeros_from_the_dropout_key(key, x):
    hidden, _ = _zeros_for_a_cell(key, x.shape)
    return (hidden + x) * jax.random.bernoulli(key, 0.5, x.shape)


@case("key_reuse", False, RAW, X)
def own_nkr_children_dropped_by_a_scan(key, x):
    def body(carry, v):
        unused, total = carry
        return (split(unused)[0], total + v), None

    total = lax.scan(body, (key, 0.0), x)[0][1]
    return total + normal(key)


@case("key_reuse", False, KEY, X)
def own_nkr_zeros_inside_jit(key, x):
    start = jax.jit(_zeros_for_a_cell, static_argnums=1)
    return start(key, (10,))[0] + start(key, (10,))[1] + x


@case("key_reuse", True, X)
def own_kr_noise_from_equal_constants(x):
    forward = _noise_for_a_cell(jax.random.key(0), x.shape)
    backward = _noise_for_a_cell(jax.random.key(0), x.shape)
    return x + forward[0] - backward[1]


@case("key_reuse", True, KEY, X)
def own_kr_noise_from_the_dropout_key(key, x):
    hidden, _ = _noise_for_a_cell(key, x.shape)
    return (hidden + x) * jax.random.bernoulli(key, 0.5, x.shape)


@case("key_reuse", True, RAW, X)
def own_kr_children_drawn_by_a_scan(key, x):
    def body(total, pair):
        child, v = pair
        return total + v * normal(child), None

    total = lax.scan(body, 0.0, (split(key, 10), x))[0]
    return total + normal(key)


add("key_reuse", True, lambda k: (split(k), normal(split(k)[1])), KEY)
