"""Programs with problems that the guards in chapter 02-pure-functions catch."""

import os
import time

import jax
import jax.numpy as jnp
import numpy as np

x = jnp.arange(3.0)
rate = 0.5
weights = np.ones(3, np.float32)
order = np.array([0, 1])
mask = jnp.ones((300, 300))
penalties = [1.0, 2.0]
memo: dict[int, jax.Array] = {}
batches = iter([np.full(3, k, np.float32) for k in (1.0, 2.0)])


def timed(value):
    start = time.perf_counter()
    return value * 2, time.perf_counter() - start


def descend(w):
    return w - rate * 2 * w


def decay():
    global rate
    rate *= 0.5


training = True


def scale_in_training(value):
    return value * 2 if training else value


def evaluate():
    global training
    training = False


class Trainer:
    def __init__(self):
        self.rate = 0.5
        self.steps = 0

    def decay(self):
        self.rate *= 0.5

    def step(self, w):
        self.steps += 1
        return w - self.rate * 2 * w


class Net:
    def loss(self, w):
        self.hidden = jnp.tanh(w * x)
        return self.hidden.sum()


def positions(value):
    if 3 not in memo:
        memo[3] = jnp.sin(jnp.arange(3.0))
    return value + memo[3]


def reweight():
    weights[2] = 10.0
    order[:] = order[::-1]


def asserts(clicks):
    assert clicks > 0
    return jnp.log(clicks)


def scaled_by_environment(value):
    return value * float(os.environ.get("JAXBITS_SCALE", "1"))


EXAMPLES = [
    ("runs-while-tracing", "side_effect", timed, (x,), {}),
    ("stale-global", "stale_global", descend, (1.0,), {}),
    ("stale-attribute", "stale_global", Trainer().step, (1.0,), {}),
    ("stale-attribute", "side_effect", Trainer().step, (1.0,), {}),
    ("global-mode-flag", "stale_global", scale_in_training, (x,), {}),
    ("stale-numpy-array", "stale_global", lambda losses: (weights * losses).sum(), (x,), {}),
    ("stale-numpy-copy", "stale_global", lambda a: a[order], (x,), {}),
    ("captured-constant", "big_const", lambda scores: scores * mask, (mask,), {}),
    ("iterator-in-a-trace", "iterator", lambda w: w + next(batches).mean(), (0.0,), {}),
    ("kept-tracer", "leak", Net().loss, (1.0,), {}),
    ("cache-filled-while-tracing", "leak", positions, (0.0,), {}),
    ("exception-while-tracing", "control_flow", asserts, (5.0,), {}),
    ("exception-while-tracing", "nan", lambda cost, clicks: cost / clicks, (3.0, 0.0), {}),
    ("global-list-grows", "stale_global", lambda a: a + sum(penalties), (0.0,), {}),
    ("jit-again-is-stale", "stale_global", jax.jit(descend), (1.0,), {}),
    ("environment-read-once", "stale_global", scaled_by_environment, (1.0,), {}),
]
