"""Labelled cases written before the detectors had seen any: ten of each kind a detector.

The same shape as `cases.py`: a case is (name, check, fn, args, expected). Several functions keep
Python state on purpose, so import the module afresh for every run of a detector.
"""

from __future__ import annotations

import collections
import contextvars
import dataclasses
import datetime
import functools
import itertools
import json
import logging
import os
import random
import sys
import time
import types
import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class Case(NamedTuple):
    name: str
    check: str
    fn: Any
    args: Any
    expected: bool


class Sweep(list):
    """Several argument tuples, passed in turn to the same function."""


CASES: list[Case] = []


def case(check, expected, *args):
    def register(fn):
        given = args[0] if len(args) == 1 and isinstance(args[0], Sweep) else args
        CASES.append(Case(f"{check}:{len(CASES)}", check, fn, given, expected))
        return fn

    return register


def add(check, expected, fn, *args):
    case(check, expected, *args)(fn)


X = jnp.arange(10.0)
M = jnp.arange(12.0).reshape(3, 4)

# ---------------------------------------------------------------- out_of_bounds
add("out_of_bounds", True, lambda x, i: x[i], X, 10)
add("out_of_bounds", True, lambda x, i: x[i], X, jnp.array([0, 3, 40]))
add("out_of_bounds", True, lambda x, i: x.at[i].set(1.0), X, jnp.array([11]))
add(
    "out_of_bounds",
    True,
    lambda x, i: jnp.take(x, i, axis=1, mode="clip") * 0 + x[:, i],
    M,
    jnp.array([4, 0]),
)
add("out_of_bounds", True, jax.jit(lambda x, i: lax.dynamic_slice(x, (i,), (4,))), X, 8)
add("out_of_bounds", True, jax.vmap(lambda x, i: x[i], in_axes=(None, 0)), X, jnp.arange(8, 12))
add(
    "out_of_bounds", True, lambda x, s: jax.ops.segment_sum(x, s, num_segments=3), X, jnp.arange(10)
)
add(
    "out_of_bounds",
    True,
    lambda x, i: jnp.take_along_axis(x, i, axis=1),
    M,
    jnp.array([[4], [0], [1]]),
)


@case("out_of_bounds", True, X)
def own_oob_scan(x):
    def body(carry, i):
        return carry + x[i + 1] - x[i], None

    return lax.scan(body, 0.0, jnp.arange(10))[0]


@case("out_of_bounds", True, X, jnp.array(-11))
def own_oob_cond(x, i):
    return lax.cond(i < 0, lambda: x[i], lambda: x[0])


@case("out_of_bounds", True, jnp.ones((5, 3)), jnp.array([1, 5, 2]))
def own_oob_grad_embedding(table, ids):
    return jax.grad(lambda t: (t[ids] ** 2).sum())(table)


@case("out_of_bounds", True, X, 5)
def own_oob_while(x, n):
    return lax.while_loop(lambda s: s[0] < 12, lambda s: (s[0] + n, s[1] + x[s[0]]), (0, 0.0))[1]


add("out_of_bounds", False, lambda x, i: x[i], X, -1)
add("out_of_bounds", False, lambda x, i: x[i], X, jnp.array([0, 9, -10]))
add("out_of_bounds", False, lambda x, i: x.at[i].get(mode="fill", fill_value=0), X, jnp.array([12]))
add("out_of_bounds", False, lambda x, i: x.at[i].set(1.0, mode="drop"), X, jnp.array([12]))
add("out_of_bounds", False, lambda x: jnp.sort(x)[::-1][jnp.argmax(x)], X)
add("out_of_bounds", False, lambda x: jnp.nonzero(x, size=20, fill_value=0)[0], X)
add("out_of_bounds", False, lambda x: jnp.interp(jnp.array([-3.0, 99.0]), x, x), X)
add("out_of_bounds", False, lambda x: jnp.histogram(x, bins=3, range=(0.0, 2.0))[0], X)
add(
    "out_of_bounds",
    False,
    lambda x, i: jnp.where(i < 10, x[jnp.minimum(i, 9)], 0.0),
    X,
    jnp.arange(14),
)
add("out_of_bounds", False, lambda x: lax.fori_loop(0, 9, lambda i, s: s + x[i] * x[i + 1], 0.0), X)
add(
    "out_of_bounds",
    False,
    lambda x, i: jax.nn.one_hot(i, 4) @ x.reshape(4, 3),
    jnp.arange(12.0),
    jnp.array([5]),
)
add("out_of_bounds", False, lambda x: jax.grad(lambda v: jnp.max(v[2:5]))(x), X)

