"""Labeled cases for functions that are not jitted but call jitted ones, such as a training loop.

What such a function itself does with Python state happens on every call. What the jitted functions
that it calls do happens only when they are traced.
"""

from __future__ import annotations

import functools
import os

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from labelled_cases import Sweep, registry

CASES, case, add = registry()

X = jnp.ones(3)
history: list = []
settings = {"scale": 2.0}
printed: list = []
totals = {"steps": 0}
gain = 3.0


@jax.jit
def move(w, key, x):
    key, sub = jax.random.split(key)
    return w + x * jax.random.normal(sub), key


@jax.jit
def scaled(x):
    return x * settings["scale"]


@jax.jit
def times(x, scale):
    return x * scale


@functools.partial(jax.jit, static_argnames="scale")
def times_static(x, scale):
    return x * scale


@jax.jit
def remember(x):
    history.append(x * 2)
    return x + 1


@jax.jit
def announce(x):
    print("a step")
    return x + 1


@jax.jit
def counted(x):
    totals["steps"] += 1
    return x + 1


@jax.jit
def draws(x):
    return x + jax.random.normal(jax.random.key(0), x.shape)


@jax.jit
def noisy(x, key):
    return x + jax.random.normal(key, x.shape)


@jax.jit
def amplified(x):
    return x * gain


class Agent:
    def __init__(self):
        self.w, self.key, self.steps = jnp.ones(3), jax.random.key(0), 0
        self.losses = []
        self.rate = 0.1

    def update(self, x):
        self.steps += 1
        self.w, self.key = move(self.w, self.key, x)
        return self.w.sum()

    def record(self, x):
        self.losses.append(times(x, 2.0).sum())
        return x

    def decayed(self, x):
        self.rate *= 0.9
        return times(x, self.rate)

    def decayed_static(self, x):
        self.rate *= 0.9
        return times_static(x, scale=self.rate)

    def frozen(self, x):
        return noisy(x, self.key)

    def draw_in_step(self, x):
        self.steps += 1
        return draws(x)

    def advances(self, x):
        self.key, sub = jax.random.split(self.key)
        return noisy(x, sub)


class Cached:
    """A class whose own method is jitted, so that the program keeps what it read first."""

    def __init__(self):
        self.rate, self.kept, self.count = 0.1, None, 0

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, x):
        self.kept = x * self.rate
        self.count += 1
        return self.kept + 1

    def update(self, x):
        y = self.step(x)
        self.rate *= 0.5
        return y


@functools.partial(jax.jit, static_argnums=1)
def ask_for(key, n):
    key, sub = jax.random.split(key)
    return key, jax.random.normal(sub, (n,))


class Solver:
    """An evolution strategy whose own methods are not jitted."""

    def __init__(self):
        self.key, self.latest, self.calls = jax.random.key(0), None, []

    def ask(self):
        self.key, self.latest = ask_for(self.key, 4)
        return self.latest

    def ask_like_simulator(self, simulator):
        self.key, self.latest = ask_for(self.key, 4)
        simulator.advance()
        return self.latest

    def ask_inside_jit(self, x):
        @jax.jit
        def inner(y):
            self.latest = y * 2
            return self.latest

        self.key, sub = jax.random.split(self.key)
        return inner(x) + jax.random.normal(sub)

    def tell(self, x):
        @jax.grad
        def slope(w):
            self.latest = w * 2
            return (w * times(x, 2.0)).sum()

        self.key, _ = jax.random.split(self.key)
        return slope(x)

    def keep_both(self, x):
        self.calls.append(times(x, 2.0))
        return jax.lax.fori_loop(0, 2, lambda _, y: self.calls.append(y) or y + 1, x)


class Simulator:
    """An environment that is busy after its first step, so that an eager run raises an error."""

    is_busy = False

    def advance(self):
        if Simulator.is_busy:
            raise RuntimeError("the simulator is busy")
        Simulator.is_busy = True


# ------------------------------------------------------------ the function's own state
add("leak", False, Solver().ask)
add("leak", False, Solver().ask_like_simulator, Simulator())
for check in ("leak", "side_effect", "stale_global", "const_key"):
    add(check, False, Agent().update, X)
    add(check, False, Agent().advances, X)
for check in ("leak", "side_effect"):
    add(check, False, Agent().record, X)
for check in ("side_effect", "stale_global"):
    add(check, False, Agent().decayed, X)
    add(check, False, Agent().decayed_static, X)


