"""Labeled cases used to tune big_const, transfer, donation, timing, and unrolled.

Import the module again for every run of a detector.
"""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()

X4 = jnp.arange(4.0)
X10 = jnp.arange(10.0)


# ---------------------------------------------------------------- big_const
BIG = np.ones((1024, 1024), np.float32)  # 4 MiB
BIGJ = jnp.ones((1024, 512))


@case("big_const", True, jnp.ones(1024))
def bc_global(x):
    return BIG @ x


@case("big_const", True, jnp.ones(512))
def bc_jax_global(x):
    return BIGJ @ x


def _bc_closure():
    table = jnp.arange(600_000.0)

    def f(i):
        return table[i]

    return f


add("big_const", True, _bc_closure(), jnp.int32(3))


@case("big_const", True, jnp.ones(4))
def bc_np_inside(x):
    w = np.random.RandomState(0).randn(4, 200_000).astype(np.float32)
    return x @ w


@case("big_const", True, jnp.ones(1024))
def bc_in_scan(x):
    return lax.scan(lambda c, _: (jnp.tanh(BIG @ c), None), x, None, length=2)[0]


@case("big_const", True, jnp.ones(1024))
def bc_inner_jit(x):
    return jax.jit(lambda v: BIG @ v)(x)


@case("big_const", False, jnp.ones((1024, 1024)), jnp.ones(1024))
def bc_arg_ok(w, x):
    return w @ x


@case("big_const", False, jnp.ones(1024))
def bc_jnp_inside_ok(x):
    return jnp.ones((1024, 1024)) @ x  # staged, not captured


@case("big_const", False, X4)
def bc_small_ok(x):
    return x * np.arange(4, dtype=np.float32)


@case("big_const", False, jnp.ones(1024))
def bc_eye_ok(x):
    return jnp.eye(1024) @ x


# ---------------------------------------------------------------- transfer
@case("transfer", True, X4)
def tr_float_loss(x):
    loss = (x**2).sum()
    return float(loss) * 2


@case("transfer", True, X4)
def tr_np_roundtrip(x):
    y = np.asarray(jnp.sin(x))
    return jnp.asarray(y + 1)


@case("transfer", True, X4)
def tr_item(x):
    return x.sum().item()


@case("transfer", True, X4)
def tr_pure_callback(x):
    return jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct((4,), jnp.float32), x)


@case("transfer", True, X4)
def tr_scan_callback(x):
    def body(c, v):
        jax.debug.callback(lambda a: None, c)
        return c + v, None

    return lax.scan(body, 0.0, x)[0]


@case("transfer", True, np.ones((256, 1024), np.float32), jnp.ones(1024))
def tr_numpy_batch(batch, w):
    return jnp.dot(batch, w)  # implicit host-to-device copy on every call


@case("transfer", True, X4)
def tr_python_loop_over_array(x):
    return sum(float(v) for v in x)


@case("transfer", True, X4)
def tr_print_value(x):
    print(x.sum())
    return x


@case("transfer", False, X4)
def tr_pure_ok(x):
    return (x**2).sum()


@case("transfer", False, X4)
def tr_python_scalar_ok(x):
    return x * 2.0 + 1


@case("transfer", False, X4)
def tr_shape_ok(x):
    return x.sum() / x.shape[0]


@case("transfer", False, X4)
def tr_scan_ok(x):
    return lax.scan(lambda c, v: (c + v, None), 0.0, x)[0]


@case("transfer", False, X10)
def tr_index_ok(x):
    return x[3] + x[1:4].sum()


# ---------------------------------------------------------------- donation
_donating = jax.jit(lambda x: x + 1, donate_argnums=0)
_donating2 = jax.jit(lambda p, g: p - 0.1 * g, donate_argnums=(0,))


@case("donation", True, X10 * 3)
def dn_reuse(x):
    y = _donating(x)
    return y + x


@case("donation", True, X10 * 5, X10 + 1)
def dn_params(p, g):
    new = _donating2(p, g)
    return new, jnp.linalg.norm(new - p)


@case("donation", True, X10 * 7)
def dn_twice(x):
    a = _donating(x)
    b = _donating(x)
    return a, b


