"""Labeled cases for promotion, x64, and carry, written before the detectors ran on them."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()

X = jnp.arange(4.0)
M = jnp.ones((4, 4))
B = jnp.ones(4, jnp.bfloat16)
BM = jnp.ones((4, 4), jnp.bfloat16)
H = jnp.ones(4, jnp.float16)
I8 = jnp.arange(4, dtype=jnp.int8)
U8 = jnp.arange(4, dtype=jnp.uint8)
I32 = jnp.arange(4, dtype=jnp.int32)
U32 = jnp.arange(4, dtype=jnp.uint32)

# promotion


@case("promotion", True, H)
def half_times_numpy_pi(x):
    return jnp.sin(x * np.float64(np.pi))


@case("promotion", True, {"w": BM, "b": jnp.zeros(4)}, B)
def one_bias_in_float32(p, x):
    return jax.nn.relu(x @ p["w"] + p["b"])


@case("promotion", True, B, X > 1)
def where_with_a_float32_array(x, keep):
    return jnp.where(keep, x, jnp.zeros(4))


@case("promotion", True, B, X)
def concatenates(x, y):
    return jnp.concatenate([x, y])


@case("promotion", True, B, M)
def einsum_mixed(x, w):
    return jnp.einsum("i,ij->j", x, w)


@case("promotion", False, I8, U8)
def int8_and_uint8(a, b):
    return a + b


@case("promotion", False, U8)
def bytes_times_a_default_array(x):
    return x * jnp.array([1, 2, 3, 4])


@case("promotion", True, I32, U32)
def int32_and_uint32(a, b):
    return a + b


@case("promotion", True, BM)
def temperature_in_numpy(q):
    scale = 1 / np.sqrt(q.shape[-1])
    return jax.nn.softmax(q @ q.T * scale)


@case("promotion", True, B)
def by_a_linspace(x):
    return x * jnp.linspace(0, 1, 4)


add("promotion", True, jax.jit(lambda x, m: jnp.maximum(x, m)), B, X)
add("promotion", True, jax.vmap(lambda x: x + jnp.float32(1)), B)
add("promotion", True, jax.grad(lambda p: (p * np.float32(2)).sum().astype(jnp.float32)), B)


@case("promotion", True, B)
def loop_with_a_float32_step(x):
    return lax.fori_loop(0, 3, lambda i, v: (v * jnp.float32(0.5)).astype(v.dtype), x)


@case("promotion", True, jnp.array([1, 2**24 + 1]), jnp.ones(2))
def ids_times_weights(ids, w):
    return ids * w


add("promotion", False, lambda x: jax.nn.gelu(x) * 0.5 + 1, B)
add("promotion", False, lambda x: x.astype(jnp.float32) * np.float32(2), B)
add("promotion", False, lambda x: x + jnp.asarray(2.0, x.dtype), H)
add("promotion", False, lambda x: jnp.sum(x, dtype=jnp.float32), B)
add("promotion", False, lambda x: jnp.var(x) + jnp.std(x) + jnp.linalg.norm(x), B)
add("promotion", False, lambda x: x > np.float32(0.5), B)
add("promotion", False, lambda x: jnp.where(x > 0, x, 0.0), H)
add("promotion", False, lambda x: x * (x > 0), B)
add("promotion", False, lambda x: (x > 1).sum() + x.mean(), X)
add("promotion", False, lambda x, i: x[i] + x[i + 1], X, jnp.array([0, 1], jnp.int8))
add("promotion", False, lambda x: jnp.mean(x) + jnp.sqrt(x), I32)
add("promotion", False, lambda n: n + (n > 1), I32)
add("promotion", False, lambda x: x + 1, U8)
add("promotion", False, lambda x, w: jnp.matmul(x, w, preferred_element_type=jnp.float32), B, BM)
add("promotion", False, lambda x: lax.convert_element_type(x, jnp.float32) * X, B)
add("promotion", False, lambda x, y: x * jnp.asarray(y, x.dtype), B, X)
add("promotion", False, lambda x: jax.nn.standardize(x) + jax.nn.log_softmax(x), B)
add("promotion", False, lambda k: jax.random.normal(k, (3,), jnp.bfloat16), jax.random.key(0))
add("promotion", False, lambda x: x / jnp.arange(1, 5), X)
add("promotion", False, lambda x: (x.astype(jnp.int32) + jnp.arange(4)).astype(jnp.int8), I8)
add("promotion", False, lambda x: x + 1j * x, X)

# x64

IDS = np.array([9_007_199_254_740_993, 1])
TABLE = np.array([1.0, 2.0, 3.5])
FILTER = np.random.default_rng(0).normal(size=64)
HASH = np.uint64(2**40 + 1)


class Clock:
    """A clock that stores milliseconds since 1970."""

    start = np.array([1_700_000_000_123])

    def __call__(self, x):
        return x - jnp.asarray(self.start)


@case("x64", True, X)
def ones_like_int64(x):
    return jnp.ones_like(x, dtype=jnp.int64)


@case("x64", True, {"time": np.array([1_700_000_000.25, 1_700_000_000.5])})
def epoch_seconds(batch):
    return jnp.diff(batch["time"])


@case("x64", True, np.int64(3_000_000_000))
def one_large_number(n):
    return jnp.asarray(n) // 2


@case("x64", True, 2**40)
def python_int_argument(n):
    return jnp.asarray(n) // 2


@case("x64", True, X)
def python_list_of_large(x):
    return x + jnp.array([2**33, 1, 2, 3])


@case("x64", True, X)
def ids_from_a_global(x):
    return x[0] + jnp.asarray(IDS)[0]


@case("x64", True, X)
def linspace_in_float64(x):
    return x + jnp.linspace(0, 1, 4, dtype=np.float64)


@case("x64", True, np.array([1e300, 1.0]))
def beyond_float32(x):
    return jnp.log(x)


@case("x64", True, np.array([1e-60, 1.0]))
def below_float32(x):
    return jnp.log(x)


@case("x64", True, X)
def complex128(x):
    return x.astype(jnp.complex128)


@case("x64", True, jax.random.key(0))
def draw_in_float64(key):
    return jax.random.uniform(key, (3,), dtype=jnp.float64)


@case("x64", True, I32)
def local_hash(x):
    return x + np.array([2**35 + 7])


@case("x64", True, I32)
def numpy_scalar_hash(x):
    return x + np.int64(2**35 + 7)


add("x64", True, Clock(), I32)
add("x64", True, lambda x: x.sum(dtype=jnp.int64), I32)
add("x64", True, partial(lambda table, x: x + jnp.asarray(table), IDS), jnp.ones(2))

add("x64", False, lambda x: jnp.asarray(x) + 1, np.arange(10))
add("x64", False, lambda x: jnp.asarray(x) * 2, np.ones(3))
add("x64", False, lambda x: x[:3] * TABLE, X)
add("x64", False, lambda x: jnp.convolve(x, FILTER), X)
add("x64", False, lambda x: x * np.pi + np.sqrt(2.0) - np.log(3), X)
add("x64", False, lambda x: x * jnp.asarray(0.1, jnp.float32), X)
add("x64", False, lambda x: x.astype(int) + jnp.zeros(4, dtype=int), X)
add("x64", True, lambda x: x * 2**40, X)
add("x64", False, lambda n: n + 1, 7)
add("x64", False, lambda n: n % 2, np.int64(12))
add("x64", False, lambda x: jnp.asarray(x, jnp.float32).sum(), np.arange(6, dtype=np.float16))
add("x64", False, lambda b: b["i"] + (2**31 - 1), {"i": I32})
add("x64", False, lambda x: jnp.linspace(0, 1, 5) @ jnp.arange(5) + x, X)
add("x64", False, lambda k: jax.random.normal(k, (4,)), jax.random.key(0))
add("x64", False, lambda x: jax.nn.gelu(x) + jax.scipy.special.erf(x), X)
add("x64", False, lambda x: jnp.asarray(x), np.array([np.nan, np.inf, 0.0]))

# carry


class Particle(NamedTuple):
    x: Any
    v: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Train:
    params: Any
    step: Any
    best: Any = None


@case("carry", True, Particle(X, X))
def namedtuple_to_tuple(s):
    return (s.x + s.v, s.v)


@case("carry", True, (jnp.zeros(3), jnp.int32(0)), jnp.ones(3))
def scan_body_mean(c, x):
    mean, n = c
    return (mean + (x - mean) / (n + 1), n + 1.0), mean


@case("carry", True, {"w": X}, X)
def a_key_more(s, g):
    return {"w": s["w"] - g, "grad": g}


@case("carry", True, {"w": X, "m": X}, X)
def a_key_less(s, g):
    return {"w": s["w"] - g}


@case("carry", True, jnp.zeros(()), X)
def scalar_to_vector(total, x):
    return total + x


@case("carry", True, Train(X, 0), X)
def best_appears(s, g):
    return Train(s.params - g, s.step + 1, jnp.min(g))


@case("carry", True, Train({"w": B}, jnp.int32(0)), X)
def params_widen(s, g):
    return dataclasses.replace(s, params={"w": s.params["w"] - 0.1 * g}), jnp.sum(g)


@case("carry", True, (X, [X]), X)
def history_grows(s, g):
    x, past = s
    return x - g, [*past, x]


@case("carry", True, jnp.int32(0), X)
def count_as_float(n, x):
    return n + x.mean(), None


@case("carry", True, X, (jnp.zeros(4), 1), carry=1)
def second_argument(x, s):
    m, n = s
    return (m + x, n + 1.5), x


@case("carry", True, {"x": X, "t": 0.0}, carry="state")
def by_name(state):
    return {"x": state["x"] * 2, "t": state["t"] + jnp.float32(0.1)}


@case("carry", True, X)
def inner_scan_widens(x):
    return lax.scan(lambda c, v: (c + v, c), jnp.int32(0), x)


@case("carry", True, X)
def inner_while_changes_shape(x):
    return lax.while_loop(lambda v: v.sum() < 10, lambda v: jnp.concatenate([v, v]), x)


@case("carry", True, jnp.float32(1))
def branches_differ(x):
    return lax.cond(x > 0, lambda v: v, lambda v: jnp.int32(0), x)


def _momentum():
    optimizer = optax.sgd(0.1, momentum=0.9)
    params = jnp.ones(4, jnp.bfloat16)

    def update(state, g):
        updates, state = optimizer.update(g, state)
        return state, updates

    return update, optimizer.init(params), jnp.ones(4)


add("carry", True, *_momentum())


def _adam_step():
    optimizer = optax.adam(1e-3)
    params = {"w": M, "b": X}

    def step(state, x):
        params, inner = state
        loss, g = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(params)
        updates, inner = optimizer.update(g, inner, params)
        return (optax.apply_updates(params, updates), inner), loss

    return step, (params, optimizer.init(params)), X


add("carry", False, *_adam_step())
add("carry", False, lambda p, x: jnp.mean((x @ p["w"]) ** 2), {"w": M}, X)
add("carry", False, lambda p, x: x @ p["w"] + p["b"], {"w": M, "b": X}, X)
add("carry", False, lambda s, g: Train(s.params - g, s.step + 1), Train(X, 0), X)
add("carry", False, lambda s: Particle(s.x + s.v, s.v * 0.9), Particle(X, X))
add("carry", False, lambda c, x: (c + x, c * x), X, X)
add(
    "carry",
    False,
    lambda s, g: ({**s, "n": s["n"] + 1}, {"loss": g}),
    {"w": X, "n": jnp.int32(0)},
    X,
)
add("carry", False, lambda c, x: (c + x.sum(), None), jnp.float32(0), X)
add("carry", False, lambda x: lax.scan(lambda c, v: (c + v, c), 0.0, x), X)
add("carry", False, lambda x, s: (s["m"] + x, {"m": s["m"] * 0.9}), X, {"m": X}, carry=1)
add("carry", False, lambda x, state: {"m": state["m"] + x}, X, {"m": X}, carry="state")
add("carry", False, lambda s, g: (s[0] - g, s[1]), (X, None), X)
add("carry", False, lambda xs: (xs**2).sum(), X)
add("carry", False, lambda k: jax.random.split(k)[0], jax.random.key(0))
add("carry", False, lambda p, x: (jnp.sum(x), {"accuracy": x.mean()}), {"w": X}, X)

# More cases, written after the detectors passed all cases above


# promotion
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Weights:
    w: Any
    scale: Any


@case("promotion", True, Weights(BM, jnp.float32(0.5)), B)
def layer_norm_scale(p, x):
    return (p.w @ x) * p.scale


@case("promotion", True, BM, X)
def residual_in_scan(ws, x0):
    def body(h, w):
        return h.astype(w.dtype) + 0, h * w.sum()

    return lax.scan(body, x0.astype(jnp.bfloat16), ws)[0] + x0


@case("promotion", True, H)
def table_of_positions(x):
    positions = np.array([0.0, 0.5, 1.0, 1.5])
    return x + positions


@case("promotion", True, B)
def eps_as_float32(x):
    return x / (jnp.abs(x) + jnp.finfo(jnp.float32).eps)


@case("promotion", True, B)
def stacked(x):
    return jnp.stack([x, jnp.zeros(4)])


@case("promotion", False, jnp.ones(4, jnp.int16), I32)
def minimum_of_ints(a, b):
    return jnp.minimum(a, b)


@case("promotion", True, B, X)
def fma(x, y):
    return jnp.clip(x, jnp.float32(0), y)


add("promotion", True, lambda x: x ** np.float32(2), B)
add("promotion", True, lambda x: jnp.dot(x, M), B)
add("promotion", True, lambda x: jnp.add(x, jnp.ones(4)), H)
add("promotion", True, lambda x: jnp.multiply(x, np.float64(3)), B)
add("promotion", True, lambda x: jnp.outer(x, X), B)
add("promotion", True, lambda x: jnp.tensordot(x, X, 1), B)
add("promotion", True, lambda x: np.float32(2) * x, B)
add("promotion", False, lambda n: n * jnp.ones(4, jnp.int32), jnp.arange(4, dtype=jnp.int16))
add("promotion", True, lambda x: jnp.where(x > 0, x, np.float32(0)), B)
add(
    "promotion", True, jax.jit(lambda x, k: x + jax.random.normal(k, x.shape)), B, jax.random.key(0)
)
add(
    "promotion",
    True,
    lambda x: lax.cond(x.sum() > 0, lambda v: (v * np.float32(2)).astype(v.dtype), lambda v: v, x),
    B,
)
add("promotion", True, lambda x, r: jnp.interp(x, r, r), B, X)
add("promotion", True, lambda x: jnp.append(x, jnp.zeros(1)), B)
add("promotion", True, lambda x: jax.nn.softmax(x + jnp.linspace(0, 1, 4)), H)

add("promotion", False, lambda x: jnp.zeros_like(x) + x * 0.5 - 1, B)
add("promotion", False, lambda x: jnp.zeros((), x.dtype) + x, B)
add("promotion", False, lambda x: x.at[0].set(1.0).at[1].add(2), B)
add("promotion", False, lambda x: x + jax.random.normal(jax.random.key(0), x.shape, x.dtype), H)
add("promotion", False, lambda x: jnp.clip(x, 0, 1) ** 2, B)
add("promotion", False, lambda x: jnp.float32(x) * jnp.float32(2), B)
add("promotion", False, lambda x: jax.grad(lambda v: (v.astype(jnp.float32) ** 2).sum())(x), B)
add("promotion", False, lambda x: jax.nn.one_hot(jnp.arange(2), 4, dtype=x.dtype) @ x, B)
add("promotion", False, lambda i: i + jnp.arange(4), I32)
add("promotion", False, lambda x, i: x[i.astype(jnp.int32) + 1], X, U8)
add("promotion", False, lambda x: x.sum() / x.size, I32)
add("promotion", False, lambda x: x / 255.0, U8)
add("promotion", False, lambda x: x.astype(jnp.float32) / 255, U8)
add("promotion", False, lambda x, m: x * m, X, X > 1)
add("promotion", False, lambda x: jax.nn.gelu(x) + jax.nn.silu(x) + jax.nn.softplus(x), H)
add("promotion", False, lambda x: jnp.einsum("i,i->", x, x, preferred_element_type=jnp.float32), B)
add("promotion", False, lambda x: lax.scan(lambda c, v: (c + v, c * 2), x[0], x), B)
add("promotion", False, lambda x: jnp.linalg.norm(x.astype(jnp.float32)) * 2, B)
add("promotion", False, lambda x: x * math.pi / math.sqrt(8), B)
add("promotion", False, lambda x: (x == 1.0) | (x >= jnp.float32(2)), B)
add("promotion", False, lambda x: jnp.sum(x, axis=0, dtype=jnp.float32).astype(x.dtype), B)
add("promotion", False, lambda x: x * x.shape[0] + len(x), H)
add(
    "promotion",
    False,
    lambda p, g: jax.tree.map(lambda a, b: a - 0.1 * b, p, g),
    {"w": B},
    {"w": B},
)
add("promotion", False, lambda x: jax.nn.relu6(x) + jax.nn.leaky_relu(x) + jnp.tanh(x), B)
add("promotion", False, lambda x: jnp.round(x * 127).astype(jnp.int8), X)
add("promotion", False, lambda x: jnp.argmax(x) + jnp.argsort(x), B)
add("promotion", False, lambda x, t: optax.softmax_cross_entropy_with_integer_labels(x, t), BM, I32)

# x64
PHASE = np.array([1e9 + 0.5])
CONFIG = {"offset": np.int64(2**33), "scale": 2.0}


@case("x64", True, X)
def offset_from_a_dictionary(x):
    return x.astype(jnp.int32) + CONFIG["offset"]


@case("x64", True, X)
def nested_helper(x):
    def inner(v):
        return v + jnp.asarray(PHASE)

    return jax.jit(inner)(x)


@case("x64", True, {"ids": [np.array([2**31], dtype=np.int64)]})
def in_a_tree(batch):
    return batch["ids"][0] + 1


@case("x64", True, np.array([2**63 + 1], dtype=np.uint64))
def unsigned(h):
    return jnp.asarray(h) >> 1


add("x64", True, lambda x: jnp.full(4, 2**35) + x, X)
add("x64", True, lambda x: jnp.int64(5) + x, I32)
add("x64", True, lambda x: jnp.arange(4, dtype="int64") + x, I32)
add("x64", True, lambda x: jax.nn.one_hot(x, 4, dtype=jnp.float64), I32)
add("x64", True, lambda x: lax.convert_element_type(x, jnp.float64), X)
add("x64", True, lambda x: lax.scan(lambda c, v: (c + v.astype(jnp.float64), None), 0.0, x)[0], X)
add("x64", True, lambda x: jnp.asarray(x) - x[0], np.array([100000.0001, 100000.0002]))
add("x64", True, lambda x: jnp.eye(4, dtype=np.float64) @ x, X)
add("x64", True, lambda t: jnp.asarray(t) * 2, np.float64(16777217.0))
add("x64", True, lambda t: jnp.sin(t), 1_700_000_000.125)
add(
    "x64",
    True,
    lambda x: x.sum() + jnp.array(np.datetime64("2024-01-01", "ns").astype(np.int64)),
    I32,
)
add("x64", True, lambda x: jnp.array([0.1, 0.2], dtype=jnp.complex128) * x[:2], X)
add("x64", True, jax.jit(lambda x: x.astype("float64") * 2), X)
add("x64", True, lambda x: jnp.cumsum(x, dtype=jnp.int64), I32)

add("x64", False, lambda x: jnp.asarray(x, dtype=jnp.float32) + 1, X)
add("x64", False, lambda x: x * np.float64(0.5), X)
add("x64", False, lambda x: x + np.float64(0.1), X)
add("x64", False, lambda x: jnp.asarray(x) + 1, np.array([0, -(2**31), 2**31 - 1]))
add("x64", False, lambda x: jnp.asarray(x).sum(), np.array([0.5, 0.25, -8.0]))
add("x64", False, lambda x: jnp.asarray(x).sum(), np.array([True, False]))
add("x64", False, lambda x: jnp.zeros(3) + jnp.arange(3) + x[:3], X)
add("x64", False, lambda x: jnp.linspace(0.0, 1.0, 4) * x, X)
add("x64", False, lambda x: jnp.finfo(x.dtype).max + jnp.iinfo(jnp.int32).max * x, X)
add("x64", False, lambda x: jnp.nan_to_num(x) + jnp.max(x, initial=-np.inf), X)
add("x64", False, lambda x: jnp.where(x > 0, x, -1e30), X)
add("x64", False, lambda x: jnp.log(x + 1e-12), X)
add("x64", False, lambda x: jnp.asarray(np.arange(4)) + x, X)
add("x64", False, lambda x: x @ np.eye(4), X)
add("x64", False, lambda i, x: x[i], np.array([0, 1]), X)
add("x64", False, lambda x: x.astype(jnp.int32) + np.int64(3), X)
add("x64", False, lambda x: jax.ops.segment_max(x, jnp.array([0, 0, 1, 1]), 2) + np.pi, X)
add("x64", False, lambda x: jnp.argmin(x) + np.prod(x.shape), X)
add("x64", False, lambda x: jnp.asarray(x), np.float32(0.1))
add("x64", False, lambda x: x.astype("float32") + jnp.zeros(4, dtype=float), X)
add("x64", False, lambda x: x.astype(complex).real, X)
add("x64", False, lambda s: s * 1000, 86_400)

# carry
add("carry", True, lambda s, x: {**s, "n": s["n"] + x.mean()}, {"n": jnp.int32(0), "x": X}, X)
add("carry", True, lambda s: [*s, s[-1] + 1], [X])
add("carry", True, lambda s: {"x": s["x"][None]}, {"x": X})
add("carry", True, lambda s, x: (s + x, s), jnp.zeros((), jnp.bfloat16), X[0])
add("carry", True, lambda h, x: (jnp.tanh(h @ M + x), h), jnp.zeros(4, jnp.bfloat16), X)
add("carry", True, lambda s, x: (x.sum(), {"w": s["w"] - x, "b": None}), {"w": X, "b": X}, X)
add("carry", True, lambda s, x: (s[0] + x, (s[1][0], s[1][1] + 1.0)), (X, (X, jnp.int32(0))), X)
add("carry", True, lambda x: x[1:], X)
add("carry", True, lambda m: m.reshape(-1, 2), jnp.ones((2, 4)))
add(
    "carry",
    True,
    lambda s, x: (s[0] + x, {"t": s[1]["t"] + 1, "log": x}),
    (X, {"t": jnp.int32(0)}),
    X,
)
add("carry", True, lambda c: c + 1.0, 0)
add("carry", True, lambda c, x: c + np.float32(1) * x.sum(), jnp.float16(0), X)
add(
    "carry",
    True,
    lambda s: {"a": s["a"], "done": s["done"] + 1},
    {"a": X, "done": jnp.array(False)},
)
add("carry", True, lambda x: lax.fori_loop(0, 3, lambda i, v: v * 1.5, x), I32)
add("carry", True, lambda x: lax.scan(lambda c, v: ((c[0], c[1], v), v), (x[0], x[1]), x), X)
add("carry", True, lambda x: lax.switch(1, [lambda v: v, lambda v: v.astype(jnp.int32)], x), X)
add(
    "carry",
    True,
    lambda batch, state: (state[0] + batch, state[1] + 0.5),
    X,
    (X, jnp.int32(1)),
    carry="state",
)
add("carry", True, lambda p, m, g: (p - g, 0.9 * m + g), B, B, X, carry=1)

add("carry", False, lambda s: (s[0] * 2, s[1] + 1, s[2]), (X, 0, False))
add(
    "carry",
    False,
    lambda s: {"x": s["x"] * 0.9, "lr": s["lr"] * 0.5, "done": s["x"].sum() > 3},
    {"x": X, "lr": 0.1, "done": False},
)
add("carry", False, lambda i, x: x * 2, 0, X)
add("carry", False, lambda x, w: x @ w, X, jnp.ones((4, 2)))
add("carry", False, lambda s, x: (s + x, s), X, X)
add("carry", False, lambda x: {"mean": x.mean(), "max": x.max()}, X)
add("carry", False, lambda p, x: (x @ p[0] + p[1], jnp.mean(x)), (M, X), X)
add("carry", False, lambda p: (jnp.sum(p["w"]), jax.tree.map(lambda a: a * 2, p)), {"w": X})
add("carry", False, lambda k: jax.random.normal(k, (3,)), jax.random.key(0))
add("carry", False, lambda p, s, g: (p - g, s + 1, jnp.sum(g)), X, jnp.int32(0), X, carry=1)
add("carry", False, lambda s, x: s.__class__(s.x + x, s.v), Particle(X, X), X)
add(
    "carry",
    False,
    lambda s, b: (dataclasses.replace(s, step=s.step + 1), b.mean()),
    Train({"w": B}, 0),
    X,
)
add("carry", False, lambda k: jax.random.split(k), jax.random.key(0))
add(
    "carry",
    False,
    lambda x: lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * 2, c[1] + 1), (x, 0)),
    X,
)
add("carry", False, lambda x: x > 0, X)
add("carry", False, lambda p, x: None, {"w": X}, X)
add("carry", False, lambda s, x: [s[0] + x, s[1]], [X, None], X)
add("carry", False, lambda xs: jnp.cumsum(xs), X)

# layers and fractional numbers
_F32_LAYER = nn.Dense(4)
_F32_PARAMS = _F32_LAYER.init(jax.random.key(0), jnp.ones((1, 4)))
_BF16_LAYER = nn.Dense(4, dtype=jnp.bfloat16)


@case("promotion", True, jnp.ones((2, 4), jnp.bfloat16))
def activations_widened_by_a_layer(x):
    return jax.nn.relu(_F32_LAYER.apply(_F32_PARAMS, x))


@case("promotion", False, jnp.ones((2, 4), jnp.bfloat16))
def layer_that_computes_in_bfloat16(x):
    return jax.nn.relu(_BF16_LAYER.apply(_F32_PARAMS, x))


@case("x64", True, jnp.array([0.25, 0.5]))
def seconds_since_a_late_epoch(part):
    return (part + np.float64(4_000_000.123)) % 60.0


@case("x64", False, jnp.array([0.25, 0.5]))
def speed_of_light_in_kilometres(v):
    return v / np.float64(299792.458)


# Arrays are judged by what 32 bits lose, not by their size.
_draw = np.random.default_rng(1).normal
_READINGS = 30_000.0 + 0.003 * np.arange(40.0)

add("x64", False, lambda b, x: x @ jnp.ones((4, 10)) + b, _draw(size=10), X)
add(
    "x64", False, lambda p, x: x @ p["w"] + p["b"], {"w": _draw(size=(4, 3)), "b": _draw(size=3)}, X
)
add("x64", False, lambda t, x: x[0] * t, np.array([0.1, 0.2, 0.3]), X)
add("x64", False, lambda s, x: x * s, np.float64(0.1), X)
add("x64", False, lambda t: jnp.diff(t), np.linspace(0.0, 1.0, 200))
add("x64", False, lambda t: jnp.diff(t), 300.0 + 0.1 * np.arange(300.0))
add("x64", True, lambda t: jnp.diff(t), _READINGS)
add("x64", True, lambda t: jnp.diff(t) / 0.003, np.tile(_READINGS, 10))
add("x64", True, lambda b: jnp.diff(b["angle"]), {"angle": 48.85837 + 2e-6 * np.arange(12.0)})
add("x64", True, lambda b, x: x + b, np.array([0.1, 5e9 + 0.3]), X[:2])
add("x64", True, lambda ids, x: x[jnp.asarray(ids) % 4], np.array([7, 2**31 + 5]), X)


# A Flax layer that computes in bfloat16 casts its float32 parameters. The gradient casts back.
class MixedPrecision(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Embed(10, 8, dtype=jnp.bfloat16)(x)
        return nn.Dense(4, dtype=jnp.bfloat16)(x).astype(jnp.float32).sum()


TOKENS = jnp.zeros((2, 3), int)
MIXED = MixedPrecision()
MIXED_PARAMS = MIXED.init(jax.random.key(0), TOKENS)

add("promotion", False, lambda p, x: MIXED.apply(p, x), MIXED_PARAMS, TOKENS)
add("promotion", False, jax.grad(lambda p, x: MIXED.apply(p, x)), MIXED_PARAMS, TOKENS)
add("promotion", False, jax.jit(jax.value_and_grad(MIXED.apply)), MIXED_PARAMS, TOKENS)


# Periodic samples differ only by the rounding errors of float64 itself.
add("x64", False, lambda x: jnp.sum(x), np.sin(np.arange(256) * (2 * np.pi / 64)))
add("x64", True, lambda x: jnp.sum(x), 1.0 + 1e-9 * np.arange(256))


# ------------------------------------------------------------ weak states
add("carry", True, jax.jit(lambda s: s + 1.0), 1, carry=0)
add("carry", True, lambda s, x: s + x.sum(), 1, X, carry=0)
add("carry", True, jax.jit(lambda s: (s + 1.0).astype(s.dtype)), 1, carry=0)
add("carry", False, jax.jit(lambda s: s + 1), 1, carry=0)
add("carry", False, jax.jit(lambda s: s + 1.0), jnp.float32(1), carry=0)
add("carry", False, lambda s, x: s + x.sum(), jnp.float32(1), X, carry=0)


# ------------------------------------------------------------ widenings that others cause
def _widens_once(x, y):
    a = x * np.float32(2)
    return (a + y).sum() - (a * y).mean()


add("promotion", True, _widens_once, B, B)
add("promotion", True, lambda x, y: (x * np.float32(2)).astype(x.dtype) + y * np.float32(3), B, B)
add("promotion", True, lambda x, y: lax.map(lambda v: v + x * np.float32(2), y), B, B)
add("promotion", True, lambda x, y: jax.jit(lambda v: v * y)(x) + x, B, X)
add("promotion", False, lambda x, y: (x * np.float32(2)).astype(x.dtype) * y, X, X)
add("promotion", False, lambda x, y: (x * 2).astype(jnp.float32) + y.astype(jnp.float32), B, B)


# ------------------------------------------------------------ integers that fit into wider ones
@case("promotion", False, U8, 2, jnp.int32(7))
def appends_token(tokens, position, new):
    return tokens + (jnp.arange(4) == position).astype(int) * new


@case("promotion", True, U32, jnp.arange(4, dtype=jnp.int32))
def hash_times_index(hashes, index):
    return hashes * index


@case("promotion", True, B, I8)
def narrow_scale_in_float32(x, levels):
    return x * (levels * jnp.float32(0.5))


add("promotion", False, lambda x, y: jnp.concatenate([x, y]), U8, I32)
add("promotion", True, lambda x, y: jnp.where(x > 2, x, y), U32, I32)
