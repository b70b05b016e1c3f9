"""Labeled cases used to tune duplicate_indices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()


WORDS = jnp.array([4, 2, 4, 4, 0])
EDGES = jnp.array([[0, 1], [1, 2], [2, 1], [0, 2]])
COUNTS = jnp.zeros(6, jnp.int32)
ROWS = jnp.arange(12.0).reshape(6, 2)


# ------------------------------------------------------------ duplicate_indices
@case("duplicate_indices", True, WORDS)
def dup_word_counts(words):
    counts = jnp.zeros(6)
    return counts.at[words].set(counts[words] + 1.0) / len(words)


@case("duplicate_indices", True, jnp.zeros(3), EDGES)
@jax.jit
def dup_node_degrees(degrees, edges):
    sources, targets = edges.T
    degrees = degrees.at[sources].set(degrees[sources] + 1)
    return degrees.at[targets].set(degrees[targets] + 1)


@case("duplicate_indices", True, {"visits": COUNTS, "reward": jnp.zeros(6)}, WORDS)
def dup_bandit_step(state, arms):
    rewards = jnp.linspace(0.0, 1.0, len(arms))
    visits = state["visits"].at[arms].set(state["visits"][arms] + 1)
    reward = state["reward"].at[arms].add(rewards)
    return {"visits": visits, "reward": reward}


@case("duplicate_indices", True, ROWS, jnp.array([0, 3, 3]), jnp.ones((3, 2)))
def dup_momentum_of_rows(momentum, ids, grads):
    grads = grads * jnp.arange(1.0, 4.0)[:, None]
    return momentum.at[ids].set(0.9 * momentum[ids] + 0.1 * grads)


@case("duplicate_indices", True, COUNTS, WORDS)
def dup_while(counts, words):
    def body(state):
        n, counts = state
        return n + 1, counts.at[words].set(counts[words] + n)

    return lax.while_loop(lambda state: state[0] < 4, body, (1, counts))[1]


@case("duplicate_indices", True, jnp.array([0.5, 0.2, 0.9]), jnp.array([7, 3, 7]))
def dup_last_price(prices, items):
    return jnp.full(10, jnp.nan).at[items].set(prices)[items].sum()


@case("duplicate_indices", True, COUNTS, jnp.array([1, 0, 0]), jnp.array([True, True, False]))
def dup_increment_with_mask(counts, ids, is_valid):
    return counts.at[ids].set(jnp.where(is_valid, counts[ids] + 1, counts[ids]))


@case("duplicate_indices", True, WORDS)
def dup_first_occurrence(words):
    return jnp.full(6, -1).at[words].set(jnp.arange(len(words)))


@case("duplicate_indices", False, WORDS)
def dup_word_counts_ok(words):
    return jnp.zeros(6).at[words].add(1.0) / len(words)


@case("duplicate_indices", False, WORDS)
def dup_first_occurrence_ok(words):
    return jnp.full(6, len(words)).at[words].min(jnp.arange(len(words)))


@case("duplicate_indices", False, COUNTS, jnp.array([1, 0, 0]), jnp.array([True, False, False]))
def dup_increment_with_mask_ok(counts, ids, is_valid):
    return counts.at[ids].set(jnp.where(is_valid, counts[ids] + 1, counts[ids]))


@case("duplicate_indices", False, WORDS)
def dup_bitmap_ok(words):
    return jnp.zeros(6, jnp.uint8).at[words].set(1).sum()


@case("duplicate_indices", False, ROWS, WORDS)
def dup_reset_rows_ok(rows, ids):
    return rows.at[ids].set(jnp.zeros(2))


@case("duplicate_indices", False, ROWS, jnp.array([5, 0, 2]))
def dup_swap_ok(rows, ids):
    return rows.at[ids].set(rows[ids[::-1]])


@case("duplicate_indices", False, ROWS, WORDS)
def dup_normalize_all_ok(rows, ids):
    used = jnp.zeros(6, bool).at[ids].set(True)
    return jnp.where(used[:, None], rows / 2, rows)


@case("duplicate_indices", False, jnp.arange(6.0), WORDS)
def dup_value_that_does_not_matter_ok(x, ids):
    return jnp.sum(x.at[ids].set(jnp.arange(5.0)) * 0)
