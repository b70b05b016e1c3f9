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


def put_back_in_place(f, settings):
    found = []
    for name, number in list(settings.items()):
        for other in settings:
            settings[other] = float(settings[other])
        settings[name] = number
        if jax.eval_shape(f, settings).dtype == jnp.float64:
            found.append(name)
    return found


def by_make_jaxpr(f, settings):
    found = []
    for name in settings:
        given = {n: v if n == name else float(v) for n, v in settings.items()}
        if jax.make_jaxpr(f)(given).out_avals[0].dtype == "float64":
            found.append(name)
    return tuple(found)


def by_lowering(f, settings):
    plain = dict.fromkeys(settings, 1.0)
    wide = jnp.dtype("float64")
    return [n for n in settings if jax.jit(f).eval_shape({**plain, n: settings[n]}).dtype == wide]


def by_result_type(f, settings):
    return [n for n, v in settings.items() if jnp.result_type(v, jnp.float32) == jnp.float64]


def others_zero(f, settings):
    zeros = {name: 0 * number for name, number in settings.items()}
    return [
        n for n, v in settings.items() if jax.eval_shape(f, zeros | {n: v}).dtype == jnp.float64
    ]


def by_hand(settings, dtype):
    """Recurse, and build each scalar from its value alone."""
    return {
        name: by_hand(value, dtype) if isinstance(value, dict) else jnp.full((), value, dtype)
        for name, value in settings.items()
    }


def in_half_first(settings, dtype):
    return jax.tree.map(lambda n: jnp.asarray(n, "bfloat16").astype(dtype), settings)


def by_numpy(settings, dtype):
    return jax.tree.map(lambda n: np.asarray(n, dtype), settings)


def by_spacing_of_the_smaller(a, b):
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return np.max(np.abs(a - b) / np.spacing(np.minimum(np.abs(a), np.abs(b))))


def by_spacing_of_the_first(a, b):
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return np.max(np.abs(a - b) / np.spacing(np.abs(a)))


def by_spacing_with_a_sign(a, b):
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return np.max(np.abs(a - b) / np.spacing(np.maximum(a, b)))


def by_norm(a, b):
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return np.max(np.abs(a - b)) / np.spacing(np.max(np.abs(a)))


def by_nextafter(a, b):
    """Take the step outward from the larger of the two, in float64 and without np.spacing."""
    size = np.maximum(np.abs(np.asarray(a)), np.abs(np.asarray(b))).astype(np.float32)
    step = np.nextafter(size, np.float32(np.inf)).astype(np.float64) - size
    return (np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)) / step).max()


def by_frexp(a, b):
    a, b = (np.asarray(x, np.float64) for x in (a, b))
    _, exponent = np.frexp(np.maximum(abs(a), abs(b)))
    return jnp.max(abs(a - b) * 2.0 ** (24 - exponent))


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
        (
            lambda settings, dtype: jax.tree.map(jnp.array, settings),
            "['noise']['scale'], which was a Python int, must be float32, got int32",
        ),
        (
            lambda settings, dtype: jax.tree.map(float, settings),
            "['noise']['scale'] must be a JAX array, got a Python float",
        ),
        (
            lambda settings, dtype: jax.tree.map(lambda n: jnp.full(1, n, dtype), settings),
            "['noise']['scale'] must have the shape (), got (1,)",
        ),
        (lambda settings, dtype: jax.tree.map(lambda n: n.astype(dtype), settings), "has no"),
        (lambda settings, dtype: jax.tree.leaves(settings), "a nested dict with the same keys"),
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
            "['noise']['scale'] must be 2, got 1.9999",
        ),
        (
            lambda settings, dtype: jax.tree.map(lambda n: jnp.array(float(n)), settings),
            "has a weak type",
        ),
        (
            lambda settings, dtype: jax.tree.map(
                lambda n: jnp.asarray(n, "float32").astype(dtype), settings
            ),
            "with x64 on, ['wave']['gamma'] has fewer digits than float64 can store",
        ),
        (in_place, "your function modifies its argument in place; return a new dict"),
        (in_half_first, "['wave']['gamma'] must be 0.1, got 0.100098"),
        (by_numpy, "['noise']['scale'] must be a JAX array, got a NumPy float32"),
    ],
    "lists-or-arrays/2": [
        (float64_ones, "f does not use it"),
        (
            all_but_one,
            "'shift' is missing. It makes the result float64 even if all others are plain Python "
            "floats",
        ),
        (
            by_computing,
            "your function computes f, but jax.eval_shape returns the dtype without computing",
        ),
        (
            by_computing_under_jit,
            "your function computes f, but jax.eval_shape returns the dtype without computing",
        ),
        (sorted_names, "the order in settings"),
        (put_back_in_place, "your function modifies its settings argument in place"),
        (by_result_type, "f does not use it"),
        (others_zero, "is not a culprit"),
        (
            lambda f, settings: "shift",
            "the result must be a list of names of the settings, got 'shift'",
        ),
        (with_others_left, "f does not use it"),
        (lambda f, settings: ["shift"], "'power' is missing"),
    ],
    "lists-or-arrays/3": [
        (by_epsilon, "for 0.75 and the next float32 away from 0, the result must be 1, got 0.5"),
        (relative, "for 0.75 and the next float32 away from 0, the result must be 1, got 0.6667"),
        (
            mean_of_them,
            "for four numbers, of which one is two steps away, the result must be 2, got 0.75",
        ),
        (
            signed,
            "for 0.75 and the next float32 away from 0, in the other order, the result must be 1, "
            "got -1",
        ),
        (lambda a, b: a == b, "the result must be a number, got [True, True, True, True]"),
        (by_bits, "for 1 and the next float32 below it, the result must be 0.5, got 1"),
        (by_spacing_of_the_smaller, "the spacing at the larger of the two"),
        (by_spacing_of_the_first, "the spacing at the larger of the two"),
        (
            by_spacing_with_a_sign,
            "for -1.5 and the next float32 away from 0, the result must be 1, got -1",
        ),
        (by_norm, "for four numbers, of which one is two steps away, the result must be 2, got 1"),
        (
            lambda a, b: np.abs(np.asarray(a) - b).max(),
            "for 0.75 and the next float32 away from 0, the result must be 1, got 5.96e-08",
        ),
    ],
}
RIGHT = [
    (
        "lists-or-arrays/1",
        lambda settings, dtype: jax.tree.map(lambda n: jnp.array(n).astype(dtype), settings),
    ),
    ("lists-or-arrays/2", by_tracing_a_closure),
    ("lists-or-arrays/1", by_hand),
    ("lists-or-arrays/2", by_make_jaxpr),
    ("lists-or-arrays/2", by_lowering),
    ("lists-or-arrays/3", by_nextafter),
    ("lists-or-arrays/3", by_frexp),
]
