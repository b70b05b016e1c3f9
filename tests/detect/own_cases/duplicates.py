"""Labeled cases for duplicate_indices, written before the detector ran on them."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()


PRESSES = jnp.array([0, 1, 1, 2, 1])
ONCE = jnp.array([3, 0, 4, 1, 2])
COUNTS = jnp.zeros(5, jnp.int32)
FLAGS = jnp.zeros(5, bool)
TABLE = jnp.arange(15.0).reshape(5, 3)
VALUES = jnp.array([5.0, 7.0, 9.0, 11.0, 13.0])
GRID = jnp.zeros((4, 4))


# ------------------------------------------------------------ duplicate_indices: lost updates
add("duplicate_indices", True, lambda c, i: c.at[i].set(c[i] + 1), COUNTS, PRESSES)
add("duplicate_indices", True, jax.jit(lambda c, i: c.at[i].set(1 + c[i])), COUNTS, PRESSES)
add("duplicate_indices", True, lambda c, i: c.at[i].set(jnp.take(c, i) - 1), COUNTS, PRESSES)
add("duplicate_indices", True, lambda x, i: x.at[i].set(x[i] * 2), VALUES, PRESSES)


@case("duplicate_indices", True, jnp.array([0.1, 0.15, 0.7, 0.72, 0.11]))
def own_dup_histogram(samples):
    bins = jnp.floor(samples * 10).astype(jnp.int32)
    histogram = jnp.zeros(10, jnp.int32)
    return histogram.at[bins].set(histogram[bins] + 1)


@case("duplicate_indices", True, TABLE, PRESSES, jnp.ones((5, 3)))
@jax.jit
def own_dup_embedding_update(table, ids, grads):
    rows = table[ids]
    return table.at[ids].set(rows - 0.1 * grads)


@case("duplicate_indices", True, TABLE, PRESSES)
def own_dup_embedding_step(table, ids):
    rows = table[ids]
    grads = jax.grad(lambda r: (r**2).sum())(rows)
    return table.at[ids].set(rows - 0.1 * grads)


class Visits(NamedTuple):
    counts: jax.Array
    total: jax.Array

    def record(self, cells):
        seen = self.counts[cells[:, 0], cells[:, 1]]
        counts = self.counts.at[cells[:, 0], cells[:, 1]].set(seen + 1)
        return Visits(counts, self.total + len(cells))


CELLS = jnp.array([[0, 1], [2, 3], [0, 1]])
add(
    "duplicate_indices",
    True,
    lambda visits, cells: visits.record(cells),
    Visits(GRID, jnp.float32(0)),
    CELLS,
)


@case("duplicate_indices", True, COUNTS, jnp.array([[0, 1, 2], [3, 3, 4]]))
def own_dup_scan_counts(counts, batches):
    def step(counts, ids):
        return counts.at[ids].set(counts[ids] + 1), None

    return lax.scan(step, counts, batches)[0]


@case("duplicate_indices", True, jnp.zeros((2, 4)), jnp.array([[0, 1, 2], [3, 3, 0]]))
@jax.vmap
def own_dup_vmap_rows(row, ids):
    return row.at[ids].set(row[ids] + 1.0)


@case("duplicate_indices", True, COUNTS, PRESSES, True)
def own_dup_cond(counts, ids, is_training):
    def count(c):
        return c.at[ids].set(c[ids] + 1)

    return lax.cond(is_training, count, lambda c: c, counts)


@case("duplicate_indices", True, COUNTS, PRESSES)
def own_dup_helper_in_jit(counts, ids):
    @jax.jit
    def read(c, i):
        return c[i]

    old = read(counts, ids)
    return counts.at[ids].set(jnp.minimum(old + 1, 255))


@case("duplicate_indices", True, VALUES, jnp.array([0, 0, 1]), jnp.array([1.0, 2.0, 3.0]))
def own_dup_running_max(best, ids, scores):
    return best.at[ids].set(jnp.maximum(best[ids], scores + 100))


@case("duplicate_indices", True, COUNTS, jnp.array([4, -1]))
def own_dup_negative_alias(counts, ids):
    return counts.at[ids].set(counts[ids] + 1)


@case("duplicate_indices", True, {"seen": COUNTS, "sum": VALUES}, PRESSES)
def own_dup_dict_state(state, ids):
    seen = state["seen"]
    return {**state, "seen": seen.at[ids].set(seen.at[ids].get() + 1)}


# ------------------------------------------------------------ duplicate_indices: undefined winner
add("duplicate_indices", True, lambda x, i, v: x.at[i].set(v), jnp.zeros(3), PRESSES, VALUES)
add("duplicate_indices", True, lambda x, i: x.at[i].set(jnp.arange(5)), COUNTS, PRESSES)
add("duplicate_indices", True, lambda t, i, v: t.at[:, i].set(v), TABLE, jnp.array([1, 1]),
    jnp.arange(10.0).reshape(5, 2))  # fmt: skip


class Replay(NamedTuple):
    rows: jax.Array
    start: jax.Array


@case(
    "duplicate_indices", True, Replay(jnp.zeros((4, 2)), jnp.int32(2)), jnp.ones((6, 2)).cumsum(0)
)
@jax.jit
def own_dup_replay_buffer_smaller_than_batch(buffer, batch):
    slots = (buffer.start + jnp.arange(len(batch))) % len(buffer.rows)
    return Replay(buffer.rows.at[slots].set(batch), buffer.start + len(batch))


@case("duplicate_indices", True, jnp.array([12, 5, 20, 7]))
def own_dup_hash_table(keys):
    slots = keys % 8
    return jnp.full(8, -1).at[slots].set(keys)


@case("duplicate_indices", True, TABLE, jnp.array([2, 0, 0]), jnp.array([True, True, False]))
def own_dup_masked_write_with_padding(table, ids, is_valid):
    new = jnp.ones((3, 3)) * 50.0
    return table.at[ids].set(jnp.where(is_valid[:, None], new, table[ids]))


@case("duplicate_indices", True, jnp.array([0, 0, 1]))
def own_dup_gradient_of_winner(ids):
    def loss(values):
        return (jnp.zeros(2).at[ids].set(values) ** 2).sum()

    return jax.grad(loss)(jnp.array([1.0, 2.0, 3.0]))


@case("duplicate_indices", True, jnp.array([[0, 0], [1, 2]]), jnp.array([[1.0, 2.0], [3.0, 4.0]]))
def own_dup_vmap_scatter(ids, values):
    return jax.vmap(lambda i, v: jnp.zeros(3).at[i].set(v))(ids, values)


@case("duplicate_indices", True, jnp.array([1, 3, 1]))
def own_dup_positions_in_scan(targets):
    def step(image, target):
        rows = jnp.array([0, 0, 1])
        return image.at[rows, target].set(jnp.array([1.0, 2.0, 3.0])), None

    return lax.scan(step, GRID, targets)[0]


class Rasterizer:
    def __init__(self, size):
        self.size = size

    @functools.partial(jax.jit, static_argnums=0)
    def depth(self, points, depths):
        cells = (points * self.size).astype(jnp.int32)
        image = jnp.full((self.size, self.size), jnp.inf)
        return image.at[cells[:, 0], cells[:, 1]].set(depths)


add(
    "duplicate_indices",
    True,
    Rasterizer(4).depth,
    jnp.array([[0.1, 0.1], [0.2, 0.2], [0.9, 0.4]]),
    jnp.array([3.0, 1.0, 2.0]),
)
add("duplicate_indices", True, lambda x, i, v: jnp.put(x, i, v, inplace=False), jnp.zeros(5),
    PRESSES, VALUES)  # fmt: skip
add("duplicate_indices", True, lambda x, i, v: x.at[i].set(v, mode="clip"), jnp.zeros(3),
    jnp.array([2, 9]), jnp.array([1.0, 2.0]))  # fmt: skip


@case("duplicate_indices", True, jnp.array([1.0, jnp.nan, 3.0]), jnp.array([0, 1, 1]))
def own_dup_nan_and_number(values, ids):
    return jnp.zeros(2).at[ids].set(values)


# ------------------------------------------------------------ duplicate_indices: broken promises
add("duplicate_indices", True, lambda c, i: c.at[i].add(1, unique_indices=True), COUNTS, PRESSES)
add("duplicate_indices", True, lambda c, i: c.at[i].set(1, unique_indices=True), COUNTS, PRESSES)


@case("duplicate_indices", True, VALUES, PRESSES)
@jax.jit
def own_dup_promised_max(best, ids):
    return best.at[ids].max(jnp.arange(5.0), unique_indices=True, indices_are_sorted=False)


# ------------------------------------------------------------ duplicate_indices: correct programs
add("duplicate_indices", False, lambda c, i: c.at[i].add(1), COUNTS, PRESSES)
add("duplicate_indices", False, lambda c, i: c.at[i].set(c[i] + 1), COUNTS, ONCE)
add("duplicate_indices", False, lambda x, i: x.at[i].multiply(2.0), VALUES, PRESSES)
add("duplicate_indices", False, lambda x, i, v: x.at[i].max(v), VALUES, PRESSES, VALUES)
add("duplicate_indices", False, lambda x, i, v: x.at[i].min(v), VALUES, PRESSES, VALUES)
add("duplicate_indices", False, lambda s, i: s.at[i].set(True), FLAGS, PRESSES)
add("duplicate_indices", False, jax.jit(lambda x, i: x.at[i].set(jnp.nan)), VALUES, PRESSES)
add("duplicate_indices", False, lambda x, i: x.at[i].apply(lambda v: v + 1), VALUES, PRESSES)
add("duplicate_indices", False, lambda c, i: c.at[i].add(1, unique_indices=True), COUNTS, ONCE)


@case("duplicate_indices", False, jnp.array([0.1, 0.15, 0.7, 0.72, 0.11]))
def own_dup_histogram_ok(samples):
    bins = jnp.floor(samples * 10).astype(jnp.int32)
    return jnp.zeros(10, jnp.int32).at[bins].add(1)


@case("duplicate_indices", False, TABLE, PRESSES)
def own_dup_one_hot_ok(table, ids):
    return table + jax.nn.one_hot(ids, 5).sum(axis=0)[:, None]


@case("duplicate_indices", False, TABLE, PRESSES, jnp.ones((5, 3)))
@jax.jit
def own_dup_embedding_update_ok(table, ids, grads):
    return table.at[ids].add(-0.1 * grads)


@case("duplicate_indices", False, TABLE, PRESSES)
def own_dup_embedding_gradient_ok(table, ids):
    return table - 0.1 * jax.grad(lambda t: (t[ids] ** 2).sum())(table)


@case("duplicate_indices", False, jnp.array([4.0, 2.0, 8.0, 6.0]))
def own_dup_inverse_permutation_ok(x):
    order = jnp.argsort(x)
    return jnp.zeros(4, jnp.int32).at[order].set(jnp.arange(4))


@case(
    "duplicate_indices", False, Replay(jnp.zeros((8, 2)), jnp.int32(5)), jnp.ones((6, 2)).cumsum(0)
)
@jax.jit
def own_dup_replay_buffer_ok(buffer, batch):
    slots = (buffer.start + jnp.arange(len(batch))) % len(buffer.rows)
    return Replay(buffer.rows.at[slots].set(batch), buffer.start + len(batch))


@case("duplicate_indices", False, TABLE, jnp.array([2, 0, 9, 9]), jnp.ones((4, 3)).cumsum(0))
def own_dup_dropped_ok(table, ids, rows):
    return table.at[ids].set(rows, mode="drop")


@case("duplicate_indices", False, COUNTS, jnp.array([2, 7, 7]))
def own_dup_dropped_increments_ok(counts, ids):
    return counts.at[ids].set(counts.at[ids].get(mode="fill", fill_value=0) + 1, mode="drop")


@case("duplicate_indices", False, jnp.array([3, 1, 0, 0]), jnp.array([5.0, 6.0, 0.0, 0.0]))
def own_dup_equal_padding_ok(ids, values):
    return jnp.zeros(4).at[ids].set(values)


@case("duplicate_indices", False, jnp.array([2, 0, 0]), jnp.array([True, True, False]))
def own_dup_skipped_padding_ok(ids, is_valid):
    rows = jnp.arange(9.0).reshape(3, 3)
    return jnp.zeros((5, 3)).at[jnp.where(is_valid, ids, 5)].set(rows, mode="drop")


@case("duplicate_indices", False, jnp.array([1, 0, 1, 2]), jnp.array([True, True, False, False]))
def own_dup_extra_slot_ok(ids, is_valid):
    slots = jnp.where(is_valid, ids, 3)
    return jnp.zeros(4).at[slots].set(jnp.arange(4.0) + 1)[:3]


@case("duplicate_indices", False, VALUES)
def own_dup_boolean_mask_ok(x):
    return x.at[x > 8].set(0.0)


@case("duplicate_indices", False, VALUES, jnp.array([True, False, True, False, True]))
def own_dup_mask_increment_ok(x, mask):
    return x.at[:].set(jnp.where(mask, x + 1, x)).at[1:3].set(x[1:3] * 2)


add("duplicate_indices", False, lambda x: x.at[::2].set(x[::2] + 1), VALUES)
add("duplicate_indices", False, lambda x: x.at[0].set(x[0] + 1).at[0].set(x[0] + 2), VALUES)


@case("duplicate_indices", False, GRID, jnp.array([0, 0, 1]), jnp.array([1, 2, 2]))
def own_dup_distinct_pairs_ok(grid, rows, columns):
    return grid.at[rows, columns].set(grid[rows, columns] + jnp.arange(3.0))


@case("duplicate_indices", False, jnp.zeros((3, 4)), jnp.array([1, 1, 1]))
@jax.vmap
def own_dup_same_column_in_every_row_ok(row, i):
    return row.at[i].set(row[i] + 1.0)


@case("duplicate_indices", False, jnp.zeros((3, 4)), jnp.array([1, 1, 1]))
def own_dup_rows_and_columns_ok(table, columns):
    rows = jnp.arange(3)
    return table.at[rows, columns].set(table[rows, columns] + 1.0)


@case("duplicate_indices", False, COUNTS, PRESSES)
def own_dup_one_at_a_time_ok(counts, ids):
    return lax.scan(lambda c, i: (c.at[i].set(c[i] + 1), None), counts, ids)[0]


@case("duplicate_indices", False, COUNTS, PRESSES)
def own_dup_fori_slices_ok(counts, ids):
    def body(n, c):
        return lax.dynamic_update_slice(c, c[ids[n]][None] + 1, (ids[n],))

    return lax.fori_loop(0, len(ids), body, counts)


@case("duplicate_indices", False, COUNTS, PRESSES)
def own_dup_unique_first_ok(counts, ids):
    found, times = jnp.unique(ids, return_counts=True, size=5, fill_value=5)
    return counts.at[found].set(
        counts.at[found].get(mode="fill", fill_value=0) + times, mode="drop"
    )


@case("duplicate_indices", False, VALUES, PRESSES)
def own_dup_clipped_rows_ok(x, ids):
    return x.at[ids].set(jnp.clip(x[ids], 6.0, 8.0))


@case("duplicate_indices", False, VALUES, VALUES + 1, PRESSES)
def own_dup_copies_from_another_array_ok(old, new, ids):
    return old.at[ids].set(new[ids])


@case("duplicate_indices", False, VALUES, VALUES + 1, PRESSES)
def own_dup_moving_average_ok(mean, gradient, ids):
    return mean.at[ids].set(0.9 * mean[ids] + 0.1 * gradient[ids])


@case("duplicate_indices", False, COUNTS, ONCE, True)
def own_dup_cond_ok(counts, ids, is_training):
    def count(c):
        return c.at[ids].set(c[ids] + 1)

    return lax.cond(is_training, count, lambda c: c, counts)


@case("duplicate_indices", False, COUNTS, PRESSES, False)
def own_dup_branch_not_taken_ok(counts, ids, is_training):
    return lax.cond(is_training, lambda c: c.at[ids].set(c[ids] + 1), lambda c: c, counts)


@case("duplicate_indices", False, jnp.array([1.0, 2.0]), PRESSES)
def own_dup_gradient_of_mark_ok(x, ids):
    return jax.grad(lambda v: (jnp.full(5, v.sum()).at[ids].set(0.0) ** 2).sum())(x)


@case("duplicate_indices", False, jnp.array([2.0, 2.0, 3.0]))
def own_dup_library_functions_ok(x):
    found = jnp.unique(x, size=3)
    return found, jnp.bincount(x.astype(jnp.int32), length=5), jnp.histogram(x)[0], jnp.nonzero(
        x > 2, size=3
    )  # fmt: skip


@case("duplicate_indices", False, np.arange(5), jnp.array([0, 0, 3]))
def own_dup_segment_ok(values, groups):
    return jax.ops.segment_max(values[:3], groups, num_segments=4)


# ------------------------------------------------------------ an array that `vmap` does not map
BATCH = jnp.array([[0, 0, 1], [2, 2, 2], [3, 1, 1]])


def _count(ids):
    counts = jnp.zeros(4)
    return counts.at[ids].set(counts[ids] + 1)


def _count_pairs(table, rows, columns):
    return table.at[rows, columns].set(table[rows, columns] + 1)


add("duplicate_indices", True, jax.vmap(_count), BATCH)
add("duplicate_indices", True, jax.vmap(jax.vmap(_count)), BATCH[None])
add("duplicate_indices", False, jax.vmap(_count), jnp.array([[0, 2, 1], [3, 1, 0]]))
add(
    "duplicate_indices",
    True,
    jax.vmap(_count_pairs, in_axes=(None, None, 0)),
    jnp.zeros((2, 4)),
    jnp.array([0, 1, 1]),
    BATCH,
)


@case("duplicate_indices", False, jnp.arange(5.0), PRESSES)
def own_dup_rows_of_repeated_array_ok(x, ids):
    """The row that is written is not the element that was read."""
    return jnp.broadcast_to(x, (5, 5)).at[ids].set(x[ids][:, None] + 1)
