"""The exercises for chapter 06, random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import AnswerRejected, call, under_jit
from jaxbits.book.exercises.base import Exercise
from jaxbits.detect import const_key, key_reuse

COUNT = 400
COLLISIONS = (
    (69235, 95303),  # the first four bytes of the SHA-256 hash of str(seed)
    (77071, 108943),  # the last four
    (25302, 82945),  # the first four bytes of the MD5 hash of str(seed)
    (86786, 88266),  # the last four
    (7436, 9406),  # the first four bytes of the SHA-256 hash of seed.to_bytes(16, "big")
    (57181, 76201),  # the last four
    (14375, 53572),  # np.random.SeedSequence(seed).generate_state(1)
)
"""Pairs of seeds that have the same 32-bit hash, for the most common hashes."""


def augment(key: jax.Array, images: jax.Array) -> jax.Array:
    """Mirror each image with probability 1/2, and add normal noise with standard deviation 0.1."""
    raise NotImplementedError


def solve_augment(key: jax.Array, images: jax.Array) -> jax.Array:
    """Split off one key for the coins and one for the noise, and draw for the whole batch."""
    for_coins, for_noise = jax.random.split(key)
    mirrored = jax.random.bernoulli(for_coins, 0.5, (len(images), 1, 1))
    noise = 0.1 * jax.random.normal(for_noise, images.shape)
    return jnp.where(mirrored, images[:, :, ::-1], images) + noise


def verify_augment(answer: Callable[..., Any]) -> None:
    """Separate the result into coin flips and noise, and test the distribution of each."""
    one = np.arange(12, dtype=np.float32).reshape(3, 4) * 10
    images = jnp.tile(one, (COUNT, 1, 1))
    first, second = jax.random.split(jax.random.key(6))
    seen = call(answer, first, images)
    if np.shape(seen) != images.shape:
        shapes = f"{images.shape}, got {np.shape(seen)}"
        raise AnswerRejected(
            f"for images of shape {images.shape}, the result must have shape {shapes}"
        )
    again = call(answer, first, images)
    if not np.array_equal(np.asarray(seen), np.asarray(again)):
        raise AnswerRejected(
            "called twice with the same key, your function must return the same images; "
            "draw every random number from the key"
        )
    coins, noise = _taken_apart(np.asarray(seen, np.float32), one)
    if coins.sum() in (0, COUNT):
        every = "no image is mirrored" if coins.sum() == 0 else "every image is mirrored"
        raise AnswerRejected(f"{every}; flip a separate coin for each image")
    if not 0.4 < coins.mean() < 0.6:
        raise AnswerRejected(f"about half of {COUNT} images must be mirrored, got {coins.sum()}")
    if np.ptp(noise, axis=0).max() < 1e-3:
        raise AnswerRejected("all images have the same noise; draw new noise for each image")
    if np.ptp(noise, axis=(1, 2)).max() < 1e-3:
        raise AnswerRejected(
            "all pixels in an image have the same noise; draw new noise for each pixel"
        )
    if min(np.ptp(noise, axis=axis).max() for axis in (1, 2)) < 1e-3:
        raise AnswerRejected(
            "all pixels in a row or column have the same noise; draw new noise for each pixel"
        )
    if not 0.09 < noise.std() < 0.11 or abs(noise.mean()) > 0.02:
        raise AnswerRejected(
            f"the noise must have mean 0 and standard deviation 0.1, got {noise.mean():.2f} "
            f"and {noise.std():.2f}"
        )
    if not _bell_shaped(noise, 0.1):
        raise AnswerRejected(
            "the noise has the right standard deviation, but it is not normally distributed"
        )
    other = call(answer, second, images)
    if np.array_equal(np.asarray(other), np.asarray(seen)):
        raise AnswerRejected("two keys give the same images; use the key argument")
    call(answer, first, images, how="under jit, ", through=under_jit(answer))
    if found := key_reuse(answer, first, images):
        where = "; ".join(dict.fromkeys(found[0].evidence.split("; ")))
        raise AnswerRejected(f"{found[0].message}: {where}. {found[0].fix}")
    if _related(coins, noise):
        raise AnswerRejected(
            "the coins and the noise are correlated, because their keys are equal although "
            "they were derived differently"
        )
    if const_key(answer, first, images):
        raise AnswerRejected("some random numbers do not depend on the key argument")


def _related(coins: np.ndarray, noise: np.ndarray) -> bool:
    """Return whether the coins are correlated with the noise, in draw order or at any one pixel."""
    beside = [noise.ravel()[: len(coins)], *noise.reshape(len(coins), -1).T]
    return max(abs(float(np.corrcoef(coins, one)[0, 1])) for one in beside) > 0.3


def _taken_apart(seen: np.ndarray, one: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a mask of the mirrored images, bool[images], and the noise in each image."""
    plain, mirrored = seen - one, seen - one[:, ::-1]
    coins = np.abs(mirrored).mean(axis=(1, 2)) < np.abs(plain).mean(axis=(1, 2))
    noise: np.ndarray = np.where(coins[:, None, None], mirrored, plain)
    if np.abs(noise).max() > 5:
        raise AnswerRejected("some images are neither the original nor its left-right mirror image")
    return coins, noise