# ---------------------------------------------------------------- list_args
LONG = [float(i) for i in range(100)]
add("list_args", True, lambda xs: jnp.array(xs).sum(), LONG)
add("list_args", True, lambda xs: sum(xs), tuple(range(50)))
add("list_args", True, lambda b: jnp.asarray(b["x"]).mean(), {"x": LONG, "y": 1.0})
add("list_args", True, jax.jit(lambda a, xs: a * jnp.array(xs)), 2.0, LONG)
add("list_args", True, lambda xs: jnp.array(xs), [[1.0, 2.0, 3.0]] * 40)
add("list_args", True, lambda xs: jnp.stack(xs), [np.float32(i) for i in range(64)])
add("list_args", True, lambda xs: jnp.stack(xs).sum(0), [jnp.float32(i) for i in range(64)])
add("list_args", True, lambda d: sum(d.values()), {f"k{i}": float(i) for i in range(100)})
add("list_args", True, lambda x: jnp.stack([x[i] ** 2 for i in range(128)]), jnp.arange(128.0))
add("list_args", True, functools.partial(lambda s, xs: s * jnp.array(xs), 2.0), LONG)
add("list_args", False, lambda xs: jnp.array(xs).sum(), np.array(LONG))
add("list_args", False, lambda xs: xs[0] + xs[1], [1.0, 2.0])
add("list_args", False, lambda p: p[0][0] @ p[1][0], [(jnp.ones((3, 3)), jnp.ones(3))] * 2)
add("list_args", False, lambda p, x: sum(jnp.sum(w) for w in p) * x, [jnp.ones((4, 4))] * 30, 1.0)
add(
    "list_args",
    False,
    lambda d: d["lr"] * d["x"],
    {"lr": 0.1, "x": X, "b1": 0.9, "b2": 0.99, "eps": 1e-8},
)
add("list_args", False, lambda x: jnp.stack([x, x + 1, x + 2]), X)
add("list_args", False, lambda x, shape: x + sum(shape), X, (3, 4, 5))
add("list_args", False, lambda x: jnp.concatenate([x[:3], x[5:]]), X)
add("list_args", False, lambda x: jnp.array([[1.0, 0.0], [0.0, 1.0]]) * x, 2.0)
add("list_args", False, jax.jit(lambda x: x.at[jnp.arange(3)].set(0)), X)

# ---------------------------------------------------------------- leak
kept: list = []
latest: dict = {}


class Holder:
    value = None

    def __init__(self):
        self.h = None
        self.inner = types.SimpleNamespace(x=None)

    def step(self, x):
        self.h = jnp.tanh(x)
        return self.h * 2

    def deep(self, x):
        self.inner.x = x + 1
        return x

    def clean(self, x):
        h = jnp.tanh(x)
        return h, h.sum()


@case("leak", True, X)
def own_leak_list(x):
    kept.append(x * 2)
    return x


@case("leak", True, X)
def own_leak_dict(x):
    latest["x"] = x.sum()
    return x


@case("leak", True, X)
def own_leak_class(x):
    Holder.value = x + 1
    return x


add("leak", True, Holder().step, X)
add("leak", True, Holder().deep, X)


@case("leak", True, X)
def own_leak_scan(x):
    def body(c, v):
        kept.append(c)
        return c + v, v

    return lax.scan(body, 0.0, x)[0]


@case("leak", True, X)
def own_leak_function_attribute(x):
    own_leak_function_attribute.last = x
    return x + 1


@case("leak", True, X)
@jax.jit
def own_leak_jitted(x):
    global LAST
    LAST = x * 3
    return x


LAST = None


def _closure_leak():
    box = None

    def f(x):
        nonlocal box
        box = x.mean()
        return x

    return f


add("leak", True, _closure_leak(), X)


@case("leak", True, X)
def own_leak_default(x, cache=[]):  # noqa: B006
    cache.append({"mean": x.mean()})
    return x


@case("leak", True, X)
def own_leak_grad(x):
    def loss(w):
        latest["pred"] = w * 2
        return (w * 2).sum()

    return jax.grad(loss)(x)


@case("leak", False, X)
def own_noleak_shape(x):
    latest["shape"] = x.shape
    return x


@case("leak", False, X)
def own_noleak_local(x):
    parts = []
    for i in range(3):
        parts.append(x * i)
    return jnp.stack(parts)


@case("leak", False, X)
def own_noleak_aux(x):
    def loss(w):
        return (w**2).sum(), {"w": w}

    return jax.grad(loss, has_aux=True)(x)


