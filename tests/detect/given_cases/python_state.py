"""Labeled cases used to tune side_effect, leak, and iterator."""

from __future__ import annotations

import itertools
import logging
import os
import random
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()

X4 = jnp.arange(4.0)


# ------------------------------------------------------------ side_effect
log = logging.getLogger("mymodel")
HISTORY: list = []


@case("side_effect", True, X4)
def se_print(x):
    print("in f, x =", x)
    return x * 2


@case("side_effect", True, X4)
def se_log(x):
    log.warning("loss is %s", x.sum())
    return x * 2


@case("side_effect", True, X4)
def se_np_random(x):
    return x + np.random.normal(size=4)


@case("side_effect", True, X4)
def se_py_random_under_scan(x):
    def body(c, v):
        return c + v * random.random(), c

    return lax.scan(body, 0.0, x)[0]


@case("side_effect", True, X4)
def se_wall_clock(x):
    return x * (time.time() % 7.0)


@case("side_effect", True, X4)
def se_append_metadata(x):
    HISTORY.append(x.shape)  # not a tracer, still a side effect
    return x - 1


@case("side_effect", True, X4)
def se_file_write(x):
    with open(os.devnull, "w") as fh:
        fh.write("traced!")
    return x + 1


@case("side_effect", True, X4)
def se_print_inside_jitted_helper(x):
    @jax.jit
    def inner(y):
        print("hi")
        return y * y

    return inner(x).sum()


@case("side_effect", True, X4)
def se_np_rng_generator(x, rng=np.random.default_rng(0)):
    return x + rng.normal(size=(4,))


@case("side_effect", False, X4)
def se_debug_print_ok(x):
    jax.debug.print("x = {x}", x=x)
    return x * 2


@case("side_effect", False, X4)
def se_local_list_ok(x):
    acc = []
    for i in range(3):
        acc.append(x * i)  # local, never escapes
    return jnp.stack(acc)


@case("side_effect", False, X4)
def se_jax_random_ok(x):
    return x + jax.random.normal(jax.random.key(0), (4,))


@case("side_effect", False, X4)
def se_fstring_ok(x):
    msg = f"shape {x.shape}"
    return x * len(msg)


@case("side_effect", False, X4)
def se_name_scope_ok(x):
    with jax.named_scope("block"):
        return jnp.sin(x)


# ------------------------------------------------------------ leak
_cache: list = []
_last = None
_store: dict = {}
step_count = 0


@case("leak", True, X4)
def lk_append(x):
    y = x * 2
    _cache.append(y)
    return y


@case("leak", True, X4)
def lk_global(x):
    global _last
    _last = x.sum()
    return x


@case("leak", True, X4)
def lk_dict(x):
    _store["h"] = jnp.sin(x)
    return x


class Stateful:
    def __init__(self):
        self.h = jnp.zeros(4)

    def __call__(self, x):
        self.h = self.h + x  # RNN-style hidden state on self
        return self.h * 2


# lk_self_attr
add("leak", True, Stateful(), X4)


def _leak_closure():
    seen = []

    def f(x):
        def body(c, v):
            seen.append(c)
            return c + v, c

        return lax.scan(body, 0.0, x)[0]

    return f


# lk_scan_closure
add("leak", True, _leak_closure(), X4)


@case("leak", True, X4)
def lk_function_attr(x):
    lk_function_attr.saved = x + 1
    return x


@case("leak", True, X4)
def lk_via_grad(x):
    def loss(v):
        y = (v**2).sum()
        _cache.append(y)
        return y

    return jax.grad(loss)(x)


@case("leak", False, X4)
def lk_aux_ok(x):
    def loss(v):
        y = v**2
        return y.sum(), y

    g, aux = jax.grad(loss, has_aux=True)(x)
    return g, aux


@case("leak", False, X4)
def lk_local_list_ok(x):
    ys = []
    for i in range(3):
        ys.append(x + i)
    return ys


@case("leak", False, X4)
def lk_append_shape_ok(x):
    HISTORY.append(x.shape)  # a side effect, but nothing traced escapes
    return x


@case("leak", False, X4)
def lk_counter_ok(x):
    global step_count
    step_count += 1  # a side effect, but nothing traced escapes
    return x


@case("leak", False, X4)
def lk_scan_carry_ok(x):
    return lax.scan(lambda c, v: (c + v, c), 0.0, x)


# ------------------------------------------------------------ iterator
@case("iterator", True, iter(range(10)))
def it_arg_next(it):
    return jnp.float32(next(it)) * 2


_it = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])


@case("iterator", True, X4)
def it_global_next(x):
    return x * next(_it)


def _make_gen():
    gen = (float(i) for i in range(100))

    def f(x):
        return x + next(gen)

    return f


# it_closure_generator
add("iterator", True, _make_gen(), X4)


@case("iterator", True, X4)
def it_fori_loop(x):
    it = iter(range(10))
    return lax.fori_loop(0, 10, lambda i, s: s + next(it), 0) + x


def _batches():
    it = itertools.count()

    def step(x):
        def body(c, _):
            return c + next(it), None

        return lax.scan(body, x, None, length=4)[0]

    return step


# it_count_in_scan
add("iterator", True, _batches(), X4)


@case("iterator", False, X4)
def it_range_ok(x):
    for i in range(3):
        x = x + i
    return x


@case("iterator", False, X4)
def it_zip_enumerate_ok(x):
    for i, (a, b) in enumerate(zip((1.0, 2.0), (3.0, 4.0))):
        x = x * a + b + i
    return x


@case("iterator", False, X4)
def it_local_next_ok(x):
    it = iter((1.0, 2.0))
    return x * next(it) + next(it)  # local, consumed once, deterministic


@case("iterator", False, (1.0, 2.0, 3.0))
def it_tuple_arg_ok(t):
    return sum(t)


@case("iterator", False, X4)
def it_scan_ok(x):
    return lax.scan(lambda c, v: (c + v, None), 0.0, x)[0]