def _bell_shaped(draws: np.ndarray, deviation: float) -> bool:
    """Return whether the mean is near 0 and about 68% of draws lie within one deviation."""
    inside = float((np.abs(draws) < deviation).mean())
    return abs(inside - 0.683) < 0.05 and abs(float(draws.mean())) < 0.1 * deviation


def walk(key: jax.Array, x: jax.Array, first: int, last: int) -> jax.Array:
    """Return x plus one standard normal step for each step number first, …, last - 1."""
    raise NotImplementedError


def solve_walk(key: jax.Array, x: jax.Array, first: int, last: int) -> jax.Array:
    """Derive the key of a step only from its number, no matter where the walk began."""
    for step in range(first, last):
        x = x + jax.random.normal(jax.random.fold_in(key, step), x.shape)
    return x


def verify_walk(answer: Callable[..., Any]) -> None:
    """Compare an uninterrupted walk with one in two parts, and test how steps are distributed."""
    key = jax.random.key(3)
    start = jnp.zeros(500)
    if not np.array_equal(np.asarray(call(answer, key, start, 4, 4)), np.asarray(start)):
        raise AnswerRejected(
            "if first equals last, there are no steps, so your function must return x"
        )
    whole = np.asarray(call(answer, key, start, 0, 6))
    if whole.shape != start.shape:
        raise AnswerRejected(
            f"for x of shape {start.shape}, the result must have shape {start.shape}, got "
            f"{whole.shape}"
        )
    steps = np.stack([np.asarray(call(answer, key, start, i, i + 1)) for i in range(6)])
    if np.ptp(steps, axis=1).max() < 1e-6:
        raise AnswerRejected(
            "all elements of x take the same step; draw an array with the shape of x"
        )
    table = np.asarray(call(answer, key, jnp.ones((3, 4)), 2, 3))
    if table.shape != (3, 4):
        raise AnswerRejected(
            f"for x of shape (3, 4), the result must have shape (3, 4), got {table.shape}"
        )
    if min(np.ptp(table, axis=0).max(), np.ptp(table, axis=1).max()) < 1e-6:
        raise AnswerRejected(
            "all rows or columns of x take the same step; draw an array with the shape of x"
        )
    if np.abs(steps[0] - steps[1]).max() < 1e-6:
        raise AnswerRejected(
            "a walk from 0 to 1 and a walk from 1 to 2 take the same step; derive each step's key "
            "from its number"
        )
    if not 0.9 < steps.std() < 1.1:
        raise AnswerRejected(
            f"the standard deviation of the steps must be 1, got {steps.std():.2f}"
        )
    if not _bell_shaped(steps, 1.0):
        raise AnswerRejected(
            "the steps have the right standard deviation, but they are not normally distributed"
        )
    correlated = np.abs(np.corrcoef(steps) - np.eye(6)).max()
    if correlated > 0.3:
        raise AnswerRejected(
            f"the steps must be independent, got two with a correlation of {correlated:.2f}"
        )
    resumed = call(answer, key, call(answer, key, start, 0, 4), 4, 6)
    if not np.allclose(whole, np.asarray(resumed), atol=1e-5):
        raise AnswerRejected(
            "a walk from 0 to 4 and on to 6 must end where a walk from 0 to 6 ends; the "
            "random numbers for a step must not depend on where the walk began"
        )
    other = np.asarray(call(answer, jax.random.key(4), start, 0, 6))
    if np.allclose(whole, other):
        raise AnswerRejected("two keys give the same walk; use the key argument")


def key_from(seed: int) -> jax.Array:
    """Return a key that depends on all bits of a seed, which may be any non-negative integer."""
    raise NotImplementedError


