"""Labeled cases for side_effect, leak, and iterator, written before the detectors ran on them."""

from __future__ import annotations

import collections
import contextvars
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

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()


X = jnp.arange(10.0)


# ------------------------------------------------------------ leak
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


# Leaks through attributes of classes, which the class need not have beforehand.
class Recorder:
    """A class that records values, with only some attributes set from the start."""

    history: list = []
    newest: object

    @classmethod
    def note(cls, x):
        cls.last_note = x * 2
        return x

    def own_class(self, x):
        type(self).from_instance = x + 1
        return x

    def own_class_by_attribute(self, x):
        self.__class__.from_attribute = x + 1
        return x

    class Inner:
        """A nested class."""


class Derived(Recorder):
    """A class that inherits its list."""


@case("leak", True, X)
def own_leak_new_class_attribute(x):
    Recorder.latest = x * 2
    return x


@case("leak", True, X)
def own_leak_annotated_class_attribute(x):
    Recorder.newest = x * 2
    return x


@case("leak", True, X)
def own_leak_inherited_list(x):
    Derived.history.append(x.sum())
    return x


@case("leak", True, X)
def own_leak_nested_class(x):
    Recorder.Inner.latest = x * 2
    return x


@case("leak", True, X)
def own_leak_setattr_on_class(x):
    setattr(Recorder, "by_name", x * 2)  # noqa: B010
    return x


add("leak", True, Recorder.note, X)
add("leak", True, Recorder().own_class, X)
add("leak", True, Recorder().own_class_by_attribute, X)


def _records_through_a_local_class():
    class Local:
        pass

    def f(x):
        Local.latest = x * 2
        return x

    return f


add("leak", True, _records_through_a_local_class(), X)


@case("leak", True, X)
def own_leak_class_in_a_loop(x):
    def body(total, row):
        Recorder.of_loop = row
        return total + row, None

    return lax.scan(body, 0.0, x)[0]


@case("leak", False, X)
def own_noleak_class_attribute_shape(x):
    Recorder.latest_shape = x.shape
    return x


@case("leak", False, X)
def own_noleak_own_object(x):
    recorder = Recorder()
    recorder.latest = x * 2
    return recorder.latest


@case("leak", False, X)
def own_noleak_reads_class_attribute(x):
    return x * len(Recorder.history)


@case("leak", False, X)
def own_noleak_class_attribute_reset(x):
    Recorder.latest = x * 2
    y = Recorder.latest
    del Recorder.latest
    return y


add("leak", False, lambda x: x * len(Derived.history), X)


# ------------------------------------------------------------ side_effect
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


# ------------------------------------------------------------ iterator
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


# ------------------------------------------------------------ generators with and without a seed
@case("side_effect", False, X)
@jax.jit
def shuffles_with_a_seeded_random_state(x):
    return x[np.random.RandomState(0).permutation(len(x))]


@case("side_effect", False, X)
def draws_from_a_random_state_with_a_seed_by_name(x, seed=3):
    from numpy.random import RandomState

    return x + RandomState(seed=seed).normal()


@case("side_effect", True, X)
@jax.jit
def shuffles_with_an_unseeded_random_state(x):
    return x[np.random.RandomState().permutation(len(x))]


@case("side_effect", True, X)
def draws_from_a_random_state_without_a_seed(x, seed=None):
    return x + np.random.RandomState(seed).normal()
