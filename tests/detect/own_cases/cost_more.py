"""More labeled cases for the cost detectors, written after those passed the first ones."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import Sweep, registry

CASES, case, add = registry()

X4 = jnp.arange(4.0)
X = jnp.arange(6.0)
V = jnp.ones(500)
S = jnp.ones((200, 200))

# ---------------------------------------------------------------- big_const
IMAGES = np.random.default_rng(0).integers(0, 255, (64, 28, 28, 3)).astype(np.uint8)
VOCAB = {"embed": np.ones((1000, 300), np.float32)}
DOUBLE = np.eye(500)


@dataclasses.dataclass
class Model:
    weights: Any
    scale: float = 1.0

    def predict(self, x):
        return jnp.tanh(x @ self.weights) * self.scale


MODEL = Model(jnp.ones((500, 300)))
add("big_const", True, MODEL.predict, V)
add("big_const", True, lambda x: MODEL.predict(x), V)
add("big_const", True, lambda i: jnp.asarray(VOCAB["embed"])[i], jnp.int32(2))
add("big_const", True, jax.vmap(lambda i: jnp.take(VOCAB["embed"], i, axis=0)), jnp.arange(3))
add("big_const", True, lambda x: x @ DOUBLE, V)
add("big_const", True, lambda x: x + jnp.array([float(i) for i in range(70_000)]), jnp.ones(70_000))
add("big_const", True, lambda w: (w * IMAGES.astype(np.float32)).sum(), jnp.float32(2.0))
add("big_const", True, partial(lambda x, table: table[x], table=jnp.ones((300, 300))), jnp.int32(1))
add("big_const", True, jax.checkpoint(lambda x: jnp.sin(DOUBLE @ x)), V)


@jax.custom_vjp
def custom(x):
    return DOUBLE @ x


custom.defvjp(lambda x: (custom(x), None), lambda _, g: (g @ DOUBLE,))
add("big_const", True, lambda x: custom(x) * 2, V)
add("big_const", False, lambda x: x * np.arange(500, dtype=np.float32), V)
add("big_const", False, lambda x: x[np.arange(0, 500, 2)], V)
add("big_const", False, lambda x: x + jax.random.uniform(jax.random.key(1), (500,)), V)
add("big_const", False, lambda x, m: m["w"] @ x, V, {"w": np.ones((500, 500), np.float32)})
add("big_const", False, lambda x: jnp.zeros((500, 500)).at[0].set(x), V)
add("big_const", False, lambda x: x + jnp.array([1.0, 2.0, 3.0, 4.0]), X4)
add("big_const", False, lambda x: jnp.linspace(0, 1, 100_000) * x, jnp.float32(1))
add("big_const", False, lambda x: jnp.meshgrid(jnp.arange(400.0), jnp.arange(400.0))[0] * x, 2.0)
add("big_const", False, lambda x: x * jnp.float32(IMAGES.mean()), X4)
add("big_const", False, lambda x: x @ np.fft.fft(np.eye(8)).real.astype(np.float32), jnp.ones(8))

# ---------------------------------------------------------------- unrolled


@case("unrolled", True, X, jnp.ones((40, 6)))
def rnn_steps(h, xs):
    outputs = []
    for t in range(xs.shape[0]):
        h = jnp.tanh(h + xs[t])
        outputs.append(h)
    return jnp.stack(outputs)


@case("unrolled", True, jnp.ones(30), jnp.ones(30))
def dot_by_hand(a, b):
    s = 0.0
    for i in range(30):
        s += a[i] * b[i]
    return s


@case("unrolled", True, jnp.ones((8, 8)), jnp.ones((8, 8)))
def matmul_by_hand(a, b):
    return jnp.array(
        [[sum(a[i, k] * b[k, j] for k in range(8)) for j in range(8)] for i in range(8)]
    )


@case("unrolled", True, X)
def with_enumerate_and_zip(x):
    for i, (a, b) in enumerate(zip(range(60), range(60), strict=True)):
        x = jnp.where(x > i, x - a, x + b)
    return x


@case("unrolled", True, X)
def fori_unrolled(x):
    return lax.fori_loop(0, 64, lambda i, v: jnp.cos(v), x, unroll=64)


@case("unrolled", True, X)
def scan_fully_unrolled(x):
    return lax.scan(lambda c, _: (jnp.cos(c) * 2, None), x, None, length=100, unroll=True)[0]


@case("unrolled", True, X)
def sum_of_a_generator(x):
    return sum(jnp.sin(x * k) / k for k in range(1, 51))


def fib(n, a, b):
    return a if n == 0 else fib(n - 1, b, a + b)


add("unrolled", True, lambda a, b: fib(60, a, b), jnp.float32(0), jnp.float32(1))
add("unrolled", True, lambda x: functools.reduce(jnp.add, [x * i for i in range(80)]), X)
add("unrolled", True, jax.grad(lambda x: rnn_steps(x, jnp.ones((40, 6))).sum()), X)


@case("unrolled", True, X)
def list_of_python_coefficients(x):
    y = jnp.zeros_like(x)
    for c in [0.1 * k for k in range(100)]:
        y = y * x + c
    return y


class Block:
    def __call__(self, x):
        return jax.nn.relu(x * 2 + 1) + x


@case("unrolled", False, X)
def blocks_of_a_model(x):
    for block in [Block() for _ in range(6)]:
        x = block(x)
    return x


@case("unrolled", False, {f"layer{i}": {"w": jnp.eye(6), "b": X} for i in range(8)}, X)
def sgd_of_eight_layers(params, x):
    def loss(p):
        h = x
        for name in sorted(p):
            h = jnp.tanh(h @ p[name]["w"] + p[name]["b"])
        return jnp.mean(h**2)

    grads = jax.grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


@case("unrolled", False, X)
def runge_kutta_by_scan(x):
    def step(c, _):
        k1 = jnp.sin(c)
        k2 = jnp.sin(c + 0.5 * k1)
        k3 = jnp.sin(c + 0.5 * k2)
        k4 = jnp.sin(c + k3)
        return c + (k1 + 2 * k2 + 2 * k3 + k4) / 6, None

    return lax.scan(step, x, None, length=1000)[0]


@case("unrolled", False, X)
def python_table_built_in_a_loop(x):
    table = np.array([np.sin(i) for i in range(500)], np.float32)
    return x * table[:6]


add("unrolled", False, lambda x: jax.random.normal(jax.random.key(0), (50,)) * x.sum(), X)
add("unrolled", False, lambda x: [jnp.sin(x) * k for k in range(5)], X)
add("unrolled", False, lambda x: lax.map(jnp.sin, jnp.broadcast_to(x, (100, 6))), X)
add("unrolled", False, lambda x: jnp.linalg.inv(x) @ jnp.linalg.cholesky(x), jnp.eye(6))
add("unrolled", False, jax.hessian(lambda x: jnp.sum(jnp.sin(x) ** 3)), X)
add("unrolled", False, lambda x: lax.fori_loop(0, 100, lambda i, v: v * 2, x, unroll=2), X)

# ---------------------------------------------------------------- donation
inc = partial(jax.jit, donate_argnums=0)(lambda x: x + 1)
sgd = jax.jit(lambda state, g: {"p": state["p"] - g, "n": state["n"] + 1}, donate_argnames="state")
CACHE = {"kv": X * 3}


@case("donation", True, X * 2)
def used_in_a_reduction(x):
    y = inc(x)
    return jnp.stack([x, y]).sum()


@case("donation", True, {"p": X * 4, "n": jnp.int32(0)}, X)
def old_state_compared(state, g):
    new = sgd(state, g)
    return jnp.allclose(new["p"], state["p"])


@case("donation", True, X * 5)
def a_global_is_donated_and_kept(x):
    return inc(CACHE["kv"]) + x


@case("donation", True, X * 6)
def in_a_condition(x):
    y = inc(x)
    if x.sum() > 0:
        return y
    return -y


@case("donation", True, X * 7, X * 8)
def two_donated_one_output(a, b):
    return jax.jit(lambda a, b: a + b, donate_argnums=(0, 1))(a, b)


@case("donation", True, X * 9)
def a_tuple_holds_it(x):
    pair = (x, 2.0)
    y = inc(pair[0])
    return pair[0] * pair[1] + y


@case("donation", True, X * 10)
def in_a_comprehension(x):
    return [inc(x) for _ in range(2)]


@case("donation", True, X * 11)
def item_after(x):
    y = inc(x)
    return y, x[0].item()


add(
    "donation",
    True,
    jax.jit(lambda s, b: s["a"].sum() + b.sum(), donate_argnums=0),
    {"a": X + 1},
    X,
)
add("donation", True, partial(lambda f, x: (f(x), x), inc), X * 12)


def helper(x):
    return inc(x)


@case("donation", True, X * 13)
def through_a_helper(x):
    y = helper(x)
    return x - y


@case("donation", False, X * 14)
def helper_rebound(x):
    for _ in range(4):
        x = helper(x)
    return x.sum()


@case("donation", False, {"p": X * 15, "n": jnp.int32(0)}, X)
def training_loop(state, g):
    losses = []
    for _ in range(3):
        state = sgd(state, g)
        losses.append(state["p"].sum())
    return state, jnp.stack(losses)


@case("donation", False, X * 16)
def copied_first(x):
    backup = jnp.array(x, copy=True)
    y = inc(x)
    return y - backup


@case("donation", False, X * 17)
def nested_calls(x):
    return inc(inc(inc(x)))


@case("donation", False, X * 18)
def different_arrays(x):
    a = inc(x * 1)
    b = inc(x * 2)
    return a + b + x


@case("donation", False, X * 19)
def saved_on_the_host(x):
    saved = np.array(x)
    y = inc(x)
    return y, saved.sum()


@case("donation", False, X * 20)
def len_and_sharding(x):
    y = inc(x)
    return y * len(x) * x.size


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Weights:
    values: jax.Array


@partial(jax.jit, donate_argnames="weights")
def move(weights, x):
    return dataclasses.replace(weights, values=weights.values - 0.1 * x)


class Learner:
    def __init__(self):
        self.weights, self.last = Weights(X * 21), None

    def update(self, x):
        self.weights = move(self.weights, x)
        return self.weights.values.sum()

    def update_and_keep(self, x):
        self.last = self.weights
        self.weights = move(self.weights, x)
        return self.weights.values.sum()


add("donation", False, Learner().update, X)
add("donation", True, Learner().update_and_keep, X)
add("donation", False, jax.jit(lambda s, b: (s + b, b), donate_argnums=0), X * 21, X * 2)
add("donation", False, jax.jit(lambda x: (x * 2, x.sum()), donate_argnums=0), X * 22)
add("donation", False, lambda x: jax.jit(lambda v: v * 2)(x) + x, X * 23)

# ---------------------------------------------------------------- transfer
step = jax.jit(lambda w, x, y: w - 0.1 * x.T @ (x @ w - y))
XS = np.ones((4, 16, 3), np.float32)


@case("transfer", True, jnp.ones(3))
def training_on_numpy_batches(w):
    for i in range(4):
        w = step(w, XS[i], np.ones(16, np.float32))
    return w


@case("transfer", True, X)
def early_stopping(x):
    best = float("inf")
    for _ in range(3):
        x = x * 0.9
        loss = jnp.sum(x)
        if loss < best:
            best = loss
    return best


@case("transfer", True, X)
def str_of_it(x):
    return x, str(x.sum())


@case("transfer", True, X)
def percent_format(x):
    print("loss %.3f" % x.sum())  # noqa: UP031
    return x


@case("transfer", True, X)
def print_in_a_loop(x):
    for i in range(3):
        x = x * 2
        print(i, x[0])
    return x


@case("transfer", True, X)
def numpy_mean(x):
    return np.mean(np.array(x * 2))


@case("transfer", True, X)
def numpy_ufunc(x):
    return jnp.asarray(np.exp(jnp.sin(x)))


@case("transfer", True, X)
def bool_of_all(x):
    ok = bool(jnp.all(jnp.isfinite(x)))
    return x if ok else -x


@case("transfer", True, X)
def max_of_python(x):
    return max(x) * 2


@case("transfer", True, X)
def round_trip(x):
    host = jax.device_get(x)
    host = host * 2
    return jnp.asarray(host)


@case("transfer", True, X)
def callback_in_scan(x):
    def body(c, v):
        out = jax.pure_callback(lambda a: np.asarray(a), jax.ShapeDtypeStruct((), jnp.float32), v)
        return c + out, None

    return lax.scan(body, 0.0, x)[0]


@case("transfer", True, X)
def debug_print_in_fori(x):
    def body(i, c):
        jax.debug.print("{i} {c}", i=i, c=c)
        return c * 2

    return jax.jit(lambda v: lax.fori_loop(0, 3, body, v))(x)


add("transfer", True, lambda b: jnp.mean(b), np.ones((64, 64, 3), np.float32))
add("transfer", True, lambda b: jax.jit(jnp.sum)(b["x"]), {"x": np.zeros((100, 100))})
add("transfer", False, lambda x: (x - x.mean()) / x.std(), X)
add("transfer", False, lambda x: x.astype(jnp.int32) + int(3.7), X)
add("transfer", False, lambda x: x.reshape(-1, int(np.sqrt(4))), X4)
add("transfer", False, lambda x: print("compiling for", x.shape, x.dtype) or x * 2, X)
add("transfer", False, lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), X)
add("transfer", False, lambda x: jax.device_put(x) + 1, X)
add("transfer", False, lambda x: jnp.asarray(x) * jnp.asarray([1.0, 2, 3, 4, 5, 6]), X)
add("transfer", False, lambda x, n: x * float(n), X, 3)
add("transfer", False, lambda x: x * np.float32(np.linalg.norm(np.ones(3))), X)
add("transfer", False, lambda x: jnp.stack([r.sum() for r in x]), jnp.ones((3, 4)))
add("transfer", False, lambda x: x.block_until_ready() * 2 if hasattr(x, "block") else x * 2, X)
add("transfer", False, lambda x: jax.lax.fori_loop(0, 5, lambda i, v: v + i, x), X)
add("transfer", False, lambda x: f"{x.shape[0]}" and x + len(x), X)


@case("transfer", False, X)
def jnp_max_minimum(x):
    for _ in range(3):
        x = jnp.minimum(x, jnp.max(x) - 1)
    return x


# ---------------------------------------------------------------- timing
mm = jax.jit(lambda a: a @ a)
mm_eager = functools.partial(jnp.matmul, S)


class Stopwatch:
    def __init__(self, clock=time.perf_counter):
        self.clock = clock
        self.laps = []

    def start(self):
        self._start = self.clock()

    def stop(self):
        self.laps.append(self.clock() - self._start)


@case("timing", True, S)
def stopwatch(x):
    watch = Stopwatch()
    watch.start()
    y = mm(x)
    watch.stop()
    return y, watch.laps


@case("timing", True, S)
def dates_from_the_module(x):
    t0 = datetime.datetime.now()
    y = mm(x)
    t1 = datetime.datetime.now()
    return y, (t1 - t0).microseconds


@case("timing", True, S)
def best_of_three(x):
    best = float("inf")
    for _ in range(3):
        t = time.perf_counter()
        y = jnp.dot(x, x)
        best = min(best, time.perf_counter() - t)
    return y, best


@case("timing", True, S)
def eager_against_jit(x):
    t0 = time.time()
    x @ x
    t1 = time.time()
    mm(x)
    t2 = time.time()
    return t1 - t0, t2 - t1


@case("timing", True, S)
def in_a_dict(x):
    times = {}
    times["start"] = time.perf_counter()
    y = mm(x)
    times["end"] = time.perf_counter()
    return y, times["end"] - times["start"]


@case("timing", True, S)
def nested_function(x):
    def run():
        return mm(mm(x))

    tic = time.time()
    out = run()
    toc = time.time()
    print(f"{toc - tic:.3f} s")
    return out


@case("timing", True, S)
def blocks_on_something_else(x):
    a = jnp.ones(3)
    start = time.perf_counter()
    y = mm(x)
    a.block_until_ready()
    return y, time.perf_counter() - start


@case("timing", True, S)
def numpy_input_made_inside(x):
    start = time.perf_counter()
    y = mm(np.ones((200, 200), np.float32))
    return y, time.perf_counter() - start


@case("timing", True, S)
def warm_up_then_wrong(x):
    mm(x).block_until_ready()
    start = time.perf_counter()
    for _ in range(10):
        y = mm(x)
    return y, (time.perf_counter() - start) / 10


@case("timing", True, S)
def train_epochs(w):
    for epoch in range(2):
        start = time.time()
        for _ in range(3):
            w = w - 0.1 * jax.grad(lambda v: jnp.mean((v @ v) ** 2))(w)
        print(f"epoch {epoch} took {time.time() - start:.2f}")
    return w


@case("timing", True, S)
def compiled_ahead(x):
    compiled = jax.jit(lambda v: v @ v).lower(x).compile()
    start = time.perf_counter()
    y = compiled(x)
    return y, time.perf_counter() - start


@case("timing", True, S)
def lambda_clock(x):
    now = lambda: time.perf_counter() * 1e3  # noqa: E731
    start = now()
    y = mm(x)
    return y, now() - start


@case("timing", False, S)
def stopwatch_that_waits(x):
    watch = Stopwatch()
    watch.start()
    y = mm(x)
    jax.block_until_ready(y)
    watch.stop()
    return y, watch.laps


@case("timing", False, S)
def both_wait(x):
    t0 = time.time()
    (x @ x).block_until_ready()
    t1 = time.time()
    mm(x).block_until_ready()
    t2 = time.time()
    return t1 - t0, t2 - t1


@case("timing", False, S)
def waits_for_a_tuple(x):
    t0 = time.perf_counter()
    a, b = mm(x), jnp.sin(x)
    jax.block_until_ready((a, b))
    return a, b, time.perf_counter() - t0


@case("timing", False, S)
def waits_in_the_loop(x):
    start = time.perf_counter()
    for _ in range(3):
        x = jnp.tanh(x)
        x.block_until_ready()
    return x, time.perf_counter() - start


@case("timing", False, S)
def loss_is_a_float(w):
    start = time.time()
    for _ in range(2):
        w = w * 0.9
        loss = float(jnp.sum(w))
    return w, loss, time.time() - start


@case("timing", False, S)
def tolist_before(x):
    start = time.time()
    y = jnp.sum(x, axis=0).tolist()
    return y, time.time() - start


@case("timing", False, S)
def numpy_assert(x):
    start = time.time()
    np.testing.assert_allclose(mm(x), np.full((200, 200), 200.0))
    return time.time() - start


@case("timing", False, S)
def only_setup_is_timed(x):
    start = time.time()
    table = {i: i * i for i in range(100)}
    seconds = time.time() - start
    return mm(x) * len(table), seconds


@case("timing", False, S)
def work_before_the_clock(x):
    y = mm(x)
    start = time.time()
    n = sum(range(100))
    seconds = time.time() - start
    return y * n, seconds


@case("timing", False, S)
def a_timestamp(x):
    y = mm(x)
    return {"time": time.time(), "result": y}


@case("timing", False, S)
def a_stamp_by_strftime(x):
    name = datetime.datetime.now().strftime("%H%M")
    return mm(x) * len(name)


@case("timing", False, S)
def warm_then_wait(x):
    jax.block_until_ready(mm(x))
    start = time.perf_counter_ns()
    out = [mm(x) for _ in range(3)]
    jax.block_until_ready(out)
    return (time.perf_counter_ns() - start) / 3


@case("timing", False, S)
def compiled_and_waited(x):
    f = jax.jit(lambda v: v @ v)
    start = time.perf_counter()
    f(x).block_until_ready()
    first = time.perf_counter() - start
    start = time.perf_counter()
    f(x).block_until_ready()
    return first, time.perf_counter() - start


# ---------------------------------------------------------------- programs that came to mind while the cases were written
BATCHES = np.ones((4, 32, 32), np.float32)
LEAVES = {f"w{i}": jnp.ones(3) * i for i in range(6)}


@case("unrolled", False, LEAVES)
def five_steps_over_a_tree(params):
    for _ in range(5):
        params = jax.tree.map(lambda p: p - 0.1 * jnp.sin(p), params)
    return params


@case("unrolled", False, LEAVES)
def jitted_tree_update_in_a_short_loop(params):
    update = jax.jit(lambda p: jax.tree.map(lambda v: v * 0.9 + 1, p))
    for _ in range(4):
        params = update(params)
    return params


add("unrolled", False, lambda x: jax.scipy.special.i1e(x) + jax.scipy.special.digamma(x), X + 1)
add("unrolled", False, lambda x: jnp.linalg.matrix_power(x, 60), jnp.eye(4))
add("unrolled", False, lambda x: jax.scipy.special.expi(x) + jax.scipy.stats.norm.cdf(x), X + 1)
add("unrolled", True, lambda x: sum(map(partial(lambda v, k: jnp.cos(v * k), x), range(64))), X)


@case("transfer", True, jnp.ones(32))
def numpy_slices_in_eager_steps(w):
    for batch in BATCHES:
        w = jnp.tanh(jnp.dot(batch, w))
    return w


@case("transfer", False, jnp.ones(32))
def small_numpy_in_a_loop(w):
    for _ in range(3):
        w = w * np.float32(0.5) + np.zeros(32, np.float32)
    return w


@case("timing", False, S)
def several_outputs(x):
    start = time.perf_counter()
    out = [mm(x) for _ in range(3)]
    for y in out:
        y.block_until_ready()
    return time.perf_counter() - start


@case("timing", False, S)
def numpy_work_around_jax_work(x):
    y = mm(x)
    start = time.perf_counter()
    a = np.linalg.inv(np.eye(20) * 2)
    seconds = time.perf_counter() - start
    return y + a.sum(), seconds


@case("timing", True, S)
def time_per_iteration(x):
    times = []
    previous = time.time()
    for _ in range(4):
        x = mm(x) * 1e-3
        now = time.time()
        times.append(now - previous)
        previous = now
    return x, times


# ---------------------------------------------------------------- new batches
PARAMS = {"w": jnp.zeros((32, 8)), "b": jnp.zeros(8)}
HOST_PARAMS = [(np.zeros((32, 64), np.float32), np.zeros(64, np.float32)) for _ in range(2)]
BATCH = {"image": np.ones((64, 32), np.float32), "label": np.zeros((64, 8), np.float32)}
GRID = np.linspace(0.0, 1.0, 64 * 32, dtype=np.float32).reshape(64, 32)


def _squared_error(params, batch):
    residual = batch["image"] @ params["w"] + params["b"] - batch["label"]
    return jnp.mean(residual**2)


def _descend(params, batch):
    loss, grads = jax.value_and_grad(_squared_error)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


add("transfer", False, jax.jit(_descend), PARAMS, BATCH)
add("transfer", False, _squared_error, PARAMS, BATCH)
add("transfer", False, jax.jit(lambda p, x: jnp.argmax(x @ p["w"] + p["b"], -1)), PARAMS, GRID)


@case("transfer", False, HOST_PARAMS, GRID)
@jax.jit
def weights_that_start_as_numpy_arrays(layers, x):
    return [(w - 0.1 * x.mean(), b * 0.9) for w, b in layers]


@case("transfer", False, (PARAMS, jax.tree.map(jnp.zeros_like, PARAMS)), BATCH)
def momentum_step(state, batch):
    params, velocity = state
    grads = jax.grad(_squared_error)(params, batch)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - 0.1 * v, params, velocity), velocity


@case("transfer", False, PARAMS, {"image": np.ones((96, 32), np.float32)})
def one_epoch(params, data):
    for start in range(0, 96, 32):
        order = np.arange(start, start + 32)
        grads = jax.grad(lambda p, x: jnp.mean((x @ p["w"] + p["b"]) ** 2))(
            params, data["image"][order]
        )
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params


@case("transfer", True, Sweep([(PARAMS, GRID), (PARAMS, GRID), (PARAMS, GRID)]))
@jax.jit
def the_same_grid_in_every_call(params, grid):
    return grid @ params["w"] + params["b"]


@case("transfer", True, PARAMS)
def a_captured_table_in_every_step(params):
    for _ in range(3):
        params = dict(params, w=jnp.dot(GRID.T, jnp.dot(GRID, params["w"])))
    return params


@case("transfer", True, PARAMS, BATCH)
def loss_read_in_a_step(params, batch):
    params, loss = _descend(params, batch)
    return params, float(loss)


add("transfer", True, jax.jit(lambda table, i: table[i]), GRID, jnp.int32(3))
add("transfer", True, lambda table: jnp.cumsum(table, axis=0), GRID)


# ---------------------------------------------------------------- cheap repetitions
@case("unrolled", False, X)
def thirty_in_a_row(x):
    for _ in range(30):
        x = jnp.tanh(x)
    return x


add("unrolled", False, lambda x: functools.reduce(lambda c, k: c * k, range(1, 31), x), X)
add("unrolled", False, lambda x: sum([x + k for k in range(20)]), X)


@case("unrolled", False, X)
def a_short_power_series(x):
    total = jnp.ones_like(x)
    for k in range(20):
        total = 1 + x * total
        del k
    return total


@case("unrolled", True, X)
def thirty_steps_of_heun(x):
    for _ in range(30):
        slope = jnp.sin(x) - x
        guess = x + 0.1 * slope
        x = x + 0.05 * (slope + jnp.sin(guess) - guess)
    return x


@case("unrolled", True, X)
def sixty_in_a_row(x):
    for _ in range(60):
        x = jnp.tanh(x)
    return x


@case("unrolled", True, X)
def thirty_calls_of_a_jitted_step(x):
    @jax.jit
    def step(v):
        w = jnp.sin(v) * 2 - v
        return jnp.tanh(w) + 0.1 * v

    for _ in range(30):
        x = step(x)
    return x


# ------------------------------------------------------------ callbacks in branches
def own_checked(x):
    def fail(x):
        return jax.pure_callback(lambda v: v, x, x)

    return jax.lax.cond(jnp.any(x < 0), fail, lambda x: x, x)


def own_callback_in_a_loop(x):
    return jax.lax.fori_loop(0, 3, lambda i, v: jax.pure_callback(lambda u: u, v, v), x)


add("transfer", False, own_checked, jnp.ones(3))
add("transfer", False, jax.jit(own_checked), jnp.ones(3))
add(
    "transfer",
    False,
    lambda x: jax.lax.fori_loop(0, 3, lambda i, v: own_checked(v), x),
    jnp.ones(3),
)
add("transfer", True, own_callback_in_a_loop, jnp.ones(3))
add("transfer", True, lambda x: own_checked(jax.pure_callback(lambda v: v, x, x)), jnp.ones(3))


# ------------------------------------------------------------ annotations and equal numbers
PICTURES = np.random.default_rng(0).random((512, 128), np.float32)


@jax.jit
def annotated_loss(w: jax.Array, x: np.ndarray) -> jax.Array:
    return w * x.sum()


@case("big_const", True, 1.0, np.arange(3))
def calls_annotated_helper(w, index):
    return annotated_loss(w, jnp.asarray(PICTURES)[index])


@case("big_const", False, 1.0, PICTURES)
def passes_to_annotated_helper(w, pictures):
    return annotated_loss(w, pictures)


@functools.partial(jax.jit, donate_argnums=1)
def advance_one(other, state):
    return jax.tree.map(lambda leaf: leaf + 1, state), other["step"]


def state_at_step_zero():
    return {"step": 0, "w": jnp.ones(3)}


@case("donation", False, state_at_step_zero(), state_at_step_zero())
def two_states_with_equal_steps(a, b):
    b, _ = advance_one(a, b)
    return a, b


@case("donation", False, state_at_step_zero(), state_at_step_zero())
def equal_steps_in_two_calls(a, b):
    b, _ = advance_one(a, b)
    a, _ = advance_one(b, a)
    return a, b


@case("donation", True, state_at_step_zero(), state_at_step_zero())
def equal_steps_and_old_state(a, b):
    new, _ = advance_one(a, b)
    return a, new, b["w"]


# ------------------------------------------------------------ small NumPy arrays in one batch
class Batch(NamedTuple):
    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    masks: np.ndarray


def small_batch():
    return Batch(*(np.full(4, n, np.float32) for n in range(1, 5)))


@jax.jit
def improve(w, batch):
    return w - 0.1 * (batch.observations * batch.actions * batch.rewards * batch.masks)


@jax.jit
def add_up(a, b, c):
    return a * b * c


class Improver:
    def __init__(self):
        self.w = jnp.ones(4)

    def update(self, batch):
        self.w = improve(self.w, batch)
        return float(batch.rewards.sum())

    def update_often(self, batch):
        for _ in range(4):
            self.w = improve(self.w, batch)
        return float(batch.rewards.sum())

    def update_and_read(self, batch):
        self.w = improve(self.w, batch)
        return float(self.w.sum())


@case("transfer", False, jnp.ones(4), small_batch())
def one_call_with_four_leaves(w, batch):
    if float(batch.rewards.sum()) > 0:
        w = w * 2
    return improve(w, batch)


@case("transfer", False, np.ones(4), np.ones(4), np.ones(4))
def chooses_by_a_numpy_argument(a, b, c):
    return add_up(a, b, c) if a.max().item() > 0 else add_up(c, b, a)


@case("transfer", True, jnp.ones(4), np.ones(4))
def converts_an_array_computed_from_numpy(a, b):
    return jnp.sin(b) if float((a * b).sum()) > 0 else b


@case("transfer", True, X4, np.ones(4))
def sends_three_small_tables_in_three_calls(x, sign):
    tables = [np.ones(4, np.float32) * n for n in range(1, 4)]
    for table in tables:
        x = add_up(x, table, 1.0)
    return x if sign[0] > 0 else -x


add("transfer", False, Improver().update, small_batch())
add("transfer", False, Improver().update_often, small_batch())
add("transfer", True, Improver().update_and_read, small_batch())


# ------------------------------------------------------------ debugging callbacks in long loops
def played(w):
    """Take 128 steps of a small environment, as one update of a reinforcement learner does."""

    def step(state, _):
        state = jnp.tanh(jnp.cos(state @ w) + jnp.sin(state) * 0.1)
        return state, state.sum()

    return lax.scan(step, jnp.ones(4), None, 128)


@case("transfer", False, jnp.eye(4))
def debug_callback_in_every_update(w):
    def update(w, _):
        state, rewards = played(w)
        jax.debug.callback(lambda value: None, rewards.mean())
        return w + 0.1 * state, None

    return lax.scan(update, w, None, 10)[0]


@case("transfer", False, jnp.eye(4))
def debug_print_in_every_update(w):
    def update(i, w):
        state, rewards = jax.jit(played)(w)
        jax.debug.print("{} {}", i, rewards.mean())
        return w + 0.1 * state

    return lax.fori_loop(0, 10, update, w)


@case("transfer", True, jnp.eye(4))
def debug_callback_in_every_step(w):
    def step(state, _):
        state = jnp.tanh(state @ w)
        jax.debug.callback(lambda value: None, state.sum())
        return state, None

    return lax.scan(step, jnp.ones(4), None, 128)[0]


@case("transfer", False, jnp.eye(4))
def ordered_debug_callback_in_every_update(w):
    def update(w, _):
        state, rewards = played(w)
        jax.debug.callback(lambda value: None, rewards.mean(), ordered=True)
        return w + 0.1 * state, None

    return lax.scan(update, w, None, 10)[0]


@case("transfer", True, jnp.eye(4))
def pure_callback_in_every_update(w):
    def update(w, _):
        state, _ = played(w)
        return w + jax.pure_callback(lambda value: value, state, state), None

    return lax.scan(update, w, None, 10)[0]


# ------------------------------------------------------------ donating all arguments of a step
@functools.partial(jax.jit, donate_argnums=(0, 1, 2))
def donates_everything(params, batch, key):
    noise = jax.random.normal(key, params.shape)
    return params - 0.1 * params[batch].mean() - 0.1 * noise, batch.sum()


ROWS = jnp.zeros((2, 4), jnp.int32)
MANY_ROWS = jnp.zeros((64, 64), jnp.int32)
add("donation", False, donates_everything, jnp.ones((64, 64)), ROWS + 1, jax.random.key(1))
add("donation", True, donates_everything, jnp.ones((64, 64)), MANY_ROWS + 1, jax.random.key(1))
add("donation", True, donates_everything, jnp.ones((4, 2)), ROWS.ravel()[:3], jax.random.key(1))


# ------------------------------------------------------------ loops that map a tree of parameters
MANY = {f"w{i}": jnp.ones(3) for i in range(20)}


def _decay(params, x, steps):
    for _ in range(steps):
        params = jax.tree.map(lambda p: 0.9 * p + 0.1 * x, params)
    return params


add("unrolled", False, lambda params, x: _decay(params, x, 8), MANY, 1.0)
add("unrolled", True, lambda params, x: _decay(params, x, 30), MANY, 1.0)


# ------------------------------------------------------------ short loops in a large program
LARGE_PROGRAM = eval("lambda x: " + " + ".join(f"jnp.sin(x * {n})" for n in range(600)))


def few_steps_of_a_large_program(x, steps):
    x = LARGE_PROGRAM(x)
    for _ in range(steps):
        x = x + 0.1 * jnp.tanh(x)
    return x


add("unrolled", False, partial(few_steps_of_a_large_program, steps=24), X)
add("unrolled", True, partial(few_steps_of_a_large_program, steps=80), X)


# ------------------------------------------------------------ loops with different bodies
LAYERS = [jnp.ones((2, 8)), jnp.ones((8, 4)), jnp.ones((4, 2))]
ACTIVATIONS = [jnp.sin, jnp.cos, jnp.tanh, jnp.exp, jnp.sqrt]


def layers_of_different_sizes(layers, x):
    for layer in layers:
        x = jnp.tanh(x @ layer) + 1.0
    return x


def steps_of_a_network(layers, x, steps):
    for _ in range(steps):
        x = x + layers_of_different_sizes(layers, x) / steps
    return x


def updates_of_different_functions(params, x, steps):
    for _ in range(steps):
        new = []
        for activation, param in zip(ACTIVATIONS, params, strict=True):
            new.append(param - 0.1 * jnp.tanh(activation(param) * x))
        params = new
    return params


START = jnp.ones((4, 2))
add("unrolled", False, partial(steps_of_a_network, steps=9), LAYERS, START)
add("unrolled", True, partial(steps_of_a_network, steps=40), LAYERS, START)
add("unrolled", False, partial(updates_of_different_functions, steps=8), [X] * 5, 1.0)
add("unrolled", True, partial(updates_of_different_functions, steps=40), [X] * 5, 1.0)
