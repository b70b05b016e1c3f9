"""Labeled cases for the cost detectors: constants, unrolling, donation, transfers, and timing.

They were written before the detectors ran on them. Import the module again for every run.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import logging
import time
import timeit
from contextlib import contextmanager
from datetime import datetime as Date
from time import monotonic as mono
from time import perf_counter as pc

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from labelled_cases import registry

CASES, case, add = registry()

X4 = jnp.arange(4.0)
X8 = jnp.arange(8.0)
V = jnp.ones(512)
S = jnp.ones((300, 300))

# ---------------------------------------------------------------- big_const
WEIGHTS = np.random.default_rng(0).normal(size=(512, 512)).astype(np.float32)
WIDE = np.random.default_rng(0).normal(size=(512, 512))
PARAMS = {"dense": {"kernel": jnp.ones((512, 600)), "bias": jnp.zeros(600)}}
LAYERS = [jnp.ones((200, 200)) * i for i in range(10)]
TABLE = jnp.arange(256)
EMBEDDING = jnp.ones((2000, 128))
KERNEL = jnp.ones((512, 512)) * 2
HALF = jnp.ones((1000, 1000), jnp.bfloat16)


@case("big_const", True, V)
def params_in_a_global_dict(x):
    return jnp.tanh(x @ PARAMS["dense"]["kernel"] + PARAMS["dense"]["bias"])


@case("big_const", True, jnp.ones(200))
def ten_medium_ones(x):
    for w in LAYERS:
        x = jnp.tanh(w @ x)
    return x


class Net:
    def __init__(self):
        self.w = jnp.full((512, 700), 0.1)

    def __call__(self, x):
        return x @ self.w

    def loss(self, x):
        return jnp.sum(self(x) ** 2)


add("big_const", True, Net(), V)
add("big_const", True, Net().loss, V)
add("big_const", True, functools.partial(lambda w, x: w @ x, WEIGHTS), V)
add("big_const", True, jax.jit(lambda x: WEIGHTS @ x), V)


@case("big_const", True, V)
def double_precision_capture(x):
    return jnp.asarray(WIDE) @ x


@case("big_const", True, V)
def a_default_argument(x, w=KERNEL):
    return w @ x


@case("big_const", True, jnp.int32(5))
def in_a_branch(i):
    return lax.cond(i > 3, lambda: EMBEDDING[i], lambda: jnp.zeros(128))


@case("big_const", True, V)
def under_grad(x):
    return jax.grad(lambda v: jnp.sum(jnp.sin(WEIGHTS @ v)))(x)


@case("big_const", True, jnp.ones((3, 512)))
def under_vmap(xs):
    return jax.vmap(lambda v: jnp.dot(WEIGHTS, v))(xs)


@case("big_const", True, jnp.ones(100_000))
def made_by_numpy(x):
    return x * np.linspace(0.0, 1.0, 100_000)


@case("big_const", True, jnp.ones(1000, jnp.bfloat16))
def half_precision(x):
    return HALF @ x


@case("big_const", True, V)
def in_a_while_loop(x):
    return lax.while_loop(lambda s: s.sum() < 1e3, lambda s: jnp.abs(WEIGHTS @ s) + 1, x)


@case("big_const", True, V)
def in_a_fori_loop(x):
    return lax.fori_loop(0, 3, lambda i, s: WEIGHTS @ s, x)


@case("big_const", False, V, WEIGHTS)
def numpy_weights_passed(x, w):
    return w @ x


@case("big_const", False, V, PARAMS)
def params_passed(x, params):
    return jnp.tanh(x @ params["dense"]["kernel"] + params["dense"]["bias"])


@case("big_const", False, X4)
def small_lookup(x):
    return TABLE[x.astype(int)]


@case("big_const", False, V)
def staged_range(x):
    return jnp.arange(512 * 512.0).reshape(512, 512) @ x


@case("big_const", False, V)
def drawn_inside(x):
    return jax.random.normal(jax.random.key(0), (512, 512)) @ x


@case("big_const", False, X4)
def only_its_shape_is_used(x):
    return x * WEIGHTS.shape[0]


@case("big_const", False, X4)
def only_one_number_is_used(x):
    return x * float(WEIGHTS[0, 0])


@case("big_const", False, V)
def broadcast_scalar(x):
    return jnp.broadcast_to(jnp.float32(2.0), (512, 512)) @ x


@case("big_const", False, V)
def a_mask(x):
    return jnp.where(jnp.tril(jnp.ones((512, 512), bool)), x, 0.0)


@case("big_const", False, X4)
def filter_taps(x):
    return jnp.convolve(x, np.hanning(31))


@case("big_const", False, X4)
def small_params_captured(x):
    w = jnp.ones((32, 4))
    return w @ x + np.zeros(32, np.float32)


@case("big_const", False, jnp.ones((512, 512)))
def passed_to_inner_jit(w):
    return jax.jit(lambda v: v @ v)(w)


# ---------------------------------------------------------------- unrolled
def euler(x, dt):
    return x + dt * jnp.cos(x)


@case("unrolled", True, X4)
def steps_of_a_helper(x):
    for _ in range(100):
        x = euler(x, 0.01)
    return x


@case("unrolled", True, X4)
def a_while_of_python(x):
    i = 0
    while i < 60:
        x = x * 0.9 + jnp.sin(x)
        i += 1
    return x


@case("unrolled", True, jnp.ones((64, 4)))
def a_comprehension(xs):
    return jnp.stack([jnp.dot(xs[i], xs[i]) for i in range(64)])


def power(x, n):
    return x if n == 0 else jnp.tanh(power(x, n - 1))


add("unrolled", True, lambda x: power(x, 80), X4)
add(
    "unrolled",
    True,
    jax.jit(lambda x: functools.reduce(lambda c, i: jnp.sin(c + i), range(90), x)),
    X4,
)


@case("unrolled", True, X4, jnp.ones((4, 4)))
def power_iteration(v, a):
    for _ in range(50):
        v = a @ v
        v = v / jnp.linalg.norm(v)
    return v


@case("unrolled", True, X4)
def an_inner_jitted_step(x):
    step = jax.jit(lambda v: jnp.sin(v) * 2)
    for _ in range(128):
        x = step(x)
    return x


@case("unrolled", True, X4)
def scan_unrolled(x):
    return lax.scan(lambda c, i: (jnp.sin(c) + i, None), x, jnp.arange(256.0), unroll=256)[0]


@case("unrolled", True, X4)
def three_loops(x):
    for i in range(5):
        for j in range(5):
            for k in range(5):
                x = x + jnp.sin(x) * (i + j + k)
    return x


@case("unrolled", True, X4)
def gradient_descent(x):
    grad = jax.grad(lambda v: jnp.sum((v - 1) ** 2))
    for _ in range(100):
        x = x - 0.1 * grad(x)
    return x


@case("unrolled", True, jnp.zeros(100))
def filled_in_a_loop(x):
    for i in range(1, 100):
        x = x.at[i].set(x[i - 1] * 0.5 + 1.0)
    return x


@case("unrolled", True, X4)
def inside_a_scan(x):
    def body(c, _):
        for _ in range(64):
            c = jnp.sin(c)
        return c, None

    return lax.scan(body, x, None, length=3)[0]


MLP = [(jnp.eye(4), jnp.zeros(4)) for _ in range(8)]


@case("unrolled", False, MLP, X4)
def eight_layers(params, x):
    for w, b in params:
        x = jax.nn.gelu(x @ w + b)
    return x


@case("unrolled", False, MLP, X4)
def eight_layers_of_gradient(params, x):
    return jax.grad(lambda p: eight_layers(p, x).sum())(params)


@case("unrolled", False, [jnp.ones(3) * i for i in range(30)])
def tree_map_over_thirty(params):
    return jax.tree.map(lambda p: p - 0.1 * jnp.sin(p), params)


@case("unrolled", False, jnp.ones((200, 4)))
def vmapped(xs):
    return jax.vmap(lambda r: jnp.tanh(r).sum())(xs)


@case("unrolled", False, X4)
def fori_many(x):
    return lax.fori_loop(0, 1000, lambda i, v: euler(v, 0.1), x)


@case("unrolled", False, X4)
def scan_unrolled_by_four(x):
    return lax.scan(lambda c, i: (jnp.sin(c) + i, None), x, jnp.arange(256.0), unroll=4)[0]


@case("unrolled", False, X4)
def loop_without_jax(x):
    total = 0.0
    for i in range(1000):
        total += i * 0.5
    return x * total


@case("unrolled", False, jnp.ones((2, 8, 8, 3)))
def residual_blocks(x):
    for _ in range(6):
        x = x + jax.nn.relu(x * 2.0 + 1.0)
    return x


@case("unrolled", False, X4)
def polynomial(x):
    return jnp.polyval(jnp.arange(6.0), x)


@case("unrolled", False, X4)
def a_long_expression(x):
    return (
        x * x * x * x + x * x * x + x * x + x + jnp.sin(x) * jnp.sin(x) * jnp.sin(x) + x * x * x * x
    )


@case("unrolled", False, jnp.arange(64.0))
def prefix_sums(x):
    return lax.associative_scan(jnp.add, x)


@case("unrolled", False, X4, 10)
def ten_newton_steps(x, n):
    for _ in range(10):
        x = x - (x * x - 2) / (2 * x + 1)
    return x


# ---------------------------------------------------------------- donation
update = jax.jit(lambda p, g: jax.tree.map(lambda a, b: a - 0.1 * b, p, g), donate_argnums=0)
bump = jax.jit(lambda x: x + 1, donate_argnums=(0,))
add_both = jax.jit(lambda a, b: (a + b, a - b), donate_argnums=(0, 1))


@functools.partial(jax.jit, donate_argnames=("state",))
def step(state, batch):
    return state * 0.9 + batch


TREE = {"w": X8 * 2, "b": X8 * 3}


@case("donation", True, TREE, {"w": X8, "b": X8 + 1})
def tree_used_again(params, grads):
    new = update(params, grads)
    return jax.tree.map(lambda a, b: a - b, new, params)


@case("donation", True, X8 * 4, X8)
def by_name(state, batch):
    new = step(state=state, batch=batch)
    return new, state.sum()


@case("donation", True, X8 * 5)
def same_array_twice_in_one_call(x):
    return add_both(x, x)


@case("donation", True, X8 * 6, X8)
def old_state_in_a_list(state, batch):
    history = [state]
    for _ in range(2):
        state = step(state, batch)
        history.append(state)
    return history


@case("donation", True, X8 * 7)
def printed_after(x):
    y = bump(x)
    print(float(x[0]))
    return y


@case("donation", True, jnp.ones((8, 8)))
def other_shape(x):
    return jax.jit(lambda v: v.reshape(-1)[:10] * 2, donate_argnums=0)(x)


@case("donation", True, X8 * 8)
def only_two_elements(x):
    return jax.jit(lambda v: v[:2] * 2, donate_argnums=0)(x)


add("donation", True, jax.jit(lambda a, b: (a * b).sum(), donate_argnums=(0,)), X8 + 1, X8 + 2)


@case("donation", True, X8 * 9)
def an_alias(x):
    old = x
    x = bump(x)
    return x + old


class Trainer:
    def __init__(self):
        self.params = X8 * 10
        self.best = self.params

    def fit(self, g):
        self.params = update(self.params, g)
        return self.params, self.best * 2


add("donation", True, Trainer().fit, X8)


@case("donation", True, X8 * 11)
def loop_with_the_same_input(x):
    out = []
    for _ in range(3):
        out.append(bump(x))
    return sum(out)


@case("donation", True, X8 * 12, X8)
def donated_second_used_by_grad(p, g):
    new = update(p, g)
    return new, jax.grad(lambda v: jnp.sum(v**2))(p)


@case("donation", True, X8 * 13)
def numpy_after(x):
    y = bump(x)
    return y, np.asarray(x)


@case("donation", False, TREE, {"w": X8, "b": X8 + 1})
def tree_rebound(params, grads):
    for _ in range(3):
        params = update(params, grads)
    return params


@case("donation", False, X8 * 14, X8)
def rebound_by_name(state, batch):
    for _ in range(3):
        state = step(state=state, batch=batch)
    return state


@case("donation", False, X8 * 15, X8 * 16)
def both_usable(a, b):
    a, b = add_both(a, b)
    return a * b


@case("donation", False, X8 * 17)
def used_before(x):
    norm = jnp.linalg.norm(x)
    y = bump(x)
    return y / norm


@case("donation", False, X8 * 18)
def a_copy_is_donated(x):
    y = bump(jnp.copy(x))
    return x, y


@case("donation", False, X8 * 19)
def an_intermediate_is_donated(x):
    return bump(x * 2) + x


@case("donation", False, X8 * 20)
def dtype_and_shape_after(x):
    y = bump(x)
    return y.astype(x.dtype).reshape(x.shape) * x.ndim


add("donation", False, bump, X8 * 21)
add("donation", False, jax.jit(lambda a, b: (a + b, a.sum()), donate_argnums=0), X8 * 22, X8)


@case("donation", False, X8 * 23)
def deleted_by_name(x):
    y = bump(x)
    del x
    return y


class Keeper:
    def __init__(self):
        self.params = X8 * 24

    def fit(self, g):
        self.params = update(self.params, g)
        return self.params


add("donation", False, Keeper().fit, X8)


@case("donation", False, X8 * 25)
def no_donation_at_all(x):
    f = jax.jit(lambda v: v * 2, static_argnums=())
    y = f(x)
    z = f(x)
    return y + z + x


@case("donation", False, X8 * 26)
def scan_carry(x):
    return lax.scan(lambda c, _: (bump(c), None), x, None, length=3)[0]


# ---------------------------------------------------------------- transfer
log = logging.getLogger("cost")
sgd = jax.jit(lambda w, b: (w - 0.1 * b.mean(), (w * b.sum()).sum()))
DATA = np.ones((5, 64), np.float32)


@case("transfer", True, X4)
def loss_logged_every_step(w):
    losses = []
    for _ in range(3):
        w = w * 0.9
        losses.append(float(jnp.sum(w**2)))
    return w, losses


@case("transfer", True, X4)
def choice_in_a_loop(w):
    for _ in range(3):
        w = w * 0.9
        if jnp.sum(w) < 1.0:
            break
    return w


@case("transfer", True, X4)
def device_get_in_a_loop(w):
    out = []
    for _ in range(3):
        w = w + 1
        out.append(jax.device_get(w))
    return np.stack(out)


@case("transfer", True, X4)
def numpy_function_in_the_middle(x):
    n = np.linalg.norm(jnp.sin(x))
    return x / n


@case("transfer", True, X4)
def tolist(x):
    return [v * 2 for v in jnp.cumsum(x).tolist()]


@case("transfer", True, X4)
def formatted(x):
    message = f"mean {x.mean():.3f}"
    return x * len(message)


@case("transfer", True, X4)
def logged(x):
    log.warning("loss %s", x.sum())
    return x * 2


@case("transfer", True, X4)
def io_callback_in_fori(x):
    def body(i, c):
        io_callback(lambda v: None, None, c)
        return c + 1

    return lax.fori_loop(0, 3, body, x)


@case("transfer", True, X4)
def debug_print_in_a_while(x):
    def body(c):
        jax.debug.print("c = {}", c)
        return c + 1

    return lax.while_loop(lambda c: c.sum() < 20, body, x)


@case("transfer", True, X4)
def numpy_batches_to_a_jitted_step(w):
    for batch in DATA:
        w, _ = sgd(w, batch)
    return w


@case("transfer", True, X4)
def int_of_argmax(x):
    best = int(jnp.argmax(x))
    return x[best]


@case("transfer", True, X4)
def converted_while_not_done(x):
    while x.max() > 1e-2:
        x = x * 0.1
    return x


add(
    "transfer",
    True,
    jax.jit(lambda im, w: (im @ w).sum()),
    np.ones((128, 784), np.float32),
    jnp.ones(784),
)


@case("transfer", True, X4)
def pure_callback_under_jit(x):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return (
        jax.jit(lambda v: jax.pure_callback(np.cumsum, shape, v, vmap_method="sequential"))(x) * 2
    )


@case("transfer", False, X4)
def stays_on_the_device(w):
    losses = []
    for _ in range(3):
        w = w * 0.9
        losses.append(jnp.sum(w**2))
    return w, jnp.stack(losses)


@case("transfer", False, X4)
def chosen_on_the_device(x):
    return jnp.where(x.sum() > 0, x, -x)


@case("transfer", False, X4)
def numpy_on_numpy(x):
    grid = np.asarray([1.0, 2.0, 3.0, 4.0])
    return x * float(np.mean(grid)) + grid.max().item()


@case("transfer", False, X4)
def shape_printed(x):
    print(f"shape {x.shape} {x.dtype} {x.ndim} {len(x)}")
    return x + int(x.shape[0])


@case("transfer", False, X4)
def one_debug_print(x):
    jax.debug.print("x = {}", x)
    return x + 1


@case("transfer", False, X4, 3)
def python_numbers(x, n):
    for _ in range(n):
        x = x * 0.5
    return x


@case("transfer", False, np.float32(0.5), X4)
def numpy_scalar(lr, x):
    return x * lr


@case("transfer", False, np.ones(4, np.float32), X4)
def a_small_numpy_argument(a, x):
    return x * a


@case("transfer", False, jnp.ones((256, 1024)), jnp.ones(1024))
def on_the_device_already(batch, w):
    return batch @ w


@case("transfer", False, X4)
def while_on_the_device(x):
    return lax.while_loop(lambda c: c.max() > 1e-2, lambda c: c * 0.1, x)


@case("transfer", False, np.ones((256, 1024), np.float32))
def put_there_explicitly(batch):
    return jax.device_put(batch).sum()


add("transfer", False, jax.jit(lambda x: x * 2), X4)
add("transfer", False, jax.vmap(lambda x: jnp.sin(x) * np.pi), X4)


@case("transfer", False, X4)
def iterated_on_the_device(x):
    return sum(v * 2 for v in x)


# ---------------------------------------------------------------- timing
matmul = jax.jit(lambda a: a @ a)


class Timer:
    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self.start


@contextmanager
def timer(out):
    start = mono()
    yield
    out.append(mono() - start)


def timed(f, *args):
    start = pc()
    y = f(*args)
    return y, pc() - start


def timed_well(f, *args):
    start = pc()
    y = jax.block_until_ready(f(*args))
    return y, pc() - start


def clocked(f):
    @functools.wraps(f)
    def inner(*args):
        start = time.time()
        out = f(*args)
        print("took", time.time() - start)
        return out

    return inner


@case("timing", True, S)
def with_a_timer(x):
    with Timer() as t:
        y = matmul(x)
    return y, t.seconds


@case("timing", True, S)
def with_a_generator_timer(x):
    out = []
    with timer(out):
        y = jnp.linalg.norm(x)
    return y, out


@case("timing", True, S)
def by_a_helper(x):
    matmul(x).block_until_ready()
    y, seconds = timed(matmul, x)
    return y, seconds


add("timing", True, clocked(lambda x: jnp.sin(x) @ x), S)


@case("timing", True, S)
def by_timeit(x):
    return timeit.timeit(lambda: matmul(x), number=3)


@case("timing", True, S)
def by_dates(x):
    start = datetime.datetime.now()
    y = matmul(x)
    return y, (Date.now() - start).total_seconds()


@case("timing", True, S)
def result_dropped(x):
    matmul(x).block_until_ready()
    start = timeit.default_timer()
    for _ in range(5):
        matmul(x)
    end = timeit.default_timer()
    return end - start


@case("timing", True, S)
def waits_for_the_input(x):
    start = time.perf_counter()
    y = matmul(x)
    x.block_until_ready()
    return y, time.perf_counter() - start


@case("timing", True, S)
def waits_for_the_first_only(x):
    start = time.perf_counter()
    y = matmul(x).block_until_ready()
    z = matmul(y + 1)
    stop = time.perf_counter()
    return z, stop - start


@case("timing", True, S)
def the_second_block_is_wrong(x):
    t0 = pc()
    y = jax.block_until_ready(matmul(x))
    first = pc() - t0
    t0 = pc()
    z = matmul(y)
    second = pc() - t0
    return z, first, second


class Bench:
    def begin(self):
        self.t0 = time.monotonic_ns()

    def end(self):
        return time.monotonic_ns() - self.t0

    def run(self, x):
        self.begin()
        y = matmul(x)
        return y, self.end()


add("timing", True, Bench().run, S)


@case("timing", True, S)
def a_grad_is_timed(x):
    times = []
    for _ in range(2):
        t0 = time.process_time()
        g = jax.grad(lambda v: jnp.sum(matmul(v)))(x)
        times.append(time.process_time() - t0)
    return g, times


@case("timing", False, S)
def with_a_timer_and_a_wait(x):
    with Timer() as t:
        y = matmul(x).block_until_ready()
    return y, t.seconds


@case("timing", False, S)
def by_a_helper_that_waits(x):
    return timed_well(matmul, x)


@case("timing", False, S)
def timeit_that_waits(x):
    return timeit.timeit(lambda: matmul(x).block_until_ready(), number=3)


@case("timing", False, S)
def converted_before(x):
    start = time.time()
    total = float(matmul(x).sum())
    return total, time.time() - start


@case("timing", False, S)
def item_before(x):
    start = time.time()
    total = jnp.sum(x).item()
    return total, time.time() - start


@case("timing", False, S)
def printed_before(x):
    start = time.time()
    print(x.mean())
    return time.time() - start


@case("timing", False, S)
def device_get_before(x):
    start = pc()
    y = jax.device_get(matmul(x))
    return y, pc() - start


@case("timing", False, S)
def numpy_is_timed(x):
    a = np.ones((50, 50))
    start = pc()
    b = a @ a
    seconds = pc() - start
    return x * b.sum(), seconds


@case("timing", False, S)
def a_tree_is_waited_for(x):
    start = pc()
    out = {"a": matmul(x), "b": jnp.sin(x)}
    jax.tree.map(lambda v: v.block_until_ready(), out)
    return out, pc() - start


@case("timing", False, S)
def untimed_work_between(x):
    seconds = []
    for _ in range(3):
        start = pc()
        y = matmul(x).block_until_ready()
        seconds.append(pc() - start)
        x = x + y * 1e-6
    return x, seconds


@case("timing", False, S)
def a_seed_from_the_clock(x):
    key = jax.random.key(int(time.time()))
    return x + jax.random.normal(key, x.shape)


@case("timing", False, S)
def loop_waited_at_the_end(x):
    start = pc()
    for _ in range(5):
        x = matmul(x) * 1e-3
    x.block_until_ready()
    return x, (pc() - start) / 5


@case("timing", False, S)
def compilation_is_timed(x):
    start = pc()
    compiled = jax.jit(lambda v: v @ v).lower(x).compile()
    seconds = pc() - start
    return compiled(x), seconds


@case("timing", False, S)
def a_numpy_function_waits(x):
    start = pc()
    total = np.sum(np.asarray(matmul(x)))
    return total, pc() - start


@case("timing", False, S)
def sleeping(x):
    start = pc()
    time.sleep(0.001)
    seconds = pc() - start
    return matmul(x), seconds, list(itertools.islice("ab", 1))
