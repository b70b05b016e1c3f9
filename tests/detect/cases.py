"""Labelled cases: what a check must report, and what it must not.

A case is (name, check, fn, args, expected). Several functions keep Python state on purpose, so
import the module afresh for every run of a detector. A negative of one check may be a positive of
another. CLEAN holds whole programs of which nothing above a note should be said.
"""

from __future__ import annotations

import itertools
import logging
import os
import random
import time
import warnings
from collections import namedtuple
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Case = namedtuple("Case", "name sharp_bit fn args expected")


class Sweep(list):
    """Several argument tuples, to be passed in turn to the same function."""


CASES: list[Case] = []
CLEAN: list[Case] = []


def case(sharp_bit, expected, *args, name=None):
    def deco(fn):
        nm = name or getattr(fn, "__name__", None) or repr(fn)
        a = args[0] if len(args) == 1 and isinstance(args[0], Sweep) else args
        CASES.append(Case(f"{sharp_bit}:{nm}", sharp_bit, fn, a, expected))
        return fn

    return deco


def add(sharp_bit, name, fn, args, expected):
    CASES.append(Case(f"{sharp_bit}:{name}", sharp_bit, fn, args, expected))


_r = np.random.RandomState(0)
X4 = jnp.arange(4.0)
X10 = jnp.arange(10.0)
M33 = jnp.asarray(_r.randn(3, 3).astype(np.float32))

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


@case("side_effect", True, X4, name="se_np_rng_generator")
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


# ------------------------------------------------------------ stale_global
scale = 2.0
config = {"lr": 0.1, "depth": 3}
offset_table = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
mode = "train"


def set_mode(m):
    global mode
    mode = m


def set_scale(s):
    global scale
    scale = s


@case("stale_global", True, X4)
def sg_scalar(x):
    return x * scale


@case("stale_global", True, X4)
def sg_dict(x):
    return x - config["lr"] * x


@case("stale_global", True, X4)
def sg_mode_flag(x):
    if mode == "train":
        return x * 2
    return x


@case("stale_global", True, X4)
def sg_numpy_table(x):
    return x + offset_table


class Model:
    def __init__(self):
        self.w = jnp.ones((4,))
        self.training = True

    def predict(self, x):
        return x * self.w

    def flagged(self, x):
        return x * 2 if self.training else x


add("stale_global", "sg_bound_method", Model().predict, (X4,), True)
add("stale_global", "sg_bound_method_flag", Model().flagged, (X4,), True)


def _closure():
    n_calls = {"value": 3.0}

    def inner(x):
        return x * n_calls["value"]

    return inner


add("stale_global", "sg_closure_dict", _closure(), (X4,), True)


def _helper_reads_global(x):
    return x * scale


@case("stale_global", True, X4)
def sg_through_helper(x):
    return _helper_reads_global(x) + 1


@case("stale_global", True, X4)
def sg_inside_scan(x):
    return lax.scan(lambda c, v: (c + v * scale, None), 0.0, x)[0]


GRAVITY = 9.81
SHAPE = (4,)


@case("stale_global", False, X4)
def sg_caps_constant_ok(x):
    return x * GRAVITY


@case("stale_global", False, X4)
def sg_np_pi_ok(x):
    return x * np.pi


@case("stale_global", False, X4)
def sg_helper_fn_ok(x):
    return _pure_helper(x)


def _pure_helper(x):
    return x * 2.0


@case("stale_global", False, X4, jnp.ones(4))
def sg_passed_in_ok(x, s):
    return x * s


def _closure_const():
    n = 3

    def inner(x):
        return x * n

    return inner


add("stale_global", "sg_closure_immutable_ok", _closure_const(), (X4,), False)


@case("stale_global", False, X4)
def sg_shadowed_local_ok(x):
    scale = 3.0  # local name shadows the global
    return x * scale


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


add("leak", "lk_self_attr", Stateful(), (X4,), True)


def _leak_closure():
    seen = []

    def f(x):
        def body(c, v):
            seen.append(c)
            return c + v, c

        return lax.scan(body, 0.0, x)[0]

    return f


