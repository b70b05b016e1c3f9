"""Programs with problems that the guards in chapter 12-async-dispatch catch."""

import time

import jax
import jax.numpy as jnp
import numpy as np

x = jnp.ones((8, 8))


def timed(value):
    start = time.perf_counter()
    product = value @ value
    return product, time.perf_counter() - start


@jax.jit
def update(weights, batch):
    return weights * 0.9, (batch @ weights).mean()


def losses(weights, batches):
    history = []
    for batch in batches:
        weights, loss = update(weights, batch)
        history.append(float(loss))
    return history


def fed(batches):
    return [update(x, batch)[1] for batch in batches]


doubled = jax.jit(lambda state: jax.tree.map(lambda leaf: leaf * 2, state), donate_argnums=0)
moved = jax.jit(lambda params, rate: params - rate, donate_argnums=0)


def moved_by_keyword(params):
    return moved(params=params, rate=0.1) + params


@jax.jit
def asks_python(value):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((8, 8), jnp.float32), value)


EXAMPLES = [
    ("clock-without-waiting", "timing", timed, (x,), {}),
    ("loss-read-every-step", "transfer", losses, (x, [x] * 3), {}),
    ("implicit-transfer-refused", "transfer", fed, ([np.ones((200, 8), np.float32)] * 3,), {}),
    ("donated-twice", "donation", doubled, ({"params": x, "average": x},), {}),
    ("callback-not-called", "transfer", asks_python, (x,), {}),
    ("donated-by-keyword", "donation", moved_by_keyword, (x,), {}),
]
