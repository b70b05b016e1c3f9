"""Labeled cases for out_of_bounds, written before the detector ran on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()


X = jnp.arange(10.0)
M = jnp.arange(12.0).reshape(3, 4)


# ------------------------------------------------------------ out_of_bounds
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


# Reads that `jnp.where` masks stay masked in the backward pass, where they are multiplied by zero.
def own_masked_read(w, x, i):
    return jnp.where(i < x.shape[0], x[i] * w, 0.0)


def own_unmasked_read(w, x, i):
    return jnp.tanh(x[i] * w)


add("out_of_bounds", False, own_masked_read, 2.0, X, 10)
add("out_of_bounds", False, jax.grad(own_masked_read), 2.0, X, 10)
add("out_of_bounds", False, jax.value_and_grad(own_masked_read, argnums=1), 2.0, X, 10)
add("out_of_bounds", True, jax.grad(own_unmasked_read), 0.01, X, 10)
add("out_of_bounds", True, own_unmasked_read, 2e6, X, 10)
add("out_of_bounds", True, jax.value_and_grad(own_unmasked_read, argnums=1), 0.01, X, 10)


# A `where` that chooses the array's size as the index of a write skips the write on purpose.
KEEP, ROWS, SQUARE = jnp.array([True, False, True]), jnp.array([1, 2, 0]), jnp.ones((4, 4))


def own_skipped_writes(x, i, keep):
    return x.at[jnp.where(keep, i, x.shape[0])].set(-1.0)


def own_skipped_additions(x, i, keep, value):
    return (x.at[jnp.where(keep, i, x.shape[0])].add(value) ** 2).sum()


def own_skipped_maximum(x, i, keep):
    return jax.jit(lambda x, i: x.at[i].max(20.0))(x, jnp.where(keep, i, jnp.full_like(i, 10)))


def own_skipped_steps(x, i, keep):
    def body(x, i):
        return x.at[i].set(x[0] + 1), None

    return lax.scan(body, x, jnp.where(keep, i, x.shape[0]))[0]


def own_skipped_step_of_loop(x, i):
    def body(number, x):
        return x.at[jnp.where(number == 1, x.shape[0], i)].add(1.0)

    return lax.fori_loop(0, 3, body, x)


def own_skipped_rows(m, i, keep):
    return m.at[jnp.where(keep, i, m.shape[0]), jnp.arange(3)].set(0.0)


def own_skipped_padding(x, keep, ids):
    return jax.ops.segment_sum(x, jnp.where(keep, ids, 3), num_segments=3)


for skipping in (
    own_skipped_additions,
    jax.grad(own_skipped_additions),
    jax.grad(own_skipped_additions, argnums=3),
):
    add("out_of_bounds", False, skipping, X, ROWS, KEEP, jnp.ones(3))
for skipping in (own_skipped_writes, own_skipped_maximum, own_skipped_steps):
    add("out_of_bounds", False, skipping, X, ROWS, KEEP)
add("out_of_bounds", False, jax.vmap(own_skipped_writes), SQUARE, SQUARE.astype(int), SQUARE < 1)
add(
    "out_of_bounds",
    False,
    lambda x, v: jax.grad(lambda x: (own_skipped_writes(x * v, ROWS, KEEP) ** 2).sum())(x),
    X,
    2.0,
)
add("out_of_bounds", False, own_skipped_step_of_loop, X, 3)
add("out_of_bounds", False, own_skipped_rows, M, ROWS, KEEP)
add("out_of_bounds", False, own_skipped_rows, SQUARE, ROWS, KEEP)
add("out_of_bounds", False, own_skipped_padding, X[:3], KEEP, ROWS)
add(
    "out_of_bounds",
    False,
    lambda x: x.at[jnp.nonzero(x < 3, size=5, fill_value=x.shape[0])[0]].set(0.0),
    X,
)

# Here, the index that a `where` chooses is read, or something else is wrong with the index.
add("out_of_bounds", True, lambda x, i, k: x[jnp.where(k, i, 10)].sum(), X, ROWS, KEEP)
add(
    "out_of_bounds",
    True,
    lambda x, i, k: lax.dynamic_update_slice(x, jnp.ones(1), (jnp.where(k, i, 10),)),
    X,
    3,
    False,
)
add("out_of_bounds", True, own_skipped_writes, X, ROWS + 10, KEEP)
add("out_of_bounds", True, own_skipped_padding, X[:3], KEEP, ROWS + 3)


def own_size_of_another_array(x, i, keep):
    return x[:8].at[jnp.where(keep, i, x.shape[0])].set(0.0)


def own_shifted_after_where(x, i, keep):
    return x.at[jnp.where(keep, i, 9) + 1].set(0.0)


def own_chosen_without_constant(x, i, keep):
    return x.at[jnp.where(keep, i, i + 8)].add(1.0)


def own_clipped_before_where(x, i, keep):
    return x.at[jnp.where(keep, i + 9, 0)].add(1.0)


def own_skipped_rows_of_wrong_columns(m, i, j, keep):
    return m.at[jnp.where(keep, i, m.shape[0]), j].set(0.0)


def own_carried_index(x, i):
    def body(carry, _):
        x, i = carry
        return (x.at[i].add(1.0), i + 1), None

    return lax.scan(body, (x, jnp.where(i > 2, i, 10)), None, length=3)[0][0]


add("out_of_bounds", True, own_size_of_another_array, X, ROWS, KEEP)
add("out_of_bounds", True, own_shifted_after_where, X, ROWS, KEEP)
add("out_of_bounds", True, own_chosen_without_constant, X, ROWS, KEEP)
add("out_of_bounds", True, own_clipped_before_where, X, ROWS, KEEP)
add("out_of_bounds", True, own_skipped_rows_of_wrong_columns, SQUARE, ROWS, ROWS + 2, KEEP)
add("out_of_bounds", True, own_carried_index, X, 8)


# ------------------------------------------------------------ reads next to NaNs that are meant
def own_guarded_read(table, i, y):
    """Read past the end, but choose by the index and not by what is read."""
    return jnp.where((table[i] <= 99.0) & (i < table.shape[0]), y, -y)


def own_unguarded_read(table, i, y):
    return jnp.where(table[i] > 5.0, y, -y)


def own_guarded_rows(table, indices, rows):
    return jax.vmap(own_guarded_read, in_axes=(None, 0, 0))(table, indices, rows)


DROPPED = jnp.array([1.0, jnp.nan])
INDICES = jnp.array([9, 10])
add("out_of_bounds", False, own_guarded_read, X, jnp.int32(10), DROPPED)
add("out_of_bounds", False, jax.jit(own_guarded_rows), X, INDICES, jnp.stack([DROPPED, DROPPED]))
add(
    "out_of_bounds",
    False,
    lambda *given: (own_guarded_read(*given), given[0] + 1),
    X,
    jnp.int32(10),
    DROPPED,
)
add("out_of_bounds", True, own_unguarded_read, X, jnp.int32(10), DROPPED)
add("out_of_bounds", True, lambda x, i: x[i] * x.at[0].set(jnp.nan), X, jnp.int32(10))
# Here, the NaN hides what the read changes.
add("out_of_bounds", True, lambda x, i: (x[i] + jnp.log(x - 20.0)).sum(), X, jnp.int32(10))
# The read itself gives the NaN, or part of it.
add("out_of_bounds", True, lambda x, i: jnp.take(x, i) + x[:2], X, INDICES)