def solve_key_from(seed: int) -> jax.Array:
    """Fold in the number of 32-bit words and each word, so that no key is another's child."""
    words = [seed >> i & 0xFFFFFFFF for i in range(0, max(seed.bit_length(), 1), 32)]
    key = jax.random.key(len(words))
    for word in words:
        key = jax.random.fold_in(key, word)
    return key


def verify_key_from(answer: Callable[..., Any]) -> None:
    """Test seeds that differ in their high bits, in their low bits, or by a small number."""
    seeds = [0, 1, 7, 2**31, 2**32 - 1, 2**32, 2**32 + 7, 2 * 2**32 + 7, 7 * 2**32 + 2, 2**53 + 1]
    seeds += [2**53, 2**63, 2**64 + 7, 2**100 + 7, 2**100 + 2**50, 10**30]
    known: dict[bytes, int] = {}
    keys: dict[int, jax.Array] = {}
    for seed in seeds:
        key = call(answer, seed)
        if not hasattr(key, "dtype") or not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            raise AnswerRejected(
                f"for the seed {seed}, your function must return a key like those "
                f"from jax.random.key, got {format_value(key)}"
            )
        if key.shape:
            raise AnswerRejected(
                f"for the seed {seed}, your function must return one key, got {key.size}"
            )
        data = np.asarray(jax.random.key_data(key)).tobytes()
        if data in known:
            raise AnswerRejected(f"the seeds {known[data]} and {seed} give the same key")
        known[data] = seed
        again = np.asarray(jax.random.key_data(call(answer, seed))).tobytes()
        if again != data:
            raise AnswerRejected(f"the seed {seed} gives a different key on each call")
        keys[seed] = key
    words = np.stack([np.asarray(jax.random.key_data(key)) for key in keys.values()])
    for place, word in zip(("first", "second"), words.T, strict=False):
        if np.ptp(word) == 0:
            raise AnswerRejected(
                f"the {place} of the two words of the key is {word[0]} for every seed, so the key "
                "has only 32 random bits, and among 77,200 seeds, two probably have the same key; "
                "make both words depend on the seed, for example with fold_in"
            )
    for one, other in COLLISIONS:
        if bool(call(answer, one) == call(answer, other)):
            raise AnswerRejected(
                f"the seeds {one} and {other} give the same key, because your function reduces a "
                "seed to 32 bits before it makes the key; use all bits of the seed, for example "
                "with one fold_in for each 32 bits"
            )
    for seed, key in keys.items():
        for i, child in enumerate(np.asarray(jax.random.key_data(jax.random.split(key, 8)))):
            if child.tobytes() in known:
                other = known[child.tobytes()]
                child_of = f"split(k, 8)[{i}], where k is the key for the seed {seed}"
                raise AnswerRejected(f"the key for the seed {other} is {child_of}")


EXERCISES = (
    Exercise(
        id="random-numbers/1",
        title="mirror images and add noise",
        stub=augment,
        hints=(
            "There are two draws, one for the coins and one for the noise. How many keys do they "
            "need?",
            "A draw of shape (len(images), 1, 1) has one number for each image, and jnp.where "
            "broadcasts it over the pixels. An if would choose once for all images, and it "
            "would fail under jit.",
            "Split the key. Draw the coins from the first part with bernoulli, and the noise from "
            "the second part with normal and the shape of images. images[:, :, ::-1] is the "
            "mirrored batch.",
        ),
        verify=verify_augment,
        solution=solve_augment,
    ),
    Exercise(
        id="random-numbers/2",
        title="a walk that can be resumed",
        stub=walk,
        hints=(
            "A walk that resumes at step 4 knows only the key and the number 4.",
            "You would have to follow a chain of splits from its beginning. Which function derives "
            "a key from another key and a number?",
            "In the loop over range(first, last), add normal(fold_in(key, step), x.shape).",
        ),
        verify=verify_walk,
        solution=solve_walk,
    ),
    Exercise(
        id="random-numbers/3",
        title="a key from a long seed",
        stub=key_from,
        hints=(
            "jax.random.key keeps only the lowest 32 bits of a seed, and fold_in takes only 32 "
            "bits.",
            "seed & 0xFFFFFFFF gives the lowest 32 bits, and seed >> 32 the rest. fold_in mixes a "
            "number into a key. However, fold_in(k, 1) is split(k)[1], so do not fold into the key "
            "for a shorter seed.",
            "Count the 32-bit words of the seed, start from key(count), and fold in the words one "
            "after the other.",
        ),
        verify=verify_key_from,
        solution=solve_key_from,
    ),
)
