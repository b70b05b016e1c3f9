"""Answers to the exercises of *Lists or arrays?*: mistakes, and right ones."""

import jax
import jax.numpy as jnp
import numpy as np


def float64_ones(f, settings):
    return [n for n, v in settings.items() if getattr(v, "dtype", None) == jnp.float64]


def all_but_one(f, settings):
    return [
        name
        for name in settings
        if jax.eval_shape(f, settings | {name: float(settings[name])}).dtype != jnp.float64
    ]


def by_computing(f, settings):
    plain = {name: float(number) for name, number in settings.items()}
    return [n for n, v in settings.items() if f(plain | {n: v}).dtype == jnp.float64]


def by_computing_under_jit(f, settings):
    return by_computing(jax.jit(f), settings)


def by_tracing_a_closure(f, settings):
    plain = {name: float(number) for name, number in settings.items()}
    return [
        n
        for n in settings
        if jax.eval_shape(lambda n=n: f(plain | {n: settings[n]})).dtype == jnp.float64
    ]


def in_place(settings, dtype):
    for name, value in settings.items():
        settings[name] = (
            in_place(value, dtype) if isinstance(value, dict) else jnp.asarray(value, dtype)
        )
    return settings


def sorted_names(f, settings):
    plain = {name: float(number) for name, number in settings.items()}
    return sorted(
        n for n, v in settings.items() if jax.eval_shape(f, plain | {n: v}).dtype == jnp.float64
    )


def with_others_left(f, settings):
    return [n for n in settings if jax.eval_shape(f, settings).dtype == jnp.float64]


def by_epsilon(a, b):
    return np.max(np.abs(a - b) / np.finfo(np.float32).eps)


def relative(a, b):
    return np.max(np.abs(a - b) / (np.abs(a) * np.finfo(np.float32).eps))


def by_bits(a, b):
    """Neighbours of one sign have neighbouring bits."""
    a, b = (np.asarray(x, np.float32).view(np.int32).astype(np.int64) for x in (a, b))
    return np.max(np.abs(a - b))


def mean_of_them(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return np.mean(np.abs(a - b) / np.spacing(np.maximum(np.abs(a), np.abs(b))))


def signed(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return np.max((b - a) / np.spacing(np.maximum(a, b)))


WRONG = {
    "lists-or-arrays/1": [
        (lambda settings, dtype: jax.tree.map(jnp.array, settings), "should be"),
        (lambda settings, dtype: jax.tree.map(float, settings), "should be a JAX array"),
        (
            lambda settings, dtype: jax.tree.map(lambda n: jnp.full(1, n, dtype), settings),
            "should be a single number",
        ),
        (lambda settings, dtype: jax.tree.map(lambda n: n.astype(dtype), settings), "has no"),
        (lambda settings, dtype: jax.tree.leaves(settings), "another tree"),
        (
            lambda settings, dtype: {
                g: {n: jnp.asarray(v, dtype) for n, v in numbers.items()}
                for g, numbers in settings.items()
            },
            "raises TypeError",
        ),
        (
            lambda settings, dtype: jax.tree.map(
                lambda n: jnp.asarray(float(n), "float32").astype(dtype) * 2 / 2.0001, settings
            ),
            "should be",
        ),
        (lambda settings, dtype: jax.tree.map(lambda n: jnp.array(float(n)), settings), "is weak"),
        (
            lambda settings, dtype: jax.tree.map(
                lambda n: jnp.asarray(n, "float32").astype(dtype), settings
            ),
            "should be 0.1",
        ),
        (in_place, "changes the dict"),
    ],
    "lists-or-arrays/2": [
        (float64_ones, "f does not use it"),
        (all_but_one, "'shift' is missing"),
        (by_computing, "it computes f"),
        (by_computing_under_jit, "it computes f"),
        (sorted_names, "in their order"),
        (with_others_left, "f does not use it"),
        (lambda f, settings: ["shift"], "'power' is missing"),
    ],
    "lists-or-arrays/3": [
        (by_epsilon, "should be 1"),
        (relative, "should be 1"),
        (mean_of_them, "should be 2"),
        (signed, "should be 1"),
        (lambda a, b: a == b, "should be a number"),
    ],
}
RIGHT = [
    (
        "lists-or-arrays/1",
        lambda settings, dtype: jax.tree.map(lambda n: jnp.array(n).astype(dtype), settings),
    ),
    ("lists-or-arrays/2", by_tracing_a_closure),
    ("lists-or-arrays/3", by_bits),
]