add("leak", "lk_scan_closure", _leak_closure(), (X4,), True)


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
@case("iterator", True, iter(range(10)), name="it_arg_next")
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


add("iterator", "it_closure_generator", _make_gen(), (X4,), True)


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


add("iterator", "it_count_in_scan", _batches(), (X4,), True)


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


@case("iterator", False, (1.0, 2.0, 3.0), name="it_tuple_arg_ok")
def it_tuple_arg_ok(t):
    return sum(t)


@case("iterator", False, X4)
def it_scan_ok(x):
    return lax.scan(lambda c, v: (c + v, None), 0.0, x)[0]


# ------------------------------------------------------------ inplace
@case("inplace", True, np.arange(4.0, dtype=np.float32))
def ip_setitem(x):
    x[0] = 99.0
    return jnp.sum(jnp.asarray(x))


@case("inplace", True, np.arange(4.0, dtype=np.float32))
def ip_augassign(x):
    x += 1
    return jnp.asarray(x) * 2


@case("inplace", True, X4)
def ip_jax_setitem(x):
    x[0] = 1.0
    return x


@case("inplace", True, {"w": np.ones(3, np.float32)}, name="ip_nested_sort")
def ip_nested_sort(p):
    p["w"].sort()
    p["w"][:] = p["w"] * 3
    return jnp.asarray(p["w"]).sum()


@case("inplace", True, X4, np.zeros(4, np.float32))
def ip_out_kw(x, buf):
    np.multiply(np.asarray(x), 2, out=buf)
    return jnp.asarray(buf)


@case("inplace", True, {"a": 1.0})
def ip_dict_arg_mutated(d):
    d["a"] = d["a"] + 1
    return jnp.asarray(d["a"])


@case("inplace", True, np.arange(4.0, dtype=np.float32))
def ip_alias_then_mutate(x):
    buf = np.array(x)
    y = jnp.asarray(buf)  # may alias on CPU
    buf[0] = -1.0
    return y


@case("inplace", False, X4)
def ip_at_set_ok(x):
    return x.at[0].set(1.0)


@case("inplace", False, np.arange(4.0, dtype=np.float32))
def ip_copy_first_ok(x):
    y = jnp.array(x)
    return y.at[0].set(5.0)


@case("inplace", False, X4)
def ip_python_list_ok(x):
    acc = [0] * 4
    acc[2] = 1
    return x * jnp.asarray(acc)


@case("inplace", False, X4)
def ip_aug_on_local_ok(x):
    x += 1  # rebinds the name: fine on jax arrays
    x *= 2
    return x


@case("inplace", False, {"a": X4})
def ip_new_dict_ok(d):
    d = dict(d)
    d["a"] = d["a"] + 1
    return d


# ------------------------------------------------------------ out_of_bounds
I3 = jnp.array([0, 3, 12])


@case("out_of_bounds", True, X10, jnp.int32(10))
def ob_scalar(x, i):
    return x[i]


@case("out_of_bounds", True, X10)
def ob_static(x):
    return x[20]


@case("out_of_bounds", True, X10, I3)
def ob_gather(x, i):
    return x[i].sum()


@case("out_of_bounds", True, X10, I3)
def ob_scatter_set(x, i):
    return x.at[i].set(0.0)


@case("out_of_bounds", True, X10, jnp.int32(-11))
def ob_negative(x, i):
    return x[i]


@case("out_of_bounds", True, X10, I3)
def ob_take(x, i):
    return jnp.take(x, i)


@case("out_of_bounds", True, X10, jnp.int32(8))
def ob_dynamic_slice(x, i):
    return lax.dynamic_slice(x, (i,), (4,))


@case("out_of_bounds", True, X10, jnp.int32(7))
def ob_dynamic_update_slice(x, i):
    return lax.dynamic_update_slice(x, jnp.ones(5), (i,))


@case("out_of_bounds", True, jnp.ones((5, 10)), jnp.array([1, 2, 3, 4, 10]))
def ob_vmap(xs, i):
    return jax.vmap(lambda r, j: r[j])(xs, i)


