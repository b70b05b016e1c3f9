"""Right and wrong answers to the exercises on precision."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxbits import x64_on


def enable_x64_globally(stamps):
    jax.config.update("jax_enable_x64", True)
    return jnp.asarray(stamps - stamps[0])


def squeeze_both(predictions, targets):
    return jnp.mean((jnp.squeeze(predictions) - jnp.squeeze(targets)) ** 2)


def reshape_without_cast(predictions, targets):
    if predictions.size != targets.size:
        raise ValueError("different numbers of values")
    return jnp.mean((predictions.reshape(-1) - targets.reshape(-1)) ** 2)


def cast_after_subtracting(predictions, targets):
    return mean_of_squares(lambda p, t: (p - t).astype(jnp.float32), predictions, targets)


def mean_of_squares(errors_of, predictions, targets):
    predictions, targets = jnp.ravel(predictions), jnp.ravel(targets)
    if predictions.size != targets.size:
        raise ValueError("different numbers of values")
    return jnp.mean(errors_of(predictions, targets) ** 2)


def assert_instead_of_raise(predictions, targets):
    assert predictions.size == targets.size
    return jnp.mean((jnp.ravel(predictions) - jnp.ravel(targets)) ** 2)


def reshape_to_targets(predictions, targets):
    errors = predictions.reshape(targets.shape).astype(jnp.float32) - targets.astype(jnp.float32)
    return jnp.mean(errors**2)


def as_columns(predictions, targets):
    """Reshape both arrays to the shape (n, 1)."""
    columns = [
        (a if a.ndim == 2 else a[:, None]).astype(jnp.float32) for a in (predictions, targets)
    ]
    if len(columns[0]) != len(columns[1]):
        raise ValueError("different numbers of values")
    return jnp.square(columns[0] - columns[1]).sum() / len(columns[0])


def use_lookup_table(image, amount):
    """Look up each pixel in a table of the results for all 256 pixel values."""
    return jnp.clip(jnp.arange(256) + amount, 0, 255).astype(jnp.uint8)[image]


def use_where(image, amount):
    wide = image.astype(jnp.float32) + amount
    kept = jnp.where(wide > 255, 255, jnp.where(wide < 0, 0, wide.astype(jnp.uint8)))
    return kept.astype(jnp.uint8)


def clip_upper_limit_only(image, amount):
    return jnp.minimum(image.astype(jnp.float32) + amount, 255).astype(jnp.uint8)


def subtract_under_x64(stamps):
    """Subtract in JAX, and enable x64 only for this subtraction."""
    with x64_on():
        return (jnp.asarray(stamps) - stamps[0]).astype(jnp.float32)


def subtract_one_by_one(stamps):
    return jnp.array([float(stamp) - float(stamps[0]) for stamp in stamps])


def use_optax(predictions, targets):
    p, t = (a.reshape(-1).astype(jnp.float32) for a in (predictions, targets))
    if p.size != t.size:
        raise ValueError("different numbers of values")
    return 2 * optax.l2_loss(p, t).mean()


def return_float64(stamps):
    with x64_on():
        return jnp.asarray(stamps) - stamps[0]


def subtract_in_place(stamps):
    stamps -= stamps[0]
    return jnp.asarray(stamps)


WRONG = {
    "precision/1": [
        (lambda image, amount: image + amount, "the sum was computed in uint8"),
        (lambda image, amount: jnp.clip(image + amount, 0, 255), "the sum was computed in uint8"),
        (
            lambda image, amount: jnp.clip(image.astype(float) + amount, 0, 255),
            "the result must be uint8 like the image, got float32",
        ),
        (
            lambda image, amount: jnp.clip(image.astype(jnp.int32) + amount, None, 255).astype(
                jnp.uint8
            ),
            "no pixel can be darker than black",
        ),
        (
            lambda image, amount: (image.astype(jnp.float32) + amount).astype(jnp.uint8),
            "so clip before you cast",
        ),
        (clip_upper_limit_only, "casts numbers in the range -300 to -45 to uint8"),
        (
            lambda image, amount: jnp.clip(
                (image.astype(float) + amount).astype(jnp.uint8), 0, 255
            ),
            "so clip before you cast",
        ),
        (
            lambda image, amount: image + jnp.clip(amount, 0, 255 - image).astype(jnp.uint8),
            "no pixel can be darker than black",
        ),
        (
            lambda image, amount: jnp.where(
                amount > 0,
                jnp.where(image > 255 - amount, 255, image + amount),
                jnp.where(image < -amount, 0, image + amount),
            ),
            "must return",
        ),
        (
            lambda image, amount: jnp.clip(image.astype(jnp.int16) + amount, 0, 255).astype(
                jnp.uint8
            ),
            "40000 does not fit into int16",
        ),
    ],
    "precision/2": [
        (
            lambda scores, features: scores / np.sqrt(features),
            "for bfloat16 scores and a Python int, the result must be bfloat16, got float32",
        ),
        (
            lambda scores, features: scores / jnp.float32(features) ** 0.5,
            "for bfloat16 scores and a Python int, the result must be bfloat16, got float32",
        ),
        (
            lambda scores, features: scores / features**0.5,
            "for bfloat16 scores and a NumPy integer",
        ),
        (
            lambda scores, features: (scores / np.float32(np.sqrt(features))).astype(scores.dtype),
            "only as precise as float32",
        ),
        (
            lambda scores, features: scores / features,
            "for scores of 8 and -16 with 64 features, the result must be [1.0, -2.0], got "
            "[0.125, -0.25]",
        ),
        (
            lambda scores, features: scores // float(features) ** 0.5,
            "for a score of 1 and 3 features, the result must be 0.5774, got 0.0000",
        ),
        (
            lambda scores, features: scores / jnp.sqrt(features),
            "for bfloat16 scores and a NumPy integer, the result must be bfloat16, got float32",
        ),
        (
            lambda scores, features: (scores / math.sqrt(features)).astype(jnp.float32),
            "for bfloat16 scores",
        ),
        (lambda scores, features: scores * jax.lax.rsqrt(features), "raises TypeError: rsqrt"),
    ],
    "precision/3": [
        (
            lambda p, t: jnp.mean((p - t) ** 2),
            "the difference between a column and a row is a 4 × 4 array",
        ),
        (lambda p, t: jnp.mean(jnp.abs(jnp.ravel(p) - jnp.ravel(t))), "1.25"),
        (
            squeeze_both,
            "for arrays of 4 and 1 values, your function must raise a ValueError, but it returns "
            "7.5",
        ),
        (
            reshape_without_cast,
            "a float16 error of 300 makes the result infinite, because 300² exceeds 65504",
        ),
        (cast_after_subtracting, "Convert to float32 before you subtract"),
        (
            assert_instead_of_raise,
            "for arrays of 4 and 1 values, your function must raise a ValueError, got "
            "AssertionError",
        ),
        (
            reshape_to_targets,
            "for arrays of 4 and 1 values, your function must raise a ValueError, got TypeError",
        ),
        (
            lambda p, t: mean_of_squares(lambda p, t: p.astype(jnp.float32) - t, p, t).astype(
                jnp.float16
            ),
            "for float16 arrays, the result must be float32, got float16",
        ),
        (
            lambda p, t: mean_of_squares(lambda p, t: p - t, p, t).astype(jnp.float32),
            "a float16 error of 300 makes the result infinite, because 300² exceeds 65504",
        ),
        (
            lambda p, t: jnp.mean((jnp.ravel(p) - jnp.ravel(t)) ** 2).astype(jnp.float32),
            "for arrays of 4 and 1 values, your function must raise a ValueError, but it returns "
            "7.5",
        ),
    ],
    "precision/4": [
        (
            lambda stamps: jnp.asarray(stamps) - stamps[0],
            "neighboring float32 numbers are 128 s apart",
        ),
        (
            lambda stamps: jnp.asarray(stamps - stamps[0])[1:],
            "for 4 times, the shape must be (4,), got (3,)",
        ),
        (lambda stamps: stamps - stamps[0], "the result must be a JAX array, got a NumPy array"),
        (enable_x64_globally, "your function leaves x64 on for the whole program"),
        (subtract_in_place, "your function modifies its argument in place"),
        (lambda stamps: jnp.asarray(stamps - stamps.min()), "seconds since the earliest time"),
        (
            lambda stamps: jnp.asarray(stamps - stamps[0], jnp.float16),
            "the result must be float32, got float16",
        ),
        (
            lambda stamps: jnp.asarray(stamps.astype(np.float32) - np.float32(stamps[0])),
            "neighboring float32 numbers are 128 s apart",
        ),
        (
            lambda stamps: jnp.asarray(np.diff(stamps)),
            "for 4 times, the shape must be (4,), got (3,)",
        ),
        (
            lambda stamps: (stamps - stamps[0]).tolist(),
            "the result must be a JAX array, got a list",
        ),
        (return_float64, "the result must be float32, got float64"),
    ],
}
RIGHT = [
    (
        "precision/1",
        lambda image, amount: jnp.clip(image.astype(jnp.float32) + amount, 0, 255).astype(
            jnp.uint8
        ),
    ),
    (
        "precision/2",
        lambda scores, features: scores / jnp.asarray(features**0.5, scores.dtype),
    ),
    ("precision/1", use_lookup_table),
    ("precision/1", use_where),
    (
        "precision/1",
        lambda image, amount: (image + jnp.clip(amount, -1.0 * image, 255.0 - image)).astype(
            jnp.uint8
        ),
    ),
    ("precision/2", lambda scores, features: scores * (1 / math.sqrt(features))),
    (
        "precision/2",
        lambda scores, features: (scores / np.sqrt(features)).astype(scores.dtype),
    ),
    ("precision/3", as_columns),
    ("precision/3", use_optax),
    ("precision/4", subtract_under_x64),
    ("precision/4", subtract_one_by_one),
    (
        "precision/4",
        lambda stamps: jnp.asarray((stamps - stamps[0]).astype(np.float32)),
    ),
]