@case("donation", True, X10 * 11)
def dn_return_donated(x):
    y = _donating(x)
    return x, y


@case("donation", True, X10 * 13)
def dn_loop(x):
    x0 = x
    for _ in range(3):
        x = _donating(x)
    return x - x0


@case("donation", True, X10 * 14)
def dn_never_usable(x):
    # donated, but no output has this shape: the donation silently does nothing
    return jax.jit(lambda v: v.sum(), donate_argnums=0)(x)


@case("donation", False, X10 * 17)
def dn_ok(x):
    x = _donating(x)
    return x * 2


@case("donation", False, X10 * 19)
def dn_copy_ok(x):
    y = _donating(x.copy())
    return y + x


@case("donation", False, X10 * 23)
def dn_no_donate_ok(x):
    y = jax.jit(lambda v: v + 1)(x)
    return y + x


@case("donation", False, X10 * 29)
def dn_loop_ok(x):
    for _ in range(3):
        x = _donating(x)
    return x


@case("donation", False, X10 * 31)
def dn_shape_only_ok(x):
    y = _donating(x)
    return y / x.shape[0]  # metadata of a donated array is fine


# ---------------------------------------------------------------- timing
@case("timing", True, jnp.ones((600, 600)))
def tm_naive(x):
    t0 = time.perf_counter()
    y = x @ x @ x
    return y, time.perf_counter() - t0


@case("timing", True, jnp.ones((600, 600)))
def tm_time_time(x):
    t0 = time.time()
    for _ in range(3):
        x = jnp.tanh(x @ x)
    dt = time.time() - t0
    return x, dt


_mm = jax.jit(lambda a: (a @ a).sum())


@case("timing", True, jnp.ones((600, 600)))
def tm_jitted(x):
    start = time.perf_counter()
    out = _mm(x)
    end = time.perf_counter()
    out.block_until_ready()  # too late: the clock has already stopped
    return out, end - start


@case("timing", True, jnp.ones((600, 600)))
def tm_monotonic_ns(x):
    t0 = time.perf_counter_ns()
    y = jax.jit(lambda a: a @ a)(x)
    return y, time.perf_counter_ns() - t0


@case("timing", False, jnp.ones((600, 600)))
def tm_block_ok(x):
    t0 = time.perf_counter()
    y = (x @ x).block_until_ready()
    return y, time.perf_counter() - t0


@case("timing", False, jnp.ones((600, 600)))
def tm_jax_block_ok(x):
    t0 = time.perf_counter()
    y = x @ x
    jax.block_until_ready(y)
    return y, time.perf_counter() - t0


@case("timing", False, jnp.ones((60, 60)))
def tm_np_asarray_ok(x):
    t0 = time.perf_counter()
    y = np.asarray(x @ x)  # copies to the host, so it blocks
    return y, time.perf_counter() - t0


@case("timing", False, jnp.ones((60, 60)))
def tm_no_timer_ok(x):
    return x @ x


@case("timing", False, X4)
def tm_times_python_only_ok(x):
    t0 = time.perf_counter()
    s = sum(i for i in range(1000))  # nothing asynchronous inside
    dt = time.perf_counter() - t0
    return x * s, dt


# ---------------------------------------------------------------- unrolled
@case("unrolled", True, X4)
def un_for_range(x):
    for i in range(200):
        x = jnp.sin(x) + i
    return x


@case("unrolled", True, jnp.ones((128, 4)))
def un_rows(xs):
    total = 0.0
    for row in xs:
        total = total + jnp.tanh(row).sum()
    return total


@case("unrolled", True, X4)
def un_nested(x):
    for i in range(12):
        for j in range(12):
            x = x * 1.01 + i * j
    return x


@case("unrolled", False, X4)
def un_scan_ok(x):
    return lax.scan(lambda c, i: (jnp.sin(c) + i, None), x, jnp.arange(200.0))[0]


@case("unrolled", False, X4)
def un_short_ok(x):
    for i in range(4):
        x = jnp.sin(x) + i
    return x


@case("unrolled", False, X4)
def un_fori_ok(x):
    return lax.fori_loop(0, 500, lambda i, v: jnp.sin(v), x)