@case("out_of_bounds", True, X10)
def ob_scan(x):
    def body(c, i):
        return c + x[i + 1], None  # reads x[10] on the last iteration

    return lax.scan(body, 0.0, jnp.arange(10))[0]


@case("out_of_bounds", True, X10)
def ob_fori(x):
    return lax.fori_loop(0, 11, lambda i, s: s + x[i], 0.0)


@case("out_of_bounds", True, X10)
def ob_while_late(x):
    def body(s):
        i, acc = s
        return i + 1, acc + x[i]

    return lax.while_loop(lambda s: s[0] <= 200, body, (0, 0.0))[1]


@case("out_of_bounds", True, X10, jnp.int32(5))
def ob_cond_branch(x, i):
    return lax.cond(x.sum() > 0, lambda: x[i * 2], lambda: x[0])


@case("out_of_bounds", True, X10, I3)
def ob_jitted(x, i):
    return jax.jit(lambda a, b: a[b] * 2)(x, i)


@case("out_of_bounds", True, M33, jnp.int32(3), jnp.int32(1))
def ob_2d(m, i, j):
    return m[i, j]


@case("out_of_bounds", True, M33, jnp.array([[0], [5], [2]]))
def ob_take_along_axis(m, idx):
    return jnp.take_along_axis(m, idx, axis=1)


@case("out_of_bounds", True, jnp.array([0, 1, 7]), jnp.ones(3))
def ob_segment_sum(seg, v):
    return jax.ops.segment_sum(v, seg, num_segments=3)


@case("out_of_bounds", True, X10, I3)
def ob_in_grad(x, i):
    return jax.grad(lambda v: (v[i] ** 2).sum())(x)


@case("out_of_bounds", True, X10, jnp.int32(9))
def ob_embedding_off_by_one(table, i):
    ids = jnp.array([1, 2, 10]) + 0 * i  # 1-based ids into a 0-based table
    return table[ids]


@case("out_of_bounds", False, X10, jnp.int32(-1))
def ob_negative_ok(x, i):
    return x[i] + x[-10]


@case("out_of_bounds", False, X10, jnp.array([0, 9]))
def ob_inside_ok(x, i):
    return x[i]


@case("out_of_bounds", False, X10)
def ob_nonzero_ok(x):
    return jnp.nonzero(x > 3, size=4, fill_value=-1)[0]


@case("out_of_bounds", False, X10)
def ob_where_size_ok(x):
    return jnp.where(x > 8.5, size=1)[0]


@case("out_of_bounds", False, X10, I3)
def ob_mode_drop_ok(x, i):
    return x.at[i].set(0.0, mode="drop")


@case("out_of_bounds", False, X10, I3)
def ob_mode_fill_ok(x, i):
    return x.at[i].get(mode="fill", fill_value=0.0)


@case("out_of_bounds", False, X10, I3)
def ob_take_clip_ok(x, i):
    return jnp.take(x, i, mode="clip")


@case("out_of_bounds", False, X10, I3)
def ob_clipped_ok(x, i):
    return x[jnp.clip(i, 0, 9)]


@case("out_of_bounds", False, X10)
def ob_scan_ok(x):
    return lax.scan(lambda c, i: (c + x[i], None), 0.0, jnp.arange(10))[0]


@case("out_of_bounds", False, X10)
def ob_sort_argsort_ok(x):
    return x[jnp.argsort(-x)][:3]


@case("out_of_bounds", False, X10)
def ob_bincount_ok(x):
    return jnp.bincount(x.astype(jnp.int32), length=10)


@case("out_of_bounds", False, X10)
def ob_slice_past_end_ok(x):
    return x[5:100]  # Python slice semantics, static, same as NumPy


@case("out_of_bounds", False, jnp.ones((4, 6)))
def ob_roll_and_diag_ok(m):
    return jnp.roll(m, 1, axis=0) + jnp.flip(m, 1)


# ------------------------------------------------------------ list_args
@case("list_args", True, [float(i) for i in range(1000)])
def la_long_list(x):
    return jnp.sum(jnp.array(x))