@case("side_effect", False, X)
def loop_prints_losses(x):
    for _ in range(3):
        x = times(x, 0.5)
        print("loss", x.sum())
    return x


@case("leak", False, X)
def loop_keeps_history(x):
    for _ in range(3):
        x = times(x, 0.5)
        printed.append(x)
    return x


@case("side_effect", False, X)
def loop_reads_environment(x):
    if os.environ.get("NO_SUCH_NAME"):
        return x
    return times(x, 2.0)


@case("stale_global", False, X)
def loop_passes_global(x):
    return times(x, settings["scale"])


@case("stale_global", False, X)
def loop_passes_rebound_global(x):
    return times(x, gain)


@case("side_effect", False, np.ones(3))
def loop_draws_with_numpy(x):
    return times(x, np.random.default_rng().normal())


# ------------------------------------------------------------ the state of what it calls
@case("leak", True, X)
def loop_calls_step_that_leaks(x):
    for _ in range(2):
        x = remember(x)
    return x


@case("side_effect", True, X)
def loop_calls_step_that_prints(x):
    for _ in range(2):
        x = announce(x)
    return x


@case("side_effect", True, X)
def loop_calls_step_that_counts(x):
    for _ in range(2):
        x = counted(x)
    return x


@case("stale_global", True, X)
def loop_calls_step_with_stale_setting(x):
    return scaled(x)


@case("stale_global", True, X)
def loop_calls_step_with_rebound_global(x):
    return amplified(x)


@case("const_key", True, X)
def loop_calls_step_with_constant_key(x):
    for _ in range(2):
        x = draws(x)
    return x


add("const_key", True, Agent().draw_in_step, X)
add("const_key", True, Agent().frozen, X)
add("leak", True, Cached().update, X)
add("leak", True, Solver().ask_inside_jit, X)
add("leak", True, Solver().tell, X)
add("leak", True, Solver().keep_both, X)
add("side_effect", True, Cached().update, X)
add("stale_global", True, Cached().update, X)


@case("const_key", True, X)
def loop_makes_same_key(x):
    for _ in range(2):
        x = noisy(x, jax.random.key(1))
    return x


def advance():
    global gain
    gain *= 2


# ------------------------------------------------------------ functions of `jax.pmap`
@jax.pmap
def draw_on_each_device(key):
    return jax.random.uniform(key, (4,))


@jax.pmap
def draw_from_constant_key(x):
    return x + jax.random.uniform(jax.random.key(0))


@jax.pmap
def remember_on_each_device(x):
    history.append(x * 2)
    return x + gain


class Sampler:
    """A sampler that runs in Python and draws its batches with a function of `jax.pmap`."""

    def __init__(self):
        self.key, self.drawn, self.batch_size = jax.random.key(7), 0, 1

    def __getitem__(self, index):
        self.key, subkey = jax.random.split(self.key)
        self.drawn += 1
        return draw_on_each_device(jax.random.split(subkey, self.batch_size))

    def draw_constant(self, x):
        self.drawn += 1
        return draw_from_constant_key(x)

    def remember(self, x):
        self.drawn += 1
        return remember_on_each_device(x)


for check in ("leak", "side_effect", "stale_global", "const_key"):
    add(check, False, Sampler().__getitem__, 0)
add("const_key", True, Sampler().draw_constant, X[:1])
add("leak", True, Sampler().remember, X[:1])
add("stale_global", True, Sampler().remember, X[:1])


# ------------------------------------------------------------ functions that a library made
class Affine(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)


MODEL = nn.Dense(3)
WEIGHTS = MODEL.init(jax.random.key(0), X)
predict = jax.jit(MODEL.apply)
predict_own = jax.jit(Affine().apply)
OWN_WEIGHTS = Affine().init(jax.random.key(0), X)
GRID = jnp.ones((256, 300))
numbers = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


class Rows:
    """A buffer that a training loop fills."""

    def __init__(self):
        self.data, self.cursor = jnp.zeros((4, 3)), 0

    def put(self, row):
        self.data = self.data.at[self.cursor].set(row)
        self.cursor += 1


class Dataset:
    """A data set that returns its rows in order or shuffled."""

    def __init__(self):
        self.rows = np.ones((64, 32), np.float32)

    def batches(self):
        for start in range(0, 64, 16):
            yield self.rows[start : start + 16]

    def shuffled(self):
        for _ in range(4):
            yield self.rows[np.random.default_rng(0).permutation(64)[:16]]