@case("leak", False, X)
def own_noleak_nested_list(x):
    outs = []

    def layer(h):
        outs.append(h)
        return jnp.tanh(h)

    return layer(layer(x)), outs


add("leak", False, Holder().clean, X)


@jax.custom_jvp
def _safe_log(x):
    return jnp.log(x)


_safe_log.defjvp(lambda p, t: (_safe_log(p[0]), t[0] / p[0]))
add("leak", False, lambda x: jax.grad(lambda v: _safe_log(v).sum())(x + 1), X)
add("leak", False, lambda x: jax.checkpoint(lambda v: jnp.sin(v) * v)(x), X)
add("leak", False, lambda x: lax.scan(lambda c, v: (c + v, c * v), 0.0, x), X)


@case("leak", False, X)
def own_noleak_count(x):
    latest["n"] = latest.get("n", 0) + 1
    return x


@functools.lru_cache
def _table(n):
    return np.arange(n)


add("leak", False, lambda x: x + jnp.asarray(_table(10)), X)
add("leak", False, jax.jit(jax.value_and_grad(lambda x: jax.nn.relu(x).sum())), X)

# ---------------------------------------------------------------- side_effect
calls = 0
seen: list = []
table: dict = {"hits": 0}
uniq: set = set()
log = logging.getLogger("own")
rng = np.random.default_rng(0)
pyrng = random.Random(3)
var: contextvars.ContextVar = contextvars.ContextVar("var", default=0)
tally: collections.Counter = collections.Counter()


class Meter:
    n = 0

    def __init__(self):
        self.count = 0
        self.stats = {"calls": 0}

    def step(self, x):
        self._bump()
        return x

    def _bump(self):
        self.stats["calls"] += 1

    def pure(self, x):
        return x * self.count


meter = Meter()


@case("side_effect", True, X)
def own_se_print(x):
    print("x", x)
    return x


@case("side_effect", True, X)
def own_se_global(x):
    global calls
    calls += 1
    return x


@case("side_effect", True, X)
def own_se_method_of_global(x):
    meter._bump()
    return x


add("side_effect", True, Meter().step, X)


@case("side_effect", True, X)
def own_se_class_attribute(x):
    Meter.n += 1
    return x


@case("side_effect", True, X)
def own_se_datetime(x):
    return x + datetime.datetime.now().hour


@case("side_effect", True, X)
def own_se_entropy(x):
    return x + np.random.default_rng().normal()


@case("side_effect", True, X)
def own_se_local_time(x):
    t = time.perf_counter()
    y = jnp.sin(x)
    return y, time.perf_counter() - t


@case("side_effect", True, X)
def own_se_stdout(x):
    sys.stdout.write("here\n")
    return x


@case("side_effect", True, X)
def own_se_warn(x):
    warnings.warn("be careful", stacklevel=1)
    return x


@case("side_effect", True, X)
def own_se_counter(x):
    tally["x"] += 1
    return x


@case("side_effect", True, X)
def own_se_generator(x):
    return x + rng.normal(size=10)


@case("side_effect", True, X)
def own_se_context_variable(x):
    var.set(var.get() + 1)
    return x


@case("side_effect", True, X)
def own_se_scan(x):
    def body(c, v):
        log.info("step")
        return c + v, None

    return lax.scan(body, 0.0, x)[0]


@case("side_effect", True, X)
@jax.jit
def own_se_file(x):
    with open(os.devnull, "w") as f:
        json.dump({"shape": x.shape}, f)
    return x


@case("side_effect", False, X)
def own_nse_debug(x):
    jax.debug.print("x = {}", x)
    return x


@case("side_effect", False, X)
def own_nse_local(x):
    out = []
    for i in range(4):
        out.append(x + i)
    d = {"n": len(out)}
    d["n"] += 1
    return jnp.stack(out) * d["n"]


@case("side_effect", False, X)
def own_nse_local_rng(x):
    return x + np.random.default_rng(0).normal(size=10) + random.Random(1).random()


add("side_effect", False, Meter().pure, X)
add("side_effect", False, lambda x: x + _table(10), X)


@case("side_effect", False, X)
def own_nse_callback(x):
    jax.debug.callback(lambda v: seen.append(v), x)
    return x


@case("side_effect", False, X)
def own_nse_branch_not_taken(x):
    if x.ndim > 3:
        print("too many")
    return x


@case("side_effect", False, X)
def own_nse_path(x):
    return x * len(os.path.join("a", "b"))


