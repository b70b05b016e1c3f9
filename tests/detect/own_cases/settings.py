"""Labeled cases for Python numbers that configure a function that nobody has jitted."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from labelled_cases import registry

CASES, case, add = registry()

X = jnp.arange(10.0)
KEY, RAW_KEY = jax.random.key(0), jax.random.PRNGKey(0)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Pooling:
    """A module whose leaves are an array and Python numbers."""

    weight: Any
    window: int = 2
    is_scaled: bool = True

    def __call__(self, x):
        pooled = x.reshape(-1, self.window).sum(1)
        return pooled * self.weight if self.is_scaled else pooled


POOLING = Pooling(jnp.float32(2))


def pool(model, x):
    return model(x).sum()


def repeat(x, count: int):
    for _ in range(count):
        x = x * 2
    return x


def repeat_unannotated(x, count):
    for _ in range(count):
        x = x * 2
    return x


def clip_gradient(x, limit: float):
    return jnp.clip(x, -limit, limit) if limit > 0 else x


def add_noise(x, key, is_training: bool = False):
    return x + jax.random.normal(key, x.shape) if is_training else x


def init_layer(key, n_in, n_out):
    return jax.random.normal(key, (n_in, n_out)) if n_in else jnp.zeros(n_out)


def init_layers(key, *sizes):
    keys = jax.random.split(key, len(sizes))
    return [jax.random.normal(k, (size,)) for k, size in zip(keys, sizes, strict=True)]


add("control_flow", False, pool, POOLING, X)
add("control_flow", False, repeat, X, 3)
add("control_flow", False, add_noise, X, KEY, True)
add("control_flow", False, init_layer, KEY, 3, 4)
add("control_flow", False, init_layer, RAW_KEY, 3, 4)
# `jax.jit(pool)` fails in the line before the branch, with an error about a shape.
add("control_flow", True, jax.jit(lambda m, x: x * 2 if m.is_scaled else x), POOLING, X)
add("control_flow", True, lambda x: -x if x < 0 else x, 2.0)
add("control_flow", True, jax.jit(repeat), X, 3)
add("control_flow", True, repeat_unannotated, X, 3)
add("control_flow", True, repeat, X, jnp.int32(3))
add("control_flow", True, clip_gradient, X, 1.0)
add("control_flow", True, lambda key, x, n: x if n else x + jax.random.normal(key), KEY, X, 3)

add("dynamic_shape", False, pool, POOLING, X)
add("dynamic_shape", False, init_layer, KEY, 3, 4)
add("dynamic_shape", False, init_layers, KEY, 3, 4)
add("dynamic_shape", False, lambda key, n: jax.random.permutation(key, n), KEY, 5)
add("dynamic_shape", True, jax.jit(init_layers), KEY, 3, 4)
add("dynamic_shape", True, init_layers, KEY, jnp.int32(3), jnp.int32(4))
add("dynamic_shape", True, lambda x, n: jnp.zeros(n) + x.sum(), X, 3)
add("dynamic_shape", True, jax.jit(pool), Pooling(jnp.float32(2), 2, is_scaled=False), X)


# ------------------------------------------------------------ functions that call jitted functions
@jax.jit
def train_step(w, x):
    return w - 0.1 * x.mean(), x.sum()


@functools.partial(jax.jit, static_argnums=0)
def apply(fn, x):
    return fn(x)


def train(w, batches, log_every: int):
    losses = []
    for i, batch in enumerate(batches):
        w, loss = train_step(w, batch)
        if i % log_every == 0:
            losses.append(float(loss))
    return w, losses


def train_until_small(w, x):
    loss = 1e9
    while loss > 100.0:
        w, loss = train_step(w, x)
        x = x / 2
    return w


def train_with_a_failing_step(w, x):
    w, _ = train_step(w, x)
    return jax.jit(lambda v: v if v > 0 else -v)(w)


add("control_flow", False, train, jnp.float32(1), [X, X], 1)
add("control_flow", False, train_until_small, jnp.float32(1), 100 * X)
add("control_flow", False, lambda fn, x: apply(fn, x), jnp.tanh, X)
add("control_flow", True, train_with_a_failing_step, jnp.float32(1), X)
add("control_flow", True, jax.jit(train_until_small), jnp.float32(1), X)
add("control_flow", False, lambda fn, x: fn(x), jnp.tanh, X)
add("control_flow", False, lambda fns, x: [fn(x) for fn in fns], [jnp.tanh, jnp.cos], X)
add("control_flow", True, lambda fn, x: getattr(jnp, fn)(x), "tanh", X)


# ------------------------------------------------------------ numbers in declared fields
class Encoder(nn.Module):
    """A module whose field is declared to be a Python number."""

    latents: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.latents)(x)


class Undeclared(nn.Module):
    """A module whose field may hold anything."""

    latents: Any

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.latents)(x)


def encode(params, x, latents):
    return Encoder(latents).apply(params, x).sum()


PARAMS = Encoder(3).init(KEY, X)

add("dynamic_shape", False, encode, PARAMS, X, 3)
add("dynamic_shape", False, jax.grad(encode), PARAMS, X, 3)
add("dynamic_shape", True, lambda p, x, n: Undeclared(n).apply(p, x).sum(), PARAMS, X, 3)
add("dynamic_shape", True, jax.jit(encode), PARAMS, X, 3)
