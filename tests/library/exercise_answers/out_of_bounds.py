"""Right and wrong answers to the exercises on out-of-bounds indexing."""

import jax
import jax.numpy as jnp
import optax

from jaxbits.book.exercises import all_exercises


def python_guard(table, i, default):
    if i < 0 or i >= len(table):
        return default
    return table[i]


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


def mask_negative_labels(logits, labels):
    return jnp.where(labels >= 0, cross_entropy(logits, labels), 0.0)


def log_of_softmax(logits, labels):
    known = (labels >= 0) & (labels < 4)
    p = jax.nn.softmax(logits)[jnp.arange(3), jnp.where(known, labels, 0)]
    return jnp.where(known, -jnp.log(p), 0.0).sum() / jnp.maximum(known.sum(), 1)


def take_clipped(table, i, default):
    return jnp.where(i < 0, default, jnp.take(table, i, mode="clip"))


SOLUTION = all_exercises()["out-of-bounds/2"].solution


def read_at_unknown_label(logits, labels):
    known = (labels >= 0) & (labels < logits.shape[1])
    log_p = jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels]
    return -jnp.where(known, log_p, 0.0).sum() / jnp.maximum(known.sum(), 1)


def multiply_by_zero(logits, labels):
    known = (labels >= 0) & (labels < logits.shape[1])
    return (cross_entropy(logits, labels) * known).sum() / jnp.maximum(known.sum(), 1)


def ignore_only_minus_100(logits, labels):
    known = labels != -100
    each = cross_entropy(logits, jnp.where(known, labels, 0))
    return jnp.where(known, each, 0.0).sum() / jnp.maximum(known.sum(), 1)


def return_nan_without_labels(logits, labels):
    known = (labels >= 0) & (labels < logits.shape[1])
    return cross_entropy(logits, jnp.where(known, labels, 0)).mean(where=known)


def use_one_hot(logits, labels):
    # `one_hot` returns a row of zeros for an out-of-range label.
    table = jax.nn.one_hot(labels, logits.shape[1])
    return -(table * jax.nn.log_softmax(logits)).sum() / jnp.maximum(table.sum(), 1)


def use_fill_mode(logits, labels):
    known = (labels >= 0) & (labels < logits.shape[1])
    log_p = jax.nn.log_softmax(logits).at[jnp.arange(len(labels)), labels].get(mode="fill")
    return -jnp.where(known, log_p, 0.0).sum() / jnp.maximum(known.sum(), 1)


def append_default(table, i, default):
    return jnp.take(jnp.append(table, default), jnp.where(i < 0, len(table), i), mode="clip")


def use_isin(table, i, default):
    inside = jnp.isin(i, jnp.arange(len(table)))
    return jnp.where(inside, table[jnp.where(inside, i, 0)], default)


def use_dynamic_slice(x, start, size):
    return jax.lax.dynamic_slice(x, (start,), (size,))


def masked_mean(logits, labels):
    known = (labels >= 0) & (labels < logits.shape[1])
    total = cross_entropy(logits, jnp.clip(labels, 0, logits.shape[1] - 1)).sum(where=known)
    return total / jnp.maximum(known.sum(), 1)


def compare_indices(x, start, size):
    at = start + jnp.arange(size)
    return jnp.where((at >= 0) & (at < len(x)), x[jnp.clip(at, 0, len(x) - 1)], jnp.nan)


def pad_both_sides(x, start, size):
    padded = jnp.pad(x, size, constant_values=jnp.nan)
    return jax.lax.dynamic_slice(padded, (jnp.clip(start, -size, len(x)) + size,), (size,))


def clip_indices(x, start, size):
    return x[jnp.clip(start + jnp.arange(size), 0, len(x) - 1)]


def by_python_numbers(x, start, size):
    found = [x[k] if 0 <= k < len(x) else jnp.nan for k in range(start, start + size)]
    return jnp.stack(jnp.asarray(found))


WRONG = {
    "out-of-bounds/1": [
        (lambda table, i, default: table[i], "must return -1.0, got 30.0"),
        (
            lambda table, i, default: table.at[i].get(mode="fill", fill_value=default),
            "a negative index is not in the table",
        ),
        (
            lambda table, i, default: jnp.take(table, i, fill_value=default),
            "a negative index is not",
        ),
        (take_clipped, "must return -1.0, got 30.0"),
        (python_guard, "under jit, python_guard(table=["),
        (
            lambda table, i, default: jnp.where((i >= 0) & (i < 3), table[i], default),
            "this table has five rows",
        ),
        (
            lambda table, i, default: jnp.nan_to_num(
                table.at[i].get(mode="fill", wrap_negative_indices=False), nan=default
            ),
            "a NaN in the table must stay NaN",
        ),
    ],
    "out-of-bounds/2": [
        (lambda s, labels: cross_entropy(s, labels).mean(), "a label of -100 is not a class"),
        (lambda s, labels: mask_negative_labels(s, labels).mean(), "divides by 3"),
        (lambda s, labels: jnp.nanmean(cross_entropy(s, labels)), "a label of -1 is not a class"),
        (
            lambda s, labels: mask_negative_labels(s, labels).sum() / (labels >= 0).sum(),
            "the last class is 3",
        ),
        (
            lambda s, labels: jax.lax.stop_gradient(SOLUTION(s, labels)),
            "with a label of -100 in row 1, the gradient for row 0 must be",
        ),
        (
            read_at_unknown_label,
            "your function reads at the label -100 and discards the result",
        ),
        (multiply_by_zero, "got nan: 0 times NaN is NaN, unless XLA happens"),
        (ignore_only_minus_100, "a label of -1 is not a class"),
        (return_nan_without_labels, "must return 0.0, got nan: no label is a class"),
        (
            lambda s, labels: log_of_softmax(s, labels),
            "a large logit must not overflow to infinity; use log_softmax",
        ),
    ],
    "out-of-bounds/3": [
        (use_dynamic_slice, "it was shifted into the array"),
        (clip_indices, "must return [4.0, 5.0, nan], got [4.0, 5.0, 5.0]"),
        (by_python_numbers, "with a traced start, by_python_numbers(x=["),
        (lambda x, start, size: x[start : start + size], "must return [4.0, 5.0, nan]"),
        (
            lambda x, start, size: jnp.take(x, start + jnp.arange(size), fill_value=jnp.nan),
            "x has nothing before its first element",
        ),
        (
            lambda x, start, size: jax.lax.dynamic_slice(
                jnp.pad(x, size, constant_values=jnp.nan), (start + size,), (size,)
            ),
            "start=-10, size=2) must return [nan, nan], got [nan, 1.0]",
        ),
    ],
}
RIGHT = [
    ("out-of-bounds/1", append_default),
    ("out-of-bounds/1", use_isin),
    ("out-of-bounds/2", use_one_hot),
    ("out-of-bounds/2", use_fill_mode),
    ("out-of-bounds/3", compare_indices),
    ("out-of-bounds/3", pad_both_sides),
    ("out-of-bounds/2", masked_mean),
    (
        "out-of-bounds/1",
        lambda table, i, default: jnp.where(
            (i < 0) | (i >= len(table)), default, table[jnp.clip(i, 0, len(table) - 1)]
        ),
    ),
]