@case("side_effect", False, X)
def own_nse_closure(x):
    def twice(v):
        return v * 2

    return functools.reduce(lambda a, b: b(a), [twice, jnp.sin], x)


@case("side_effect", False, X)
def own_nse_object(x):
    m = Meter()
    m.count = 3
    m._bump()
    return m.pure(x)


@case("side_effect", False, X)
def own_nse_itertools(x):
    return sum(x * a for a, _ in itertools.product(range(2), range(2)))


# ---------------------------------------------------------------- stale_global
scale = 2.0


def set_scale(v):
    global scale
    scale = v


settings = {"lr": 0.1, "name": "sgd"}
weights = [1.0, 2.0]
mask = np.array([1.0, 0.0] * 5)
unused = {"a": 1.0}
verbose = False
gain = 1.5
_config = types.SimpleNamespace(depth=2, nested=types.SimpleNamespace(rate=0.5))


class Schedule:
    factor = 3.0

    def __init__(self):
        self.rate = 0.1

    def apply(self, x):
        return x * self.rate

    def __call__(self, x):
        return x - self.rate


@dataclasses.dataclass(frozen=True)
class Frozen:
    rate: float = 0.1


frozen = Frozen()
schedule = Schedule()


def helper(x):
    return x * scale


add("stale_global", True, lambda x: x * scale, X)
add("stale_global", True, lambda x: helper(x) + 1, X)
add("stale_global", True, lambda x: x * settings["lr"], X)
add("stale_global", True, lambda x: x * sum(weights), X)
add("stale_global", True, jax.jit(lambda x: jnp.where(mask > 0, x, 0)), X)
add("stale_global", True, Schedule().apply, X)
add("stale_global", True, Schedule(), X)
add("stale_global", True, lambda x: schedule.apply(x), X)
add("stale_global", True, lambda x: x * _config.nested.rate, X)
add("stale_global", True, lambda x: x * float(os.environ.get("OWN_SCALE", "1")), X)


def _turned():
    k = 1.0

    def turn():
        nonlocal k
        k += 1

    def f(x):
        return x * k

    f.turn = turn
    return f


add("stale_global", True, _turned(), X)


@case("stale_global", True, X)
def own_stale_class_attribute(x):
    return x * Schedule.factor


Schedule.factor = 4.0


@case("stale_global", False, X)
def own_fresh_constant(x):
    return x * gain


add("stale_global", False, lambda x, s: x * s, X, scale)
add("stale_global", False, lambda x: x * np.pi, X)
add("stale_global", False, lambda x: x * frozen.rate, X)


def _fixed(k):
    return lambda x: x * k


add("stale_global", False, _fixed(3.0), X)


@case("stale_global", False, X)
def own_fresh_local(x):
    settings = {"lr": 0.3}
    return x * settings["lr"]


@case("stale_global", False, X)
def own_fresh_irrelevant(x):
    unused.get("a")
    return x


add("stale_global", False, functools.partial(lambda c, x: x * c, 2.0), X)
add("stale_global", False, jax.jit(lambda x: jax.nn.gelu(x)), X)


@case("stale_global", False, X)
def own_fresh_shadow(x):
    scale = x.mean()
    return x * scale


@case("stale_global", False, X)
def own_fresh_default(x, rate=0.5):
    return x * rate


# ---------------------------------------------------------------- recompile
add("recompile", True, lambda x: x.sum(), Sweep([(jnp.ones(n),) for n in (3, 4, 5)]))
add("recompile", True, jax.jit(lambda x: x * 2), Sweep([(jnp.ones(3),), (jnp.ones(3, jnp.int32),)]))
add(
    "recompile",
    True,
    jax.jit(lambda x, n: x * n, static_argnums=1),
    Sweep([(X, i) for i in range(4)]),
)
add("recompile", True, jax.jit(lambda d: d["a"]), Sweep([({"a": X},), ({"a": X, "b": 1.0},)]))
add(
    "recompile", True, jax.jit(lambda x, s: x * s), Sweep([(X, 1.0), (X, jnp.float32(1.0)), (X, 2)])
)
add("recompile", True, lambda x: jax.jit(lambda v: jnp.sin(v) * 2)(x), X)
add("recompile", True, lambda xs: xs[0], Sweep([([X],), ((X,),)]))
add(
    "recompile",
    True,
    jax.jit(lambda x: x + 1),
    Sweep([(jnp.ones((32, 2)),), (jnp.ones((32, 2)),), (jnp.ones((7, 2)),)]),
)
add(
    "recompile",
    True,
    jax.jit(lambda x, f: f(x), static_argnums=1),
    Sweep([(X, lambda v: v + 1), (X, lambda v: v + 1)]),
)