@case("list_args", True, tuple(range(200)))
def la_long_tuple(x):
    return sum(x)


@case("list_args", True, [[float(i * j) for i in range(20)] for j in range(20)])
def la_nested(x):
    return jnp.asarray(x).mean()


@case("list_args", True, {"data": [float(i) for i in range(500)]})
def la_dict_list(d):
    return jnp.stack(d["data"]).sum()


@case("list_args", True, X10)
def la_built_inside(x):
    return jnp.array([x[i % 10] * i for i in range(300)])


@case("list_args", True, jnp.arange(500.0))
def la_list_of_array(x):
    return jnp.stack(list(x)).sum()


@case("list_args", False, [X4, X4])
def la_two_arrays_ok(xs):
    return xs[0] + xs[1]


@case("list_args", False, [(jnp.ones((3, 3)), jnp.ones(3)) for _ in range(12)])
def la_mlp_params_ok(params):
    x = jnp.ones(3)
    for w, b in params:
        x = jnp.tanh(w @ x + b)
    return x


@case("list_args", False, jnp.arange(1000.0))
def la_array_ok(x):
    return x.sum()


@case("list_args", False, (2, 3))
def la_small_tuple_ok(t):
    return t[0] * t[1]


@case("list_args", False, X4)
def la_literal_ok(x):
    return x * jnp.array([1.0, 2.0, 3.0, 4.0])


# ------------------------------------------------------------ key_reuse
K = jax.random.key(0)
RK = jax.random.PRNGKey(0)


def _twice(k):
    return jax.random.normal(k, (3,)) + jax.random.uniform(k, (3,))


add("key_reuse", "kr_typed", _twice, (K,), True)


def _twice_raw(k):
    return jax.random.normal(k, (3,)) + jax.random.uniform(k, (3,))


add("key_reuse", "kr_raw", _twice_raw, (RK,), True)


@case("key_reuse", True)
def kr_made_inside_raw():
    k = jax.random.PRNGKey(42)
    return jax.random.normal(k) * jax.random.normal(k)


@case("key_reuse", True, K)
def kr_parent_after_split(k):
    a, b = jax.random.split(k)
    return jax.random.normal(a) + jax.random.normal(k)


@case("key_reuse", True, RK)
def kr_parent_after_split_raw(k):
    ks = jax.random.split(k, 2)
    return jax.random.normal(ks[0]) + jax.random.normal(k)


@case("key_reuse", True, K)
def kr_scan_closure(k):
    def body(c, _):
        return c + jax.random.normal(k), None

    return lax.scan(body, 0.0, None, length=5)[0]


@case("key_reuse", True, RK)
def kr_scan_closure_raw(k):
    def body(c, _):
        return c + jax.random.normal(k), None

    return lax.scan(body, 0.0, None, length=5)[0]


@case("key_reuse", True, K)
def kr_python_loop(k):
    s = 0.0
    for _ in range(3):
        s = s + jax.random.normal(k)
    return s


@case("key_reuse", True, K)
def kr_same_child_twice(k):
    ks = jax.random.split(k, 3)
    return jax.random.normal(ks[1]) + jax.random.uniform(ks[1])


@case("key_reuse", True, RK)
def kr_same_child_twice_raw(k):
    ks = jax.random.split(k, 3)
    return jax.random.normal(ks[1]) + jax.random.uniform(ks[1])


@case("key_reuse", True, K)
def kr_inside_jit(k):
    @jax.jit
    def drop(k, x):
        return x * jax.random.bernoulli(k, 0.5, x.shape)

    x = jnp.ones(8)
    return drop(k, x) + drop(k, x)


@case("key_reuse", True, K)
def kr_carry_not_updated(k):
    def body(carry, _):
        k, s = carry
        return (k, s + jax.random.normal(k)), None  # forgot to split

    return lax.scan(body, (k, 0.0), None, length=4)[0][1]


@case("key_reuse", True, RK)
def kr_carry_not_updated_raw(k):
    def body(carry, _):
        k, s = carry
        return (k, s + jax.random.normal(k)), None

    return lax.scan(body, (k, 0.0), None, length=4)[0][1]


