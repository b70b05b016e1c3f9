"""Answers to the exercises of *Precision*: foreseen mistakes, and other right ones."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import x64_on


def switched_for_ever(stamps):
    jax.config.update("jax_enable_x64", True)
    return jnp.asarray(stamps - stamps[0])


def by_squeezing(predictions, targets):
    return jnp.mean((jnp.squeeze(predictions) - jnp.squeeze(targets)) ** 2)


def by_reshaping(predictions, targets):
    if predictions.size != targets.size:
        raise ValueError("other numbers of values")
    return jnp.mean((predictions.reshape(-1) - targets.reshape(-1)) ** 2)


def in_a_block(stamps):
    with x64_on():
        return jnp.asarray(stamps) - stamps[0]


def in_place(stamps):
    stamps -= stamps[0]
    return jnp.asarray(stamps)


WRONG = {
    "precision/1": [
        (lambda image, amount: image + amount, "the sum was made in uint8"),
        (lambda image, amount: jnp.clip(image + amount, 0, 255), "the sum was made in uint8"),
        (lambda image, amount: jnp.clip(image.astype(float) + amount, 0, 255), "returns float32"),
        (
            lambda image, amount: jnp.clip(image.astype(jnp.int32) + amount, None, 255).astype(
                jnp.uint8
            ),
            "black stays black",
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
            "more than an int16",
        ),
    ],
    "precision/2": [
        (lambda scores, features: scores / np.sqrt(features), "for bfloat16 scores and int"),
        (
            lambda scores, features: scores / jnp.float32(features) ** 0.5,
            "for bfloat16 scores and int",
        ),
        (lambda scores, features: scores / features**0.5, "int64 features"),
        (
            lambda scores, features: (scores / np.float32(np.sqrt(features))).astype(scores.dtype),
            "32 bits of precision only",
        ),
        (lambda scores, features: scores / features, "it returns [0.125, -0.25]"),
        (lambda scores, features: scores // float(features) ** 0.5, "it returns 0.0000"),
    ],
    "precision/3": [
        (lambda p, t: jnp.mean((p - t) ** 2), "a column minus a row is a square"),
        (lambda p, t: jnp.mean(jnp.abs(jnp.ravel(p) - jnp.ravel(t))), "must return 1.25"),
        (by_squeezing, "for 4 predictions and 1 target"),
        (by_reshaping, "300² is more than 65504"),
        (
            lambda p, t: jnp.mean((jnp.ravel(p) - jnp.ravel(t)) ** 2).astype(jnp.float32),
            "for 4 predictions and 1 target",
        ),
    ],
    "precision/4": [
        (lambda stamps: jnp.asarray(stamps) - stamps[0], "a multiple of 128"),
        (lambda stamps: jnp.asarray(stamps - stamps[0])[1:], "the shape (3,)"),
        (lambda stamps: stamps - stamps[0], "should be a JAX array"),
        (switched_for_ever, "x64 on for the whole program"),
        (in_place, "changes the array"),
        (lambda stamps: jnp.asarray(stamps - stamps.min()), "s after the first it returns [2.5"),
        (
            lambda stamps: jnp.asarray(stamps - stamps[0], jnp.float16),
            "it returns float16, should be float32",
        ),
        (in_a_block, "it returns float64, should be float32"),
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
    ("precision/2", lambda scores, features: scores * (1 / math.sqrt(features))),
    (
        "precision/4",
        lambda stamps: jnp.asarray((stamps - stamps[0]).astype(np.float32)),
    ),
]
