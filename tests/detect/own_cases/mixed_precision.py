"""Labeled cases for promotion in mixed-precision code, written before the detector ran on them.

In such code, a narrow value meets a wide one on purpose nearly everywhere.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()

F = jnp.float32
X = jnp.ones((4, 8))
W = jnp.ones((8, 8))
B = jnp.ones((4, 8), jnp.bfloat16)
BW = jnp.ones((8, 8), jnp.bfloat16)
KEY = jax.random.key(0)
LABELS = jnp.array([0, 1, 2, 3])
POSITIONS = np.linspace(0.0, 1.0, 8, dtype=np.float32)

# ------------------------------------------------------------ accumulators and states in float32


def _micro_step(total, x, w):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return total + grad, loss


@case("promotion", False, W, jnp.ones((2, 4, 8), jnp.bfloat16))
def accumulates_gradients(params, xs):
    w = params.astype(jnp.bfloat16)
    total, losses = lax.scan(lambda t, x: _micro_step(t, x, w), jnp.zeros_like(params), xs)
    return params - 0.1 * total / len(xs), losses.mean()


@case("promotion", False, W, jnp.ones((2, 4, 8), jnp.bfloat16))
def returns_the_accumulated_gradients(params, xs):
    w = params.astype(jnp.bfloat16)
    return lax.scan(lambda t, x: _micro_step(t, x, w), jnp.zeros(params.shape), xs)[0]


@case("promotion", False, W, B)
def master_weights(params, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(params.astype(jnp.bfloat16))
    return params - 0.1 * grads


@case("promotion", False, BW, optax.adam(1e-3).init(W), B)
def float32_moments(params, state, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2).astype(F))(params)
    m = state[0].mu * 0.9 + 0.1 * grads
    v = state[0].nu * 0.99 + 0.01 * grads**2
    params = (params - 1e-3 * m / (jnp.sqrt(v) + 1e-8)).astype(params.dtype)
    return params, (state[0]._replace(mu=m, nu=v), state[1])


@case("promotion", False, X, jnp.ones((4, 1)), BW)
def flow_step(state, dt, w):
    return state + dt * (state.astype(jnp.bfloat16) @ w)


@case("promotion", False, KEY, BW)
def sampler(key, w):
    x = jax.random.normal(key, (4, 8))
    for _ in range(2):
        x = x - 0.5 * (x.astype(w.dtype) @ w)
    return x


add("promotion", False, lambda h, xs: lax.scan(lambda h, x: (0.9 * h + x, h), h, xs), X[0], B)

# ------------------------------------------------------------ the code says that it wants float32


@case("promotion", False, B, BW, jnp.ones(8, jnp.bfloat16))
def residual_in_float32(x, w, d):
    residual = x.astype(F)
    x = x @ w
    y = x + residual
    return y + x * d.astype(F)


@case("promotion", False, B, BW)
def attention_weights_in_float32(x, v):
    weights = jax.nn.softmax((x @ x.T).astype(F))
    return (weights @ v[:4]).astype(x.dtype)


@case("promotion", False, B)
def norm_in_float32(x):
    mean = jnp.mean(x, axis=-1, keepdims=True, dtype=F)
    centered = x - mean
    return (centered * lax.rsqrt(jnp.mean(centered**2, axis=-1, keepdims=True) + 1e-6)).astype(
        x.dtype
    )


add("promotion", False, lambda x, y: x * F(y), B, B)
add("promotion", False, lambda x: x - lax.convert_element_type(x, F).mean(), B)

# ------------------------------------------------------------ nothing stays wide


@case("promotion", False, B)
def position_embedding_that_is_cast_back(x):
    x = x + POSITIONS
    x = x.astype(jnp.bfloat16)
    return x * 2


@case("promotion", False, B, LABELS)
def rotary_embedding(x, positions):
    angle = positions[:, None] / 10_000 ** (jnp.arange(4) / 4)
    first, second = jnp.split(x, 2, axis=-1)
    first, second = (
        first * jnp.cos(angle) - second * jnp.sin(angle),
        second * jnp.cos(angle) + first * jnp.sin(angle),
    )
    return jnp.concatenate([first, second], axis=-1).astype(x.dtype)


@case("promotion", False, B, LABELS)
def cross_entropy(logits, labels):
    return -jnp.sum(jax.nn.one_hot(labels, 8) * jax.nn.log_softmax(logits), axis=-1).mean()


@case("promotion", False, BW, B, LABELS)
@functools.partial(jax.value_and_grad)
def loss_of_a_bfloat16_model(w, x, labels):
    smooth = jax.nn.one_hot(labels, 8) * 0.9 + 0.1 / 8
    return -jnp.sum(smooth * jax.nn.log_softmax(x @ w), axis=-1).mean()


@case("promotion", False, B, LABELS)
def accuracy(logits, labels):
    weights = (labels > 0).astype(F)
    logits = logits * weights[:, None]
    return jnp.mean(jnp.argmax(logits, -1) == labels)


@case("promotion", False, jnp.ones((64, 64)), jnp.ones(8, jnp.float16))
def small_part_of_an_observation(pixels, inventory):
    return jnp.concatenate([jax.nn.one_hot(pixels.astype(int), 4).ravel(), inventory])


@case("promotion", False, jnp.ones((4, 64, 64), jnp.bfloat16))
def statistics_next_to_a_large_result(x):
    return x * 2, (x.mean((1, 2)) * np.float32(100)), x.std() * np.float64(2)


@case("promotion", False, {"embed": BW, "layers": jnp.ones((8, 64, 64), jnp.bfloat16)}, B)
def one_small_product(params, x):
    x = (x @ (params["embed"] * np.float32(2))).astype(x.dtype)
    x = jnp.tile(x, (1, 8))
    return lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, params["layers"])[0]


add("promotion", False, lambda x: (x.sum() + np.float32(1)) / 2, B)

# ------------------------------------------------------------ from here on, everything is float32


@case("promotion", True, {"qkv": jnp.ones((8, 24), jnp.bfloat16), "out": BW}, B)
def attention_with_a_numpy_scale(params, x):
    q, k, v = jnp.split(x @ params["qkv"], 3, axis=-1)
    weights = jax.nn.softmax(q @ k.T / np.sqrt(8))
    return jnp.mean((weights @ v) @ params["out"])


@case("promotion", True, BW, B, jnp.array([True, False, True, True]))
def mask_in_float32(w, x, mask):
    x = x * mask.astype(F)[:, None]
    return jnp.sum(jnp.tanh(x @ w) ** 2)


@case("promotion", True, BW, B)
def embedding_scaled_with_numpy(w, x):
    x = x * np.sqrt(8)
    return jax.nn.relu(x @ w)


@case("promotion", True, BW, B)
def noise_in_float32(w, x):
    x = x + 0.1 * jax.random.normal(KEY, x.shape)
    return (x @ w).sum()


@case("promotion", True, {"wh": BW, "wx": BW}, B)
def recurrent_state_starts_in_float32(params, xs):
    def cell(h, x):
        h = jnp.tanh(x @ params["wx"] + h @ params["wh"])
        return h, h

    return lax.scan(cell, jnp.zeros(8), xs)[1].mean()


@case("promotion", True, {"w": BW, "v": BW, "bias": jnp.zeros(8)}, B)
def one_parameter_stayed_in_float32(params, x):
    hidden = jax.nn.relu(x @ params["w"] + params["bias"])
    return jnp.mean(hidden @ params["v"])


class Norm(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(8, dtype=jnp.bfloat16)(x)
        x = x * np.float32(0.5)
        return nn.Dense(8, dtype=jnp.bfloat16)(x) + x


NORM = Norm()


@case("promotion", True, NORM.init(KEY, B), B)
def residual_stream_in_float32(params, x):
    return NORM.apply(params, x)


@case("promotion", True, BW, B)
def output_scaled_with_numpy(w, x):
    return jnp.tanh(x.astype(F) * 2).astype(x.dtype) @ w * np.float32(0.1)


@case("promotion", True, {"w": BW, "scale": jnp.ones(8, jnp.bfloat16)}, B)
def state_that_widens(state, x):
    grads = jax.grad(lambda s: jnp.mean((x @ s["w"] * s["scale"]) ** 2))(state)
    return jax.tree.map(lambda p, g: p - np.float32(0.1) * g, state, grads)


@case("promotion", True, X, BW)
def float32_inputs_of_a_bfloat16_model(x, w):
    return jnp.tanh(x @ w) @ w


class Layer(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(8)(nn.relu(nn.Dense(8)(x)))


LAYER = Layer()


@case("promotion", True, LAYER.init(KEY, X), B)
def layers_without_a_dtype(params, x):
    return LAYER.apply(params, x).mean()


class OneSmallLayer(nn.Module):
    """A small layer without a dtype in a large model that computes in bfloat16."""

    @nn.compact
    def __call__(self, x, t):
        shift = nn.Dense(8)(t)
        for _ in range(4):
            x = nn.Dense(8, dtype=jnp.bfloat16)(x + nn.silu(shift).astype(x.dtype))
        return x


SMALL = OneSmallLayer()
LARGE_BATCH = jnp.ones((64, 8), jnp.bfloat16)


@case("promotion", False, SMALL.init(KEY, LARGE_BATCH, B[0]), LARGE_BATCH, B[0])
def small_layer_without_a_dtype(params, x, t):
    return SMALL.apply(params, x, t)


class State(NamedTuple):
    w: Any
    scale: Any


@case("promotion", True, State(BW, jnp.float32(0.5)), B)
def learned_scale_in_float32(params, x):
    return (x @ params.w) * params.scale


# ------------------------------------------------------------ narrow scalars and wide arrays
HALF = jnp.float16(0.5)


@case("promotion", False, jnp.float32(3), X)
def periodic_difference(side, difference):
    return jnp.mod(difference + side * HALF, side) - HALF * side


@case("promotion", False, X, X)
def momentum_step(momentum, force, step_size=jnp.float16(0.01)):
    return momentum + step_size * force


@case("promotion", False, X)
def momentum_loop(momentum):
    return lax.fori_loop(0, 3, lambda i, p: p - HALF * jnp.sin(p), momentum)


@case("promotion", True, jnp.ones(8, jnp.bfloat16))
def scales_each_element_in_a_loop(xs):
    return lax.map(lambda x: x * np.float32(0.1), xs)


# ------------------------------------------------------------ updates with `.at`
THIRDS = jnp.arange(1.0, 5.0) / 3


@case("cast", True, jnp.zeros(4, jnp.bfloat16), THIRDS)
def cache_in_bfloat16(cache, keys):
    return cache.at[:2].set(keys[:2])


@case("cast", True, jnp.zeros(4, jnp.float16), THIRDS)
@jax.jit
def sums_in_float16(total, values):
    return total.at[jnp.array([0, 1, 1, 3])].add(values)


@case("cast", True, jnp.zeros(4, jnp.float16), 1e5 * THIRDS)
def update_that_is_out_of_range(total, values):
    return total.at[:].set(values)


@case("cast", False, jnp.zeros(4, jnp.bfloat16), THIRDS)
def cache_with_a_cast(cache, keys):
    return cache.at[:2].set(keys[:2].astype(cache.dtype))


@case("cast", False, jnp.zeros(4, jnp.bfloat16), jnp.arange(4.0))
def cache_of_small_integers(cache, keys):
    return cache.at[:2].set(keys[:2]).at[2].set(0.1).at[3].add(1 / 3)


@case("cast", False, THIRDS.astype(jnp.bfloat16), THIRDS)
@functools.partial(jax.grad, argnums=(0, 1))
def gradient_of_an_update_in_float32(values, total):
    return jnp.sum(total.at[:2].multiply(values[:2]) ** 2) / 7


# ------------------------------------------------------------ complex numbers
PHASE = jnp.linspace(0.1, 1.0, 8)


def intensity(phase, amplitude):
    wave = amplitude * jnp.exp(1j * phase)
    return jnp.mean(jnp.abs(jnp.fft.fft(wave)) ** 2 * jnp.arange(8))


add("cast", False, jax.grad(intensity), PHASE, jnp.ones(8))
add("cast", False, jax.jit(jax.value_and_grad(jax.jit(intensity), (0, 1))), PHASE, jnp.ones(8))
add("cast", False, jax.hessian(intensity), PHASE, jnp.ones(8))
add("cast", False, lambda phase: jnp.fft.ifft(jnp.fft.fft(phase)).real, PHASE)
add("cast", True, lambda phase: jnp.exp(1j * phase).astype(F), PHASE)


@case("cast", True, PHASE)
@jax.value_and_grad
def real_part_by_a_cast(phase):
    return jnp.sum(jnp.exp(1j * phase).astype(F) * jnp.arange(8))