@case("recompile", True, X)
def own_rc_inner(x):
    @jax.jit
    def inner(v):
        return jnp.cos(v) + x.shape[0]

    return inner(x)


@case("recompile", True, X)
def own_rc_partial(x):
    return jax.jit(functools.partial(jnp.multiply, 2.0))(x)


add("recompile", False, jax.jit(lambda x: x * 2), Sweep([(jnp.ones(3),), (jnp.zeros(3),)]))
add("recompile", False, jax.jit(lambda x, n: x * n, static_argnums=1), Sweep([(X, 3), (X, 3)]))
add("recompile", False, jax.jit(lambda x, s: x * s), Sweep([(X, 1.0), (X, 2.0)]))
add("recompile", False, lambda x: jnp.sin(x).sum(), X)
add(
    "recompile",
    False,
    jax.jit(lambda d: d["a"] + d["b"]),
    Sweep([({"a": X, "b": X},), ({"b": X, "a": X},)]),
)
add("recompile", False, lambda x: _jitted(x) + 1, X)
add("recompile", False, jax.jit(jax.grad(lambda x: (x**2).sum())), X)
add("recompile", False, lambda x, k: jax.random.normal(k, (3,)) + x[:3], X, jax.random.key(0))
add(
    "recompile",
    False,
    jax.jit(lambda x, mode: x, static_argnames="mode"),
    Sweep([(X, "a"), (X, "a")]),
)
add("recompile", False, jax.jit(lambda x: lax.scan(lambda c, v: (c + v, v), 0.0, x)), X)


@jax.jit
def _jitted(x):
    return jnp.sin(x) * 2


# ---------------------------------------------------------------- key_reuse
KEY = jax.random.key(7)
RAW = jax.random.PRNGKey(7)
normal, uniform, split = jax.random.normal, jax.random.uniform, jax.random.split
add("key_reuse", True, lambda k: normal(k) + uniform(k), KEY)
add("key_reuse", True, lambda k: normal(k) + normal(k), RAW)
add("key_reuse", True, lambda k: (split(k)[0], normal(k)), KEY)
add("key_reuse", True, lambda k: [normal(k, (2,)) for _ in range(3)], KEY)
add("key_reuse", True, lambda k: lax.fori_loop(0, 4, lambda i, s: s + normal(k), 0.0), KEY)
add(
    "key_reuse",
    True,
    jax.jit(lambda k, x: jax.vmap(lambda v: v + normal(k))(x) + normal(k)),
    RAW,
    X,
)
add("key_reuse", True, lambda k: (split(k, 3), split(k, 2)), KEY)
add("key_reuse", True, lambda k: lax.scan(lambda c, _: (c, normal(c)), k, None, length=3)[1], KEY)


@case("key_reuse", True, KEY, X)
def own_kr_dropout(key, x):
    a, b = split(key)
    x = x * jax.random.bernoulli(a, 0.5, x.shape)
    return x * jax.random.bernoulli(a, 0.5, x.shape) + normal(b)


@case("key_reuse", True, RAW)
def own_kr_children(key):
    keys = split(key, 4)
    return normal(keys[1]) + uniform(keys[1])


@case("key_reuse", True, KEY)
def own_kr_fold(key):
    return normal(jax.random.fold_in(key, 1)) + normal(jax.random.fold_in(key, 1))


@case("key_reuse", True, KEY, True)
def own_kr_cond(key, flag):
    y = lax.cond(flag, lambda k: normal(k), lambda k: 0.0, key)
    return y + uniform(key)


add("key_reuse", False, lambda k: [normal(c) for c in split(k, 3)], KEY)
add(
    "key_reuse",
    False,
    lambda k: normal(jax.random.fold_in(k, 0)) + normal(jax.random.fold_in(k, 1)),
    RAW,
)
add(
    "key_reuse",
    False,
    lambda k: lax.fori_loop(0, 4, lambda i, s: s + normal(jax.random.fold_in(k, i)), 0.0),
    KEY,
)
add(
    "key_reuse",
    False,
    lambda k: lax.scan(
        lambda c, _: tuple((n := split(c), (n[0], normal(n[1])))[1]), k, None, length=3
    ),
    KEY,
)
add("key_reuse", False, lambda k, f: lax.cond(f, lambda: normal(k), lambda: uniform(k)), KEY, True)
add("key_reuse", False, lambda k: jax.vmap(normal)(split(k, 5)), KEY)
add("key_reuse", False, lambda k: jax.random.permutation(k, 10), KEY)
add("key_reuse", False, lambda k: normal(k) * 2, RAW)
add("key_reuse", False, lambda k, x: jax.grad(lambda w: (w * normal(k, (10,))).sum())(x), KEY, X)
add(
    "key_reuse",
    False,
    lambda k: lax.scan(lambda c, kk: (c + normal(kk), None), 0.0, split(k, 6))[0],
    RAW,
)