class Momentum:
    """An optimizer that keeps its own state and updates it with a jitted function."""

    def __init__(self):
        self.mean = jnp.zeros((256, 300))

    def step(self, grads):
        self.mean = averaged(grads, self.mean)
        return self.mean.sum()

    def step_with_captured_grid(self, grads):
        self.mean = averaged(grads, self.mean)
        return times_grid(self.mean)


@jax.jit
def averaged(grads, mean):
    return 0.9 * mean + 0.1 * grads


@jax.jit
def times_grid(x):
    return (x * GRID).sum()


@jax.jit
def mean_of(w, batch):
    return w - 0.1 * batch.mean()


@jax.jit
def times_next(x):
    return x * next(numbers)


def fill_with(step):
    def loop(rows, x):
        for _ in range(2):
            x = step(x)
            rows.put(x)
        return x

    return loop


for model, weights in ((predict, WEIGHTS), (predict_own, OWN_WEIGHTS)):
    add("inplace", False, fill_with(functools.partial(model, weights)), Rows(), X)
    add("leak", False, fill_with(functools.partial(model, weights)), Rows(), X)
add("inplace", True, fill_with(lambda x: jnp.sin(x) * 2), Rows(), X)


@case("inplace", False, np.zeros(3, np.float32), X)
def loop_fills_numpy_array(losses, x):
    for i in range(3):
        x = times(x, 0.5)
        losses[i] = i
    return x


@case("inplace", True, Rows(), X)
def step_fills_buffer_inside_jit(rows, x):
    @jax.jit
    def step(y):
        rows.put(y)
        return y * 2

    return step(x)


@case("iterator", False, X)
def loop_calls_next(x):
    return predict(WEIGHTS, x) * next(numbers)


@case("iterator", False, iter([1.0, 2.0]), X)
def loop_takes_batches(batches, x):
    for batch in batches:
        x = times(x, batch)
    return x


@case("iterator", True, X)
def loop_calls_step_that_calls_next(x):
    return times_next(x) + x


add("big_const", False, Momentum().step, jnp.ones((256, 300)))
add("big_const", True, Momentum().step_with_captured_grid, jnp.ones((256, 300)))
add("big_const", False, lambda w: mean_of(w, GRID), 1.0)
add("big_const", True, lambda w: mean_of(w, GRID * 2), 1.0)


@case("transfer", False, jnp.ones(3), Dataset())
def loop_over_data_set(w, data):
    for batch in data.batches():
        w = mean_of(w, batch)
    return w


@case("transfer", False, jnp.ones(3), Dataset())
def loop_over_shuffled_data_set(w, data):
    for batch in data.shuffled():
        w = mean_of(w, batch)
    return w


@case("transfer", True, jnp.ones(3), Dataset())
def loop_sends_same_array(w, data):
    for _ in range(4):
        w = mean_of(w, data.rows)
    return w


@case("transfer", True, jnp.ones(3))
def loop_sends_own_table(w):
    table = np.arange(2048.0, dtype=np.float32)
    for _ in range(4):
        w = mean_of(w, table)
    return w


@case("inplace", False, Rows(), X)
def loop_jits_again(rows, x):
    x = jax.jit(lambda y: y * 2)(x)
    rows.put(x)
    return x


@case("iterator", False, (float(n) for n in range(3)), X)
def loop_takes_generated_batches(batches, x):
    for batch in batches:
        x = times(x, batch)
    return x


# ------------------------------------------------------------ batches next to a key
IMAGES = np.ones((64, 32), np.float32)


def add_noise(key, images, steps):
    """Mix images with noise, as the step of a diffusion model does before its loss."""
    share = jnp.linspace(0.0, 1.0, 100)[steps][:, None]
    return images * (1 - share) + jax.random.normal(key, images.shape) * share


STEPS = np.arange(64)
for key in jax.random.key(0), jax.random.PRNGKey(0):
    add("transfer", False, add_noise, key, IMAGES, STEPS)
    add("transfer", False, jax.jit(add_noise), key, IMAGES, STEPS)
add(
    "transfer",
    True,
    jax.jit(add_noise),
    Sweep([(jax.random.key(n), IMAGES, STEPS) for n in range(2)]),
)
add("transfer", True, lambda images, steps: jnp.take(images, steps, axis=0), IMAGES, jnp.arange(3))