@case("key_reuse", True, K, jnp.ones((4, 3)))
def kr_vmap_shared(k, xs):
    return jax.vmap(lambda x: x + jax.random.normal(k, (3,)))(xs)  # same noise per row


@case("key_reuse", True, K)
def kr_fold_in_same_data(k):
    a = jax.random.fold_in(k, 7)
    b = jax.random.fold_in(k, 7)
    return jax.random.normal(a) + jax.random.normal(b)


@case("key_reuse", False, K)
def kr_split_ok(k):
    a, b = jax.random.split(k)
    return jax.random.normal(a) + jax.random.uniform(b)


@case("key_reuse", False, RK)
def kr_split_raw_ok(k):
    a, b = jax.random.split(k)
    return jax.random.normal(a) + jax.random.uniform(b)


@case("key_reuse", False, K)
def kr_fold_in_ok(k):
    return jax.random.normal(jax.random.fold_in(k, 1)) + jax.random.normal(jax.random.fold_in(k, 2))


@case("key_reuse", False, K)
def kr_scan_split_ok(k):
    def body(k, _):
        k, s = jax.random.split(k)
        return k, jax.random.normal(s)

    return lax.scan(body, k, None, length=5)[1]


@case("key_reuse", False, RK)
def kr_scan_split_raw_ok(k):
    def body(k, _):
        k, s = jax.random.split(k)
        return k, jax.random.normal(s)

    return lax.scan(body, k, None, length=5)[1]


@case("key_reuse", False, K)
def kr_vmap_keys_ok(k):
    return jax.vmap(lambda kk: jax.random.normal(kk, (2,)))(jax.random.split(k, 4))


@case("key_reuse", False, K)
def kr_cond_branches_ok(k):
    return lax.cond(True, lambda k: jax.random.normal(k), lambda k: jax.random.uniform(k), k)


@case("key_reuse", False, K)
def kr_index_split_ok(k):
    ks = jax.random.split(k, 3)
    return sum(jax.random.normal(ks[i]) for i in range(3))


@case("key_reuse", False, RK)
def kr_index_split_raw_ok(k):
    ks = jax.random.split(k, 3)
    return sum(jax.random.normal(ks[i]) for i in range(3))


@case("key_reuse", False, K)
def kr_scan_fold_in_ok(k):
    def body(c, i):
        return c + jax.random.normal(jax.random.fold_in(k, i)), None

    return lax.scan(body, 0.0, jnp.arange(5))[0]


# ------------------------------------------------------------ const_key
_frozen = jax.random.key(3)


@case("const_key", True, X4)
def ck_literal_seed(x):
    return x * jax.random.bernoulli(jax.random.key(0), 0.5, x.shape)


@case("const_key", True, X4)
def ck_closed_over(x):
    return x + jax.random.normal(_frozen, x.shape)


@case("const_key", True, X4)
def ck_literal_seed_raw(x):
    return x + jax.random.normal(jax.random.PRNGKey(1), x.shape)


@case("const_key", True, jnp.ones((3, 4)))
def ck_vmap_literal(xs):
    return jax.vmap(lambda x: x + jax.random.normal(jax.random.key(0), x.shape))(xs)


@case("const_key", False, X4, K)
def ck_passed_ok(x, k):
    return x + jax.random.normal(k, x.shape)


@case("const_key", False, X4, jnp.int32(3))
def ck_seed_arg_ok(x, seed):
    return x + jax.random.normal(jax.random.key(seed), x.shape)


@case("const_key", False, X4)
def ck_no_random_ok(x):
    return jnp.sin(x)


@case("const_key", False, X4, K, jnp.int32(0))
def ck_fold_step_ok(x, k, step):
    return x + jax.random.normal(jax.random.fold_in(k, step), x.shape)


# ------------------------------------------------------------ control_flow
@case("control_flow", True, jnp.float32(2.0))
def cf_if(x):
    if x > 0:
        return x
    return -x


@case("control_flow", True, jnp.float32(5.0))
def cf_while(x):
    while x > 1:
        x = x / 2
    return x


