"""Right and wrong answers to the exercises on lists or arrays."""

import jax
import jax.numpy as jnp
import numpy as np


def list_float64_settings(f, settings):
    return [n for n, v in settings.items() if getattr(v, "dtype", None) == jnp.float64]


def convert_one_setting(f, settings):
    return [
        name
        for name in settings
        if jax.eval_shape(f, settings | {name: float(settings[name])}).dtype != jnp.float64
    ]


def compute_each(f, settings):
    plain = {name: float(number) for name, number in settings.items()}
    return [n for n, v in settings.items() if f(plain | {n: v}).dtype == jnp.float64]


def compute_each_under_jit(f, settings):
    return compute_each(jax.jit(f), settings)


def trace_closure(f, settings):
    plain = {name: float(number) for name, number in settings.items()}
    return [
        n
        for n in settings
        if jax.eval_shape(lambda n=n: f(plain | {n: settings[n]})).dtype == jnp.float64
    ]


def convert_in_place(settings, dtype):
    for name, value in settings.items():
        settings[name] = (
            convert_in_place(value, dtype) if isinstance(value, dict) else jnp.asarray(value, dtype)
        )
    return settings


def sort_names(f, settings):
    plain = {name: float(number) for name, number in settings.items()}
    return sorted(
        n for n, v in settings.items() if jax.eval_shape(f, plain | {n: v}).dtype == jnp.float64
    )


def keep_other_arrays(f, settings):
    return [n for n in settings if jax.eval_shape(f, settings).dtype == jnp.float64]


def modify_settings(f, settings):
    found = []
    for name, number in list(settings.items()):
        for other in settings:
            settings[other] = float(settings[other])
        settings[name] = number
        if jax.eval_shape(f, settings).dtype == jnp.float64:
            found.append(name)
    return found


def use_make_jaxpr(f, settings):
    found = []
    for name in settings:
        given = {n: v if n == name else float(v) for n, v in settings.items()}
        if jax.make_jaxpr(f)(given).out_avals[0].dtype == "float64":
            found.append(name)
    return tuple(found)


def use_jit_eval_shape(f, settings):
    plain = dict.fromkeys(settings, 1.0)
    wide = jnp.dtype("float64")
    return [n for n in settings if jax.jit(f).eval_shape({**plain, n: settings[n]}).dtype == wide]


def use_result_type(f, settings):
    return [n for n, v in settings.items() if jnp.result_type(v, jnp.float32) == jnp.float64]


def set_others_to_zero(f, settings):
    zeros = {name: 0 * number for name, number in settings.items()}
    return [
        n for n, v in settings.items() if jax.eval_shape(f, zeros | {n: v}).dtype == jnp.float64
    ]


def recurse_into_dicts(settings, dtype):
    """Recurse into nested dicts, and create each scalar with `jnp.full`."""
    return {
        name: recurse_into_dicts(value, dtype)
        if isinstance(value, dict)
        else jnp.full((), value, dtype)
        for name, value in settings.items()
    }


def round_to_bfloat16(settings, dtype):
    return jax.tree.map(lambda n: jnp.asarray(n, "bfloat16").astype(dtype), settings)


def return_numpy(settings, dtype):
    return jax.tree.map(lambda n: np.asarray(n, dtype), settings)


def use_spacing_of_smaller(a, b):
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return np.max(np.abs(a - b) / np.spacing(np.minimum(np.abs(a), np.abs(b))))


def use_spacing_of_first(a, b):
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return np.max(np.abs(a - b) / np.spacing(np.abs(a)))


def use_signed_spacing(a, b):
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return np.max(np.abs(a - b) / np.spacing(np.maximum(a, b)))


def use_largest_spacing(a, b):
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return np.max(np.abs(a - b)) / np.spacing(np.max(np.abs(a)))


def use_nextafter(a, b):
    """Measure the spacing outward from the larger magnitude, without `np.spacing`."""
    size = np.maximum(np.abs(np.asarray(a)), np.abs(np.asarray(b))).astype(np.float32)
    step = np.nextafter(size, np.float32(np.inf)).astype(np.float64) - size
    return (np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)) / step).max()


