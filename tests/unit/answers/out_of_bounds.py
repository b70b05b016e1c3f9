"""Answers to the exercises of *Out-of-bounds indexing*: foreseen mistakes, and other right ones."""

import jax
import jax.numpy as jnp
import optax

from jaxbits.exercises import exercises


def python_guard(table, i, default):
    if i < 0 or i >= len(table):
        return default
    return table[i]


def losses(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


def masked(logits, labels):
    return jnp.where(labels >= 0, losses(logits, labels), 0.0)


def naive(logits, labels):
    known = (labels >= 0) & (labels < 4)
    p = jax.nn.softmax(logits)[jnp.arange(3), jnp.where(known, labels, 0)]
    return jnp.where(known, -jnp.log(p), 0.0).sum() / jnp.maximum(known.sum(), 1)


SOLUTION = exercises()["out-of-bounds/2"].solution


def slide(x, start, size):
    return jax.lax.dynamic_slice(x, (start,), (size,))


def masked_mean(logits, labels):
    known = (labels >= 0) & (labels < logits.shape[1])
    total = losses(logits, jnp.clip(labels, 0, logits.shape[1] - 1)).sum(where=known)
    return total / jnp.maximum(known.sum(), 1)


WRONG = {
    "out-of-bounds/1": [
        (lambda table, i, default: table[i], "must return -1.0, got 30.0"),
        (
            lambda table, i, default: table.at[i].get(mode="fill", fill_value=default),
            "a negative index has no row here",
        ),
        (python_guard, "under jit, python_guard(table=["),
        (
            lambda table, i, default: jnp.where((i >= 0) & (i < 3), table[i], default),
            "this table has five rows",
        ),
        (
            lambda table, i, default: jnp.nan_to_num(
                table.at[i].get(mode="fill", wrap_negative_indices=False), nan=default
            ),
            "a NaN in the table stays one",
        ),
    ],
    "out-of-bounds/2": [
        (lambda s, labels: losses(s, labels).mean(), "a label of -100 is not a class"),
        (lambda s, labels: masked(s, labels).mean(), "divides by 3"),
        (lambda s, labels: jnp.nanmean(losses(s, labels)), "a label of -1 is no class"),
        (
            lambda s, labels: masked(s, labels).sum() / (labels >= 0).sum(),
            "4 classes end at label 3",
        ),
        (
            lambda s, labels: jax.lax.stop_gradient(SOLUTION(s, labels)),
            "gradient is wrong in the rows kept",
        ),
        (lambda s, labels: naive(s, labels), "large logits are no infinity"),
    ],
    "out-of-bounds/3": [
        (slide, "slid back into the array"),
        (lambda x, start, size: x[start : start + size], "must return [4.0, 5.0, nan]"),
        (
            lambda x, start, size: jnp.take(x, start + jnp.arange(size), fill_value=jnp.nan),
            "no element before the first",
        ),
        (
            lambda x, start, size: jax.lax.dynamic_slice(
                jnp.pad(x, size, constant_values=jnp.nan), (start + size,), (size,)
            ),
            "that is before the first element",
        ),
    ],
}
RIGHT = [
    ("out-of-bounds/2", masked_mean),
    (
        "out-of-bounds/1",
        lambda table, i, default: jnp.where(
            (i < 0) | (i >= len(table)), default, table[jnp.clip(i, 0, len(table) - 1)]
        ),
    ),
]