@case("control_flow", True, X4)
def cf_assert(x):
    assert jnp.all(x >= 0)
    return jnp.sqrt(x)


@case("control_flow", True, X4)
def cf_and(x):
    return jnp.where(x.sum() > 0 and x.max() < 10, x, 0.0)


@case("control_flow", True, X4, 3)
def cf_range_n(x, n):
    for _ in range(n):
        x = x * 2
    return x


@case("control_flow", True, X4)
def cf_in_scan(x):
    def body(c, v):
        if v > 1:
            c = c + v
        return c, None

    return lax.scan(body, 0.0, x)[0]


@case("control_flow", True, X4, "relu")
def cf_str_arg(x, kind):
    return jax.nn.relu(x) if kind == "relu" else jnp.tanh(x)


@case("control_flow", True, X4, True)
def cf_bool_arg(x, train):
    if train:
        return x * 2
    return x


@case("control_flow", True, X4)
def cf_float_conv(x):
    return x * float(x[0])


@case("control_flow", False, X4)
def cf_shape_if_ok(x):
    if x.shape[0] > 2:
        return x[:2]
    return x


@case("control_flow", False, X4)
def cf_none_default_ok(x, y=None):
    return x if y is None else x + y


@case("control_flow", False, X4)
def cf_where_ok(x):
    return jnp.where(x > 1, x, 0)


@case("control_flow", False, X4)
def cf_cond_ok(x):
    return lax.cond(x.sum() > 0, lambda v: v, lambda v: -v, x)


add(
    "control_flow",
    "cf_static_ok",
    jax.jit(lambda x, n: x * n if n > 2 else x, static_argnums=1),
    (X4, 3),
    False,
)


@case("control_flow", False, X4)
def cf_dtype_if_ok(x):
    if jnp.issubdtype(x.dtype, jnp.floating):
        return x
    return x.astype(jnp.float32)


# ------------------------------------------------------------ dynamic_shape
@case("dynamic_shape", True, X4)
def ds_bool_mask(x):
    return x[x > 1]


@case("dynamic_shape", True, X4)
def ds_nonzero(x):
    return jnp.nonzero(x)[0]


@case("dynamic_shape", True, X4, jnp.int32(3))
def ds_arange(x, n):
    return x.sum() * jnp.arange(n)


@case("dynamic_shape", True, X10, jnp.int32(2))
def ds_slice(x, n):
    return x[:n]


@case("dynamic_shape", True, X4)
def ds_unique(x):
    return jnp.unique(x)


@case("dynamic_shape", True, X4, 2)
def ds_reshape(x, n):
    return x.reshape(n, -1)


@case("dynamic_shape", True, X4)
def ds_where_one_arg(x):
    return x[jnp.where(x > 1)]


@case("dynamic_shape", True, X4, jnp.array([1, 2, 0, 1]))
def ds_repeat(x, r):
    return jnp.repeat(x, r)


@case("dynamic_shape", False, X4)
def ds_where3_ok(x):
    return jnp.where(x > 1, x, 0.0).sum()


@case("dynamic_shape", False, X4)
def ds_size_ok(x):
    return jnp.unique(x, size=4, fill_value=0)


@case("dynamic_shape", False, X10, jnp.int32(2))
def ds_dyn_slice_ok(x, i):
    return lax.dynamic_slice(x, (i,), (3,))


@case("dynamic_shape", False, X4)
def ds_arange_static_ok(x):
    return x * jnp.arange(x.shape[0])


@case("dynamic_shape", True, X4)
def ds_mask_set(x):
    return x.at[x > 1].set(0.0)  # NonConcreteBooleanIndexError, even with a scalar value


@case("dynamic_shape", False, X4)
def ds_static_set_ok(x):
    return x.at[:2].set(0.0)


@case("dynamic_shape", False, X10)
def ds_reshape_ok(x):
    return x.reshape(5, -1)


# ------------------------------------------------------------ recompile
@case("recompile", True, Sweep([(jnp.ones(n),) for n in range(3, 11)]))
def rc_ragged_shapes(x):
    return x.sum()