def use_frexp(a, b):
    a, b = (np.asarray(x, np.float64) for x in (a, b))
    _, exponent = np.frexp(np.maximum(abs(a), abs(b)))
    return jnp.max(abs(a - b) * 2.0 ** (24 - exponent))


def use_absolute_epsilon(a, b):
    return np.max(np.abs(a - b) / np.finfo(np.float32).eps)


def use_relative_epsilon(a, b):
    return np.max(np.abs(a - b) / (np.abs(a) * np.finfo(np.float32).eps))


def compare_bit_patterns(a, b):
    """Count steps in the bit patterns, which are consecutive for neighbors of the same sign."""
    a, b = (np.asarray(x, np.float32).view(np.int32).astype(np.int64) for x in (a, b))
    return np.max(np.abs(a - b))


def return_mean(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return np.mean(np.abs(a - b) / np.spacing(np.maximum(np.abs(a), np.abs(b))))


def keep_sign(a, b):
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
            "['noise']['scale'] must have shape (), got (1,)",
        ),
        (lambda settings, dtype: jax.tree.map(lambda n: n.astype(dtype), settings), "has no"),
        (lambda settings, dtype: jax.tree.leaves(settings), "a nested dict with the same keys"),
        (
            lambda settings, dtype: {
                g: {n: jnp.asarray(v, dtype) for n, v in numbers.items()}
                for g, numbers in settings.items()
            },
            "settings is nested; `jax.tree.map` reaches the inner numbers.",
        ),
        (
            lambda settings, dtype: {n: v.astype(dtype) for n, v in settings.items()},
            "settings is nested; `jax.tree.map` reaches the inner numbers.",
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
        (convert_in_place, "your function modifies its argument in place; return a new dict"),
        (round_to_bfloat16, "['wave']['gamma'] must be 0.1, got 0.100098"),
        (return_numpy, "['noise']['scale'] must be a JAX array, got a NumPy float32"),
    ],
    "lists-or-arrays/2": [
        (list_float64_settings, "f does not use it"),
        (
            convert_one_setting,
            "'shift' is missing. It makes the result float64 even if all other numbers are plain "
            "Python floats",
        ),
        (
            compute_each,
            "your function evaluates f, but jax.eval_shape returns the dtype without doing so",
        ),
        (
            compute_each_under_jit,
            "your function evaluates f, but jax.eval_shape returns the dtype without doing so",
        ),
        (sort_names, "in the order of settings"),
        (modify_settings, "your function modifies its settings argument in place"),
        (use_result_type, "f does not use it"),
        (set_others_to_zero, "is not a culprit"),
        (
            lambda f, settings: "shift",
            "the result must be a list of names in settings, got 'shift'",
        ),
        (keep_other_arrays, "f does not use it"),
        (lambda f, settings: ["shift"], "'power' is missing"),
    ],
    "lists-or-arrays/3": [
        (
            use_absolute_epsilon,
            "for 0.75 and the next float32 away from 0, the result must be 1, got 0.5",
        ),
        (
            use_relative_epsilon,
            "for 0.75 and the next float32 away from 0, the result must be 1, got 0.6667",
        ),
        (
            return_mean,
            "for four numbers, one of which is two steps away, the result must be 2, got 0.75",
        ),
        (
            keep_sign,
            "for 0.75 and the next float32 away from 0, in reverse order, the result must be 1, "
            "got -1",
        ),
        (lambda a, b: a == b, "the result must be a number, got [True, True, True, True]"),
        (
            compare_bit_patterns,
            "for 1 and the next float32 below it, the result must be 0.5, got 1",
        ),
        (use_spacing_of_smaller, "the spacing at the larger of the two"),
        (use_spacing_of_first, "the spacing at the larger of the two"),
        (
            use_signed_spacing,
            "for -1.5 and the next float32 away from 0, the result must be 1, got -1",
        ),
        (
            use_largest_spacing,
            "for four numbers, one of which is two steps away, the result must be 2, got 1",
        ),
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
    ("lists-or-arrays/2", trace_closure),
    ("lists-or-arrays/1", recurse_into_dicts),
    ("lists-or-arrays/2", use_make_jaxpr),
    ("lists-or-arrays/2", use_jit_eval_shape),
    ("lists-or-arrays/3", use_nextafter),
    ("lists-or-arrays/3", use_frexp),
]
