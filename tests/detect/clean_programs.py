"""Define complete programs for which an audit must report nothing more severe than a note."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def _mlp_step():
    import optax

    opt = optax.adamw(1e-3)
    k = jax.random.split(jax.random.key(0), 2)
    params = {
        "w1": jax.random.normal(k[0], (8, 16)) * 0.1,
        "b1": jnp.zeros(16),
        "w2": jax.random.normal(k[1], (16, 1)) * 0.1,
        "b2": jnp.zeros(1),
    }
    state = (params, opt.init(params))

    def loss_fn(p, x, y):
        h = jax.nn.gelu(x @ p["w1"] + p["b1"])
        return jnp.mean((h @ p["w2"] + p["b2"] - y) ** 2)

    def train_step(state, x, y):
        p, s = state
        l, g = jax.value_and_grad(loss_fn)(p, x, y)
        u, s = opt.update(g, s, p)
        return (optax.apply_updates(p, u), s), l

    return train_step, (state, jnp.ones((4, 8)), jnp.ones((4, 1)))


def _attention():
    def attend(q, k, v):
        s = q @ k.T / jnp.sqrt(q.shape[-1])
        mask = jnp.tril(jnp.ones(s.shape, bool))
        return jax.nn.softmax(jnp.where(mask, s, -1e9)) @ v

    a = jnp.asarray(np.random.RandomState(1).randn(6, 8), jnp.float32)
    return attend, (a, a * 0.5, a * 2)


def _rnn():
    def rnn(p, xs):
        def cell(h, x):
            h = jnp.tanh(p["wh"] @ h + p["wx"] @ x)
            return h, h

        return lax.scan(cell, jnp.zeros(5), xs)

    return rnn, ({"wh": jnp.eye(5) * 0.5, "wx": jnp.ones((5, 3)) * 0.1}, jnp.ones((20, 3)))


def _kalman():
    def step(carry, y):
        m, P = carry
        A, Q, H, R = jnp.eye(2), 0.1 * jnp.eye(2), jnp.array([[1.0, 0.0]]), jnp.array([[0.5]])
        m, P = A @ m, A @ P @ A.T + Q
        S = H @ P @ H.T + R
        Kg = jnp.linalg.solve(S, H @ P).T
        m = m + Kg @ (y - H @ m)
        return (m, P - Kg @ S @ Kg.T), m

    def run(ys):
        return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), ys)[1]

    return run, (jnp.ones((15, 1)),)


def _mcmc():
    def run(key, x0):
        logp = lambda x: -0.5 * jnp.sum(x**2)

        def body(carry, k):
            x, n = carry
            k1, k2 = jax.random.split(k)
            prop = x + 0.5 * jax.random.normal(k1, x.shape)
            acc = jnp.log(jax.random.uniform(k2, minval=1e-7)) < logp(prop) - logp(x)
            return (jnp.where(acc, prop, x), n + acc), x

        (xf, n), xs = lax.scan(body, (x0, jnp.int32(0)), jax.random.split(key, 50))
        return xs, n / 50

    return run, (jax.random.key(1), jnp.zeros(3))


def _sparse_gather():
    def f(h, src, dst):
        msg = h[src]
        agg = jax.ops.segment_sum(msg, dst, num_segments=h.shape[0])
        return jax.nn.relu(agg)

    return f, (jnp.ones((5, 3)), jnp.array([0, 1, 2, 3]), jnp.array([1, 2, 3, 4]))


def _beam():
    def f(logits, k_state):
        v, i = lax.top_k(logits, 3)
        order = jnp.argsort(-v)
        return v[order], i[order], jnp.searchsorted(jnp.sort(k_state), 0.5)

    return f, (jnp.asarray(np.random.RandomState(2).randn(20), jnp.float32), jnp.linspace(0, 1, 9))


def _bf16_block():
    def f(p, x):
        h = jax.nn.silu(x @ p["w"]) * 0.5
        var = jnp.mean(jnp.square(h.astype(jnp.float32)), -1, keepdims=True)
        return h * lax.rsqrt(var + 1e-6).astype(h.dtype)

    return f, ({"w": jnp.ones((8, 8), jnp.bfloat16) * 0.1}, jnp.ones((2, 8), jnp.bfloat16))


def _newton():
    def solve(a):
        def cond(s):
            x, i = s
            return (jnp.abs(x * x - a) > 1e-5) & (i < 50)

        def body(s):
            x, i = s
            return 0.5 * (x + a / x), i + 1

        return lax.while_loop(cond, body, (a, jnp.int32(0)))[0]

    return solve, (jnp.float32(7.0),)


def _conv():
    def f(img, ker):
        y = lax.conv_general_dilated(img, ker, (1, 1), "SAME")
        return jax.nn.relu(y).reshape(img.shape[0], -1).mean(-1)

    return f, (jnp.ones((2, 3, 8, 8)), jnp.ones((4, 3, 3, 3)) * 0.01)


def _interp_hist():
    def f(x, xp, fp):
        return jnp.interp(x, xp, fp), jnp.histogram(x, bins=5, range=(0.0, 1.0))[0]

    return f, (jnp.linspace(0.05, 0.95, 7), jnp.linspace(0, 1, 5), jnp.arange(5.0))


def _nnx_step():
    from flax import nnx

    class MLP(nnx.Module):
        def __init__(self, rngs):
            self.a = nnx.Linear(4, 8, rngs=rngs)
            self.b = nnx.Linear(8, 1, rngs=rngs)

        def __call__(self, x):
            return self.b(nnx.relu(self.a(x)))

    graphdef, st = nnx.split(MLP(nnx.Rngs(0)))

    def loss(st, x):
        return (nnx.merge(graphdef, st)(x) ** 2).mean()

    def step(st, x):
        g = jax.grad(loss)(st, x)
        return jax.tree.map(lambda p, q: p - 0.1 * q, st, g)

    return step, (st, jnp.ones((3, 4)))


# Each function builds its program when it is called, so that collecting the tests compiles nothing.
CLEAN: dict[str, Callable[[], tuple[Callable, tuple]]] = {
    "mlp_adamw_step": _mlp_step,
    "causal_attention": _attention,
    "rnn_scan": _rnn,
    "kalman_filter": _kalman,
    "mcmc_scan": _mcmc,
    "gnn_segment_sum": _sparse_gather,
    "topk_argsort": _beam,
    "bf16_rmsnorm": _bf16_block,
    "newton_while": _newton,
    "conv_relu": _conv,
    "interp_histogram": _interp_hist,
    "flax_nnx_step": _nnx_step,
}