@case("key_reuse", False, KEY)
def own_nkr_chain(key):
    total = 0.0
    for _ in range(4):
        key, sub = split(key)
        total += normal(sub)
    return total, key


# ---------------------------------------------------------------- const_key
add("const_key", True, lambda x: x + normal(jax.random.key(0), (10,)), X)
add("const_key", True, lambda x: x * jax.random.bernoulli(jax.random.PRNGKey(3), 0.5, (10,)), X)
add("const_key", True, lambda x: x + normal(KEY, (10,)), X)
add("const_key", True, jax.jit(lambda x: x + uniform(split(jax.random.key(1))[0], (10,))), X)
add("const_key", True, lambda x: lax.scan(lambda c, v: (c + v * normal(RAW), None), 0.0, x)[0], X)
add("const_key", True, lambda x: jax.random.permutation(jax.random.key(0), x), X)
add("const_key", True, lambda x: jax.vmap(lambda v: v + normal(KEY))(x), X)
add("const_key", True, lambda x: x + normal(jax.random.fold_in(jax.random.key(0), 3)), X)
add("const_key", True, lambda x, k: x + normal(k, (10,)) + normal(jax.random.key(9)), X, KEY)
add("const_key", True, jax.grad(lambda x: (x * normal(jax.random.key(0), (10,))).sum()), X)
add("const_key", False, lambda x, k: x + normal(k, (10,)), X, KEY)
add("const_key", False, lambda x, seed: x + normal(jax.random.key(seed), (10,)), X, 3)
add(
    "const_key",
    False,
    lambda x, i: x + normal(jax.random.fold_in(jax.random.key(0), i), (10,)),
    X,
    5,
)
add("const_key", False, lambda x: jnp.sin(x), X)
add("const_key", False, lambda k: jax.vmap(normal)(split(k, 3)), RAW)
add("const_key", False, jax.jit(lambda x, seed: x + normal(jax.random.PRNGKey(seed), (10,))), X, 3)
add(
    "const_key",
    False,
    lambda k: lax.scan(lambda c, _: (split(c)[0], normal(split(c)[1])), k, None, length=3)[1],
    KEY,
)
add(
    "const_key",
    False,
    lambda x, k: lax.fori_loop(0, 3, lambda i, s: s + normal(jax.random.fold_in(k, i)), x),
    X,
    KEY,
)
add("const_key", False, lambda s: normal(s["key"]) * s["x"], {"key": KEY, "x": 1.0})
add("const_key", False, lambda x: x + 0 * jnp.uint32(7), X)

# ---------------------------------------------------------------- iterator
spent = iter([float(i) for i in range(1000)])
ticks = itertools.count()


class Feed:
    def __init__(self):
        self.batches = iter(np.arange(1000.0))
        self.seen = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.seen += 1
        return float(self.seen)

    def step(self, x):
        return x + next(self.batches)


feed = Feed()


def _drawn():
    values = (float(i) for i in range(100))
    return lambda x: x * next(values)


add("iterator", True, lambda x: x + next(spent), X)
add("iterator", True, jax.jit(lambda x: x + next(ticks)), X)
add("iterator", True, Feed().step, X)
add("iterator", True, _drawn(), X)
add("iterator", True, lambda it: jnp.float32(next(it)), iter([1.0, 2.0]))
add("iterator", True, lambda d, x: x + next(d["rows"]), {"rows": iter([1.0, 2.0])}, X)


@case("iterator", True, X)
def own_it_scan_local(x):
    it = itertools.cycle([1.0, 2.0])
    return lax.scan(lambda c, v: (c + v * next(it), None), 0.0, x)[0]


@case("iterator", True, X)
def own_it_while_local(x):
    names = iter(range(50))

    def body(s):
        return s[0] + 1, s[1] + next(names)

    return lax.while_loop(lambda s: s[0] < 5, body, (0, x))[1]


@case("iterator", True, X)
def own_it_default(x, rows=enumerate([1.0, 2.0, 3.0])):  # noqa: B008
    return x * next(rows)[1]