@case("recompile", True, Sweep([(X4, 1.0), (X4, jnp.float32(2.0)), (X4, 3), (X4, np.float32(4))]))
def rc_weak_types(x, s):
    return x * s


add(
    "recompile",
    "rc_static_float",
    jax.jit(lambda x, lr: x * lr, static_argnums=1),
    Sweep([(X4, 0.1 * i) for i in range(6)]),
    True,
)


class _Cfg:  # default hash: identity
    def __init__(self, n):
        self.n = n


add(
    "recompile",
    "rc_static_identity_hash",
    jax.jit(lambda x, c: x * c.n, static_argnums=1),
    Sweep([(X4, _Cfg(2)) for _ in range(4)]),
    True,
)


@case("recompile", True, Sweep([(X4,)] * 4))
def rc_jit_lambda_inside(x):
    return jax.jit(lambda v: jnp.sin(v) * 2)(x)  # a new function object each call


@case("recompile", True, Sweep([(X4,)] * 4))
def rc_scan_fresh_lambda_eager(x):
    # eager scan keys its cache on the body's identity
    return lax.scan(lambda c, v: (c + v, None), 0.0, x)[0]


@case("recompile", True, Sweep([({"a": X4, "b": X4},), ({"b": X4},), ({"a": X4},), ({"c": X4},)]))
def rc_pytree_structure(d):
    return sum(jnp.sum(v) for v in d.values())


@case(
    "recompile",
    True,
    Sweep(
        [
            (jnp.ones(4, jnp.float32),),
            (jnp.ones(4, jnp.int32),),
            (jnp.ones(4, jnp.bfloat16),),
            (jnp.ones(4, bool),),
        ]
    ),
)
def rc_dtypes(x):
    return x.sum()


add(
    "recompile",
    "rc_partial_fresh",
    lambda x: jax.jit(partial(jnp.multiply, 2.0))(x),
    Sweep([(X4,)] * 4),
    True,
)


@case("recompile", False, Sweep([(X4 * i,) for i in range(6)]))
def rc_values_ok(x):
    return x.sum()


@case("recompile", False, Sweep([(X4, 0.1 * i) for i in range(6)]))
def rc_python_scalars_ok(x, lr):
    return x * lr


add(
    "recompile",
    "rc_static_int_ok",
    jax.jit(lambda x, n: x * n, static_argnums=1),
    Sweep([(X4, 3)] * 5),
    False,
)

_jitted_once = jax.jit(lambda v: jnp.sin(v) * 2)


@case("recompile", False, Sweep([(X4,)] * 4))
def rc_module_level_jit_ok(x):
    return _jitted_once(x)


class _FrozenCfg(NamedTuple):
    n: int


add(
    "recompile",
    "rc_static_namedtuple_ok",
    jax.jit(lambda x, c: x * c.n, static_argnums=1),
    Sweep([(X4, _FrozenCfg(2)) for _ in range(4)]),
    False,
)


@case("recompile", False, Sweep([({"a": X4, "b": X4},), ({"b": X4, "a": X4},)] * 2))
def rc_dict_order_ok(d):
    return d["a"] - d["b"]


# ------------------------------------------------------------ CLEAN
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


for _name, _mk in [
    ("mlp_adamw_step", _mlp_step),
    ("causal_attention", _attention),
    ("rnn_scan", _rnn),
    ("kalman_filter", _kalman),
    ("mcmc_scan", _mcmc),
    ("gnn_segment_sum", _sparse_gather),
    ("topk_argsort", _beam),
    ("bf16_rmsnorm", _bf16_block),
    ("newton_while", _newton),
    ("conv_relu", _conv),
    ("interp_histogram", _interp_hist),
    ("flax_nnx_step", _nnx_step),
]:
    try:
        _f, _a = _mk()
        CLEAN.append(Case(f"clean:{_name}", "clean", _f, _a, False))
    except Exception as e:  # flax / optax absent
        warnings.warn(f"clean case {_name} skipped: {type(e).__name__}: {e}")
