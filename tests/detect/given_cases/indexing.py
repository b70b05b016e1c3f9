"""Labeled cases used to tune out_of_bounds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()


_r = np.random.RandomState(0)
X10 = jnp.arange(10.0)
M33 = jnp.asarray(_r.randn(3, 3).astype(np.float32))


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