@case("iterator", True, X)
def own_it_zip_global(x):
    a, b = next(pairs)
    return x * a + b


pairs = zip(itertools.count(), itertools.count(), strict=False)


@case("iterator", False, X)
def own_nit_loop(x):
    for i, a in enumerate(range(4)):
        x = x * a + i
    return x


@case("iterator", False, X)
def own_nit_next_default(x):
    return x * next((v for v in (1.0, 2.0) if v > 1), 0.0)


add("iterator", False, lambda x: sum(x * v for v in (1.0, 2.0)), X)
add("iterator", False, lambda xs: sum(xs), [1.0, 2.0])
add("iterator", False, lambda x: lax.fori_loop(0, 3, lambda i, s: s + i, x), X)


@case("iterator", False, X)
def own_nit_local_in_body(x):
    def body(c, v):
        it = iter((1.0, 2.0))
        return c + v * next(it) * next(it), None

    return lax.scan(body, 0.0, x)[0]


@case("iterator", False, X)
def own_nit_helper(x):
    it = iter((jnp.sin, jnp.cos))

    def apply(v):
        return next(it)(v)

    return apply(apply(x))


@case("iterator", False, X)
def own_nit_reversed(x):
    return functools.reduce(jnp.add, reversed([x, x * 2]))


add("iterator", False, lambda d: jnp.stack([v for _, v in sorted(d.items())]), {"a": X, "b": X})
add("iterator", False, lambda x: jnp.stack(list(x)), jnp.arange(3.0))


# ---------------------------------------------------------------- inplace
def _np(n=4):
    return np.arange(float(n), dtype=np.float32)


@case("inplace", True, _np())
def own_ip_slice(x):
    x[1:3] = 0
    return jnp.asarray(x)


@case("inplace", True, [1.0, 2.0])
def own_ip_append(xs):
    xs.append(3.0)
    return jnp.array(xs)


@case("inplace", True, {"a": 1.0})
def own_ip_pop(d):
    return jnp.float32(d.pop("a"))


@case("inplace", True, X)
def own_ip_jax_slice(x):
    x[2:4] = 0.0
    return x


@case("inplace", True, X, 2)
def own_ip_jax_augmented(x, i):
    x[i] += 1.0
    return x


@case("inplace", True, -_np())
def own_ip_sort(x):
    x.sort()
    return jnp.asarray(x)


@case("inplace", True, _np())
def own_ip_helper(x):
    def clear(a):
        a.fill(0)

    clear(x)
    return jnp.sum(x)


@case("inplace", True, {"p": {"w": _np()}})
def own_ip_nested(tree):
    tree["p"]["w"] *= 0.9
    return jnp.asarray(tree["p"]["w"])


@case("inplace", True, X)
def own_ip_delete(x):
    del x[0]
    return x


@case("inplace", True, _np())
def own_ip_shuffle(x):
    np.random.default_rng(0).shuffle(x)
    return jnp.asarray(x)


@case("inplace", True, [_np(), _np()])
def own_ip_swap(pair):
    pair[0], pair[1] = pair[1], pair[0]
    return jnp.asarray(pair[0])


@case("inplace", False, X)
def own_nip_at(x):
    return x.at[1:3].add(1.0)


@case("inplace", False, _np())
def own_nip_copy(x):
    y = x.copy()
    y[0] = 1
    return jnp.asarray(y)


@case("inplace", False, {"a": X})
def own_nip_merge(d):
    return {**d, "b": d["a"] * 2}


@case("inplace", False, [1.0, 2.0])
def own_nip_new_list(xs):
    ys = [*xs, 3.0]
    ys[0] = 0.0
    return jnp.array(ys)


@case("inplace", False, X)
def own_nip_rebind(x):
    x *= 2
    x = x - 1
    return x  # noqa: RET504


@case("inplace", False, {"a": X, "b": X})
def own_nip_tree(d):
    return jax.tree.map(lambda v: v + 1, d)


@case("inplace", False, _np())
def own_nip_sorted(x):
    return jnp.asarray(np.sort(x))


@case("inplace", False, X)
def own_nip_buffer(x):
    buffer = np.zeros(3)
    buffer[1] = 2.0
    return x[:3] * buffer


add("inplace", False, jax.jit(lambda d: {"a": d["a"] + 1}), {"a": X})
add("inplace", False, lambda x: lax.dynamic_update_slice(x, jnp.zeros(2), (1,)), X)


