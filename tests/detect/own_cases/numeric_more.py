"""More labeled cases for cast, overflow, and nan, with different kinds of programs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()
KEY = jax.random.key(3)
F, I = jnp.float32, jnp.int32  # noqa: E741


class Quantiser:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, w):
        return jnp.round(w / self.scale).astype(jnp.int8)

    def safe(self, w):
        return jnp.clip(jnp.round(w / self.scale), -128, 127).astype(jnp.int8)


# ---------------------------------------------------------------------- cast
W = jnp.array([1.4, -0.3, 0.2])
add("cast", True, Quantiser(0.01), W)
add("cast", False, Quantiser(0.01).safe, W)
add("cast", True, lambda u: u.astype(jnp.int8), jnp.array([200, 3], jnp.uint8))
add("cast", True, lambda x: jnp.array(x, dtype=jnp.uint16), jnp.array([70000, 3]))
add("cast", True, lambda x: (x / 0.0).astype(I), jnp.array([1.0, 2.0]))
add(
    "cast",
    True,
    lambda p: jax.tree.map(lambda a: a.astype(jnp.float16), p),
    {"w": jnp.ones(2) * 1e6},
)
add("cast", True, lambda x: jnp.bfloat16(x * 3.3), jnp.float32(1.03e38))
add("cast", True, lambda x: x.astype(jnp.float8_e4m3fn), jnp.array([1000.0, 1.0]))
add(
    "cast",
    True,
    lambda x: (
        jax.grad(lambda v: (v * 1e4).astype(jnp.float16).astype(F).sum())(x)
        + (x * 1e4).astype(jnp.float16)
    ),
    jnp.array([10.0]),
)
add("cast", True, lambda u: u + 300, jnp.array([1, 2], jnp.uint8))
add("cast", True, lambda u: jnp.where(u > 3, u, 300), jnp.array([1, 9], jnp.uint8))
add("cast", True, lambda x: jnp.int32(jnp.exp(x)), jnp.array([1.0, 30.0]))
add("cast", True, lambda x: lax.map(lambda v: v.astype(jnp.int16), x), jnp.array([1.0, 4e4]))
add("cast", True, lambda x: x.at[0].set(40_000), jnp.zeros(2, jnp.int16))
add("cast", True, lambda t: t.astype(F) / 60, jnp.array([1_700_000_001, 5]))
add("cast", True, lambda z: z.astype(F), jnp.array([1 + 2j]))
add("cast", True, jax.jit(lambda x: jnp.floor(x).astype("uint32")), jnp.array([-2.5, 1.0]))
add(
    "cast",
    True,
    lambda a, b: a + b.astype(jnp.int8),
    jnp.array([1, 2], jnp.int8),
    jnp.array([128, 2]),
)
add("cast", True, lambda x: x.astype(jnp.int4), jnp.array([9, 1]))
add("cast", True, lambda i: i.astype(I), np.array([4e9, 1.0], np.float32))
add("cast", False, lambda i: (i & 255).astype(jnp.uint8), jnp.array([3000, 5]))
add("cast", False, lambda i: (i % 256).astype(jnp.uint8), jnp.array([3000, 5]))
add("cast", False, lambda u: u.astype(F) / 255, jnp.array([200, 3], jnp.uint8))
add(
    "cast",
    False,
    lambda u: (u.astype(F) / 255 * 255).astype(jnp.uint8),
    jnp.array([200, 3], jnp.uint8),
)
add("cast", False, lambda x: (x > 0).astype(F) + (x > 0).astype(jnp.int8), W)
add("cast", False, lambda x: jnp.argsort(x).astype(jnp.int8), W)
add("cast", False, lambda x: x.astype(jnp.int64), jnp.array([3, 4]))
add("cast", False, lambda k: jax.random.uniform(k, (4,), jnp.float16), KEY)
add("cast", False, lambda k: jax.random.normal(k, (4,), jnp.bfloat16), KEY)
add("cast", False, lambda x: jnp.digitize(x, jnp.array([0.0, 1.0])).astype(jnp.uint8), W)
add("cast", False, lambda x: jnp.sum(x > 0, dtype=I), W)
add("cast", False, lambda x: jnp.histogram(x, bins=4)[0].astype(I), W)
add("cast", False, lambda x: lax.cond(x > 1e9, lambda v: I(0), lambda v: v.astype(I), x), F(1e10))
add("cast", False, lambda x: jnp.where(jnp.isfinite(x), x, 0).astype(I), jnp.array([jnp.inf, 3.0]))
add("cast", False, lambda x: x.astype(jnp.bfloat16).astype(jnp.float16), W)
add("cast", False, lambda i: jnp.sqrt(i.astype(F)).astype(I), jnp.array([16, 25]))
add("cast", False, lambda x: jnp.linspace(0, 10, 5, dtype=I) + x.astype(I), W)
add("cast", False, lambda i: jax.nn.one_hot(i, 4, dtype=jnp.bfloat16), jnp.array([1, 2]))
add("cast", False, lambda i: i.at[0].set(2.0), jnp.array([1, 2]))
add("cast", False, lambda i: i.mean() + i.std(), jnp.array([2**24 + 1, 2]))

# ---------------------------------------------------------------------- overflow
add("overflow", True, lambda i: 2**i, jnp.array([3, 40]))
add("overflow", True, lambda i: 10**i, jnp.array([3, 12]))
add("overflow", True, lambda i: 1 << i, jnp.array([3, 31]))
add("overflow", True, lambda a, b: (a + b) // 2, I(2_000_000_000), I(2_100_000_000))
add(
    "overflow",
    True,
    lambda a, b: jnp.abs(a - b),
    jnp.array([3], jnp.uint8),
    jnp.array([9], jnp.uint8),
)
add("overflow", True, lambda a: jnp.diff(a), jnp.array([9, 3], jnp.uint8))
add("overflow", True, lambda a: a @ a, jnp.full((4, 4), 60, jnp.int8))
add("overflow", True, lambda a: jnp.einsum("ij,jk->ik", a, a), jnp.full((4, 4), 60000))
add("overflow", True, lambda a: -a, jnp.array([-128], jnp.int8))
add("overflow", True, lambda a: lax.associative_scan(jnp.multiply, a), jnp.arange(1, 20))
add("overflow", True, lambda a: jnp.cumprod(a), jnp.arange(1, 20))
add("overflow", True, lambda a: a + jnp.int16(1), jnp.array([32767], jnp.int16))
add("overflow", True, lambda r, c: r * 70_000 + c, I(65_000), I(1))
add("overflow", True, lambda a: jax.vmap(jnp.dot)(a, a), jnp.full((2, 3), 40_000))
add(
    "overflow",
    True,
    lambda n: lax.while_loop(lambda s: s[1] < 40, lambda s: (s[0] * 3, s[1] + 1), (n, 0))[0],
    I(1),
)
add(
    "overflow",
    True,
    lambda a: jax.ops.segment_sum(a, jnp.array([0, 0]), 2),
    jnp.array([100, 100], jnp.int8),
)
add("overflow", True, lambda a: jnp.square(a).sum(), jnp.array([46341, 1]))
add("overflow", True, lambda a: jax.jit(jnp.prod)(a), jnp.full(8, 100))
add("overflow", True, lambda x: jnp.exp(x), jnp.array([12.0], jnp.float16))
add("overflow", True, lambda x: jnp.sum(x), jnp.full(4, 60000.0, jnp.float16))
add("overflow", True, lambda a: jnp.uint32(3) - a, jnp.array([5], jnp.uint32))
add("overflow", True, lambda a: a * a, jnp.array([70000], jnp.uint32))
add("overflow", True, lambda a: lax.cond(a > 0, lambda v: v * 1000, lambda v: v, a), I(3_000_000))
add("overflow", False, lambda x: x ^ (x >> 1), jnp.array([5, 2**30]))
add(
    "overflow",
    False,
    lambda s: lax.fori_loop(0, 9, lambda i, v: v + jnp.uint32(0x9E3779B9), s),
    jnp.uint32(1),
)
add("overflow", False, lambda a: (~a) + 1, jnp.array([5, -7]))
add("overflow", False, lambda a: jnp.bitwise_count(a) + lax.clz(a), jnp.array([5, 7]))
add("overflow", False, lambda a: a.sum() + a.mean(), jnp.full(300, 200, jnp.uint8))
add(
    "overflow",
    False,
    lambda a, b: a.astype(I) - b.astype(I),
    jnp.array([3], jnp.uint8),
    jnp.array([9], jnp.uint8),
)
add(
    "overflow",
    False,
    lambda a: jnp.minimum(a.astype(I) + 100, 255).astype(jnp.uint8),
    jnp.array([200], jnp.uint8),
)
add("overflow", False, lambda a: jnp.power(a, 2) + a**3 + a**a, jnp.array([2, 7]))
add("overflow", False, lambda a: (a * 5 + 3) % 7, jnp.array([2, 7]))
add("overflow", False, lambda a: jnp.dot(a, a, preferred_element_type=I), jnp.full(4, 60, jnp.int8))
add("overflow", False, lambda x: jnp.exp(-x) + x * x, jnp.array([1000.0]))
add("overflow", False, lambda x: jnp.where(x > 0, x, -jnp.inf), jnp.array([1.0, -1.0]))
add("overflow", False, lambda k: jax.random.choice(k, 100, (5,), replace=False), KEY)
add(
    "overflow",
    False,
    lambda k: jax.random.uniform(k) + jax.random.poisson(jax.random.split(k)[0], 3.0),
    jax.random.PRNGKey(0),
)
add(
    "overflow",
    False,
    lambda i: jnp.ravel_multi_index((i, i), (10, 10), mode="clip"),
    jnp.array([2, 3]),
)
add(
    "overflow",
    False,
    lambda i: jnp.nonzero(i, size=3, fill_value=-1)[0] + jnp.roll(i, 1),
    jnp.array([2, 0, 3]),
)
add("overflow", False, lambda i: i.at[jnp.array([0, 2])].max(5) + jnp.flip(i), jnp.array([2, 0, 3]))
add("overflow", False, lambda x: jax.image.resize(x, (4, 4), "bilinear"), jnp.ones((2, 2)))
add("overflow", False, lambda i: lax.scan(lambda c, v: (c + v, c), 0, i)[0], jnp.arange(100))
add("overflow", False, lambda h: ((h << 5) + h) ^ jnp.int32(33), jnp.array([2**28]))
add("overflow", False, lambda x: jnp.interp(x, jnp.arange(4.0), jnp.arange(4.0)), jnp.array([0.5]))


# ---------------------------------------------------------------------- nan
Z = jnp.zeros(3)
add("nan", True, lambda x: jnp.arcsin(x), jnp.array([0.5, 2.0]))
add("nan", True, lambda x: x**0.5, jnp.array([-1.0, 4.0]))
add("nan", True, lambda x: x[x.shape[0] :].mean(), Z)
add("nan", True, lambda x: jnp.var(x, ddof=1), jnp.array([1.0]))
add("nan", True, lambda a, b: a @ b / (jnp.linalg.norm(a) * jnp.linalg.norm(b)), Z, Z + 1)
add("nan", True, lambda x: jnp.log(jax.nn.softmax(x))[1], jnp.array([200.0, 0.0]))
add("nan", True, lambda x: jnp.log(jax.nn.sigmoid(x)).sum(), jnp.array([-200.0, 0.0]))
add("nan", True, lambda x: jnp.corrcoef(x, x * 0 + 1.0), jnp.array([1.0, 2.0, 3.0]))
add("nan", True, lambda m: jnp.linalg.solve(m, jnp.ones(2)), jnp.ones((2, 2)))
add("nan", True, lambda x: jax.scipy.special.logit(x), jnp.array([1.0, 0.5]))
add("nan", True, jax.grad(lambda x: jnp.linalg.norm(x)), Z)
add("nan", True, jax.grad(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0)), F(0.0))
add("nan", True, jax.value_and_grad(lambda x: jnp.std(x)), Z + 2)
add(
    "nan",
    True,
    lambda x: jnp.where(jnp.abs(x) < 1, jnp.arccos(x), 0.0).sum(),
    jnp.array([0.5, 0.2]),
)
add("nan", True, lambda x: jnp.where(x > 0, 1.0 / x, 0.0).sum(), jnp.array([0.5, 0.2]))
add("nan", True, lambda x: jnp.nan_to_num(jnp.log(x)).sum(), jnp.array([0.0, 0.2]))
add(
    "nan",
    True,
    lambda x: jnp.where(jnp.linalg.norm(x) > 0, x / jnp.linalg.norm(x), x).sum(),
    jnp.array([1.0, 2.0]),
)
add("nan", True, lambda x: jnp.where(x > 0, jnp.log(x), 0.0), jnp.array([-1.0, 2.0]))
add(
    "nan",
    True,
    lambda x: lax.while_loop(lambda s: s[1] < 4, lambda s: (jnp.log(s[0]), s[1] + 1), (x, 0))[0],
    F(2.0),
)
add(
    "nan",
    True,
    lambda w: lax.scan(lambda h, _: (h * w * 1e10, None), F(1.0), None, length=20)[0],
    F(3.0),
)
add(
    "nan",
    True,
    lambda p, q: (p * jnp.log(p / q)).sum(),
    jnp.array([0.5, 0.5]),
    jnp.array([0.0, 1.0]),
)
add("nan", True, lambda x: (x - x.mean()) / x.std(), Z)
add("nan", True, jax.jit(lambda x, y: jnp.mean(x / y)), jnp.ones(2), jnp.array([0.0, 1.0]))
add("nan", True, lambda x: jax.scipy.special.gammaln(x) + lax.digamma(x), jnp.array([0.0]))
add("nan", True, lambda v: jnp.sqrt(jnp.sum(v * v)), Z)
add("nan", True, lambda x, m: jnp.sum(x * m) / jnp.sum(m), jnp.ones(2), jnp.zeros(2))
add("nan", True, lambda x: jnp.prod(x) ** (1 / 3) / (x[0] - x[0]), jnp.ones(2))
add(
    "nan",
    True,
    lambda x: jnp.select([x > 0, x <= 0], [jnp.log(x), jnp.zeros_like(x)]).sum(),
    jnp.array([0.5, 3.0]),
)

add(
    "nan",
    False,
    lambda a, b: a @ b / (jnp.linalg.norm(a) * jnp.linalg.norm(b) + 1e-8),
    Z + 2,
    Z + 1,
)
add("nan", False, lambda x: x / jnp.maximum(jnp.linalg.norm(x), 1e-6), Z + 1)
add("nan", False, lambda x: jnp.where(x > 0, x, 0.01 * x).sum(), jnp.array([1.0, -1.0]))
add(
    "nan",
    False,
    lambda r: jnp.where(jnp.abs(r) < 1, 0.5 * r**2, jnp.abs(r) - 0.5).sum(),
    jnp.array([0.0, 3.0]),
)
add("nan", False, lambda x: jax.nn.log_softmax(x)[1], jnp.array([200.0, 0.0]))
add("nan", False, lambda x: jnp.nanmax(x) + jnp.nansum(x), jnp.array([jnp.nan, 1.0]))
add("nan", False, lambda x: jnp.isnan(x).any(), jnp.array([jnp.nan, 1.0]))
add("nan", False, lambda x: jnp.full_like(x, jnp.nan), Z)
add("nan", False, lambda x: jnp.full((3,), -jnp.inf).at[0].set(x[0]), Z)
add("nan", False, lambda x: lax.fori_loop(0, 3, lambda i, b: jnp.maximum(b, x[i]), -jnp.inf), Z)
add(
    "nan", False, lambda b, a: jnp.where(b != 0, a / jnp.where(b != 0, b, 1.0), 0.0).sum(), Z, Z + 1
)
add("nan", False, lambda x: jnp.sqrt(jnp.maximum(x, 1e-12)).sum(), jnp.array([0.0, 2.0]))
add("nan", False, lambda x: jnp.log(x + 1e-8).sum(), jnp.array([0.0, 2.0]))
add("nan", False, lambda x: jnp.log1p(jnp.abs(x)).sum() + jnp.tanh(x).sum(), Z)
add("nan", False, lambda x: jnp.exp(-(x**2)).sum() + jnp.sin(x).sum(), jnp.array([0.0, 50.0]))
add("nan", False, lambda x: (x / (1 + jnp.exp(-x))).sum(), jnp.array([1.0, -2.0]))
add("nan", False, lambda x: jnp.std(x), jnp.array([1.0, 2.0]))
add("nan", False, lambda x, y: jnp.sqrt(((x - y) ** 2).sum()), Z, Z + 1)
add("nan", False, lambda x: jnp.arctan2(x[0], x[1]), jnp.array([1.0, 2.0]))
add("nan", False, lambda x: x.sum() / x.size, Z)
add("nan", False, lambda m: jnp.linalg.inv(m), jnp.eye(2) * 2)
add("nan", False, lambda m: jnp.linalg.slogdet(m)[1], jnp.eye(2) * 2)
add("nan", False, lambda x: jnp.where(x > 0, x, jnp.exp(x) - 1).sum(), jnp.array([1.0, -2.0]))
add("nan", False, lambda i: i // 2 + i % 3, jnp.array([1, 0]))
add("nan", False, lambda x: jnp.clip(x, -jnp.inf, 5.0).sum(), Z)
add("nan", False, lambda x: jax.nn.logsumexp(jnp.where(x > 1, x, -jnp.inf)), jnp.array([1.0, 2.0]))
add("nan", False, lambda x: jax.nn.softmax(x, where=x > 1), jnp.array([1.0, 2.0]))
add("nan", False, lambda k: jax.random.categorical(k, jnp.array([0.0, -jnp.inf])), KEY)
add(
    "nan",
    False,
    lambda w, x, y: jnp.mean((jax.nn.sigmoid(x @ w) - y) ** 2),
    Z,
    jnp.ones((2, 3)),
    jnp.ones(2),
)
add("nan", False, jax.grad(lambda x: (x**3).sum()), Z)


@case("nan", False, jnp.ones((3, 4)), jnp.full(3, 1 / 3), jnp.full(4, 0.25))
def sinkhorn_in_logarithms(cost, a, b):
    f = g = jnp.zeros(())
    for _ in range(3):
        f = jnp.log(a) - jax.nn.logsumexp(g - cost, axis=1)
        g = jnp.log(b) - jax.nn.logsumexp(f[:, None] - cost, axis=0)
    return (f * a).sum() + (g * b).sum()


# ---------------------------------------------------------------- state that a library owns
W4 = {"w": jnp.zeros(4)}
ADAM = optax.adam(1e-3)


def scalar_adam_step(w, state, grads):
    updates, state = ADAM.update(grads, state)
    return w + updates, state


def train_with_adam(params, state, x, y):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] - y) ** 2))(params)
    updates, state = ADAM.update(grads, state)
    return loss, optax.apply_updates(params, updates), state


def train_with_a_trap(params, state, x):
    def loss_of(p):
        return jnp.where(x > 0, p["w"] * x * jnp.log(x), 0.0).sum()

    loss, grads = jax.value_and_grad(loss_of)(params)
    updates, state = ADAM.update(grads, state)
    return loss, optax.apply_updates(params, updates), state


add("nan", True, train_with_a_trap, W4, ADAM.init(W4), jnp.array([1.0, 2.0, 3.0, 4.0]))
add("nan", False, scalar_adam_step, jnp.float32(1), ADAM.init(jnp.float32(1)), jnp.float32(0.5))
add("nan", False, train_with_adam, W4, ADAM.init(W4), jnp.ones((3, 4)), jnp.ones(3))
add("nan", False, lambda s, g: ADAM.update(g, s), ADAM.init(jnp.float32(1)), jnp.float32(0.5))
add("nan", True, lambda s: jnp.sqrt(s["square"]).sum(), {"square": jnp.zeros(4)})
add(
    "nan", True, lambda s, x: (x * s["square"] ** 0.5).sum(), {"square": jnp.zeros(())}, jnp.ones(3)
)


# A negative power of zero is a division by zero, which is the business of `nan`.
add("overflow", False, lambda x: (x**-2).sum(), jnp.zeros(3))
add("overflow", True, lambda x: (x**20).sum(), jnp.full(3, 1e3))
add("nan", True, lambda x: (x**-2).sum(), jnp.zeros(3))