# ---------------------------------------------------------------- control_flow
@case("control_flow", True, X)
def own_cf_if(x):
    if jnp.sum(x) > 3:
        return x
    return -x


add("control_flow", True, lambda x: x if x.any() else -x, X)
add("control_flow", True, lambda x: max(x[0], x[1]), X)
add("control_flow", True, jax.jit(lambda x: x * 2 if x > 1 else x), 3.0)
add("control_flow", True, lambda x: x and 1.0, jnp.float32(1))
add("control_flow", True, lambda x: 1.0 if not x else -x, jnp.float32(1))


@case("control_flow", True, X)
def own_cf_while(x):
    while x.sum() > 1:
        x = x / 2
    return x


@case("control_flow", True, X)
def own_cf_assert(x):
    assert (x >= 0).all()
    return x


@case("control_flow", True, jnp.int32(3), X)
def own_cf_range(n, x):
    for _ in range(n):
        x = x * 2
    return x


@case("control_flow", True, X)
def own_cf_scan_body(x):
    def body(c, v):
        if v > c:
            c = v
        return c, None

    return lax.scan(body, 0.0, x)[0]


@case("control_flow", True, jnp.int32(1), X)
def own_cf_list(i, x):
    return x * [1.0, 2.0, 3.0][i]


add("control_flow", True, lambda x: 0 < x < 3, jnp.float32(1))
add("control_flow", False, lambda x: jnp.where(x > 3, x, -x), X)
add("control_flow", False, lambda x: x if x.ndim == 1 else x.ravel(), X)
add("control_flow", False, lambda x, y: x if y is None else x + y, X, None)
add("control_flow", False, lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), 1.0)
add("control_flow", False, jax.jit(lambda x, n: [x] * n, static_argnums=1), X, 3)
add("control_flow", False, lambda x: jnp.maximum(x[0], x[1]), X)
add("control_flow", False, lambda x: x * 2 if len(x) > 3 else x, X)
add("control_flow", False, lambda d: d["a"] if "b" not in d else d["b"], {"a": X})
add("control_flow", False, lambda x: lax.while_loop(lambda v: v < 9, lambda v: v * 2, x), 1.0)
add("control_flow", False, lambda x: sum(x[i] for i in range(x.shape[0])), X)
add("control_flow", False, lambda x: x if jnp.issubdtype(x.dtype, jnp.floating) else x * 1.0, X)

# ---------------------------------------------------------------- dynamic_shape
add("dynamic_shape", True, lambda x: x[x > 3], X)
add("dynamic_shape", True, lambda x: jnp.nonzero(x > 3)[0], X)
add("dynamic_shape", True, lambda x: jnp.unique(x), X)
add("dynamic_shape", True, lambda x, n: jnp.zeros(n) + x.sum(), X, jnp.int32(3))
add("dynamic_shape", True, lambda x, n: x[:n], X, jnp.int32(3))
add("dynamic_shape", True, lambda n: jnp.arange(n), jnp.int32(5))
add("dynamic_shape", True, lambda x, n: x.reshape(n, -1), X, jnp.int32(2))
add("dynamic_shape", True, lambda x: jnp.where(x > 3), X)
add("dynamic_shape", True, lambda x, n: jnp.repeat(x, n), X, jnp.arange(10))
add("dynamic_shape", True, jax.jit(lambda x, i: x[i : i + 2]), X, 3)
add("dynamic_shape", True, lambda x, n: jnp.linspace(0, 1, n) * x, 1.0, jnp.int32(4))
add("dynamic_shape", True, lambda x: jnp.argwhere(x), X)
add("dynamic_shape", False, lambda x: jnp.where(x > 3, x, 0), X)
add("dynamic_shape", False, lambda x: jnp.nonzero(x > 3, size=5)[0], X)
add("dynamic_shape", False, lambda x: x[: x.shape[0] // 2], X)
add("dynamic_shape", False, lambda x: x.reshape(2, -1), X)
add("dynamic_shape", False, lambda x, i: lax.dynamic_slice(x, (i,), (2,)), X, 3)
add("dynamic_shape", False, lambda x: jnp.arange(x.size) * x, X)
add("dynamic_shape", False, jax.jit(lambda x, n: x[:n], static_argnums=1), X, 3)
add("dynamic_shape", False, lambda x: jnp.unique(x, size=4), X)
add("dynamic_shape", False, lambda x: x.sum(where=x > 3), X)
add("dynamic_shape", False, lambda x: x if x.sum() > 0 else -x, X)
add("dynamic_shape", False, lambda x: x[np.array([True, False] * 5)], X)
