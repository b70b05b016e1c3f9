"""The exercises of chapter 06, random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.detect import const_key, key_reuse
from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call

COUNT = 400


def augment(key: jax.Array, images: jax.Array) -> jax.Array:
    """Mirror each image with probability 1/2, and add normal noise of standard deviation 0.1."""
    raise NotImplementedError


def solve_augment(key: jax.Array, images: jax.Array) -> jax.Array:
    """One key for the coins, one for the noise; each draws for the whole batch at once."""
    for_coins, for_noise = jax.random.split(key)
    mirrored = jax.random.bernoulli(for_coins, 0.5, (len(images), 1, 1))
    noise = 0.1 * jax.random.normal(for_noise, images.shape)
    return jnp.where(mirrored, images[:, :, ::-1], images) + noise


def verify_augment(answer: Callable[..., Any]) -> None:
    """Take the result apart into coins and noise, and ask each whether it is as random as said."""
    one = np.arange(12, dtype=np.float32).reshape(3, 4) * 10
    images = jnp.tile(one, (COUNT, 1, 1))
    first, second = jax.random.split(jax.random.key(6))
    seen = call(answer, first, images)
    if np.shape(seen) != images.shape:
        raise NotYet(f"for images of shape {images.shape} it returns shape {np.shape(seen)}")
    again = call(answer, first, images)
    if not np.array_equal(np.asarray(seen), np.asarray(again)):
        raise NotYet("called twice with one key it gives two results: all chance must come from it")
    coins, noise = _taken_apart(np.asarray(seen, np.float32), one)
    if coins.sum() in (0, COUNT):
        raise NotYet("all images are mirrored alike: each needs a coin of its own")
    if not 0.4 < coins.mean() < 0.6:
        raise NotYet(f"of {COUNT} images {coins.sum()} are mirrored, should be about half")
    if np.ptp(noise, axis=0).max() < 1e-3:
        raise NotYet("every image has the same noise: each needs its own")
    if np.ptp(noise, axis=(1, 2)).max() < 1e-3:
        raise NotYet("all pixels of an image have the same noise: each needs its own")
    if min(np.ptp(noise, axis=axis).max() for axis in (1, 2)) < 1e-3:
        raise NotYet("all pixels of a row or column have the same noise: each needs its own")
    if not 0.09 < noise.std() < 0.11 or abs(noise.mean()) > 0.02:
        raise NotYet(
            f"the noise has mean {noise.mean():.2f} and standard deviation {noise.std():.2f}, "
            "should be 0 and 0.1"
        )
    if not _bell_shaped(noise, 0.1):
        raise NotYet("the noise has the right spread, but is not from a normal distribution")
    other = call(answer, second, images)
    if np.array_equal(np.asarray(other), np.asarray(seen)):
        raise NotYet("two keys give the same result: the key you are given is not used")
    if found := key_reuse(answer, first, images):
        raise NotYet(f"{found[0].message}: {found[0].evidence}. {found[0].fix}")
    if _related(coins, noise):
        raise NotYet("coins and noise are correlated: they come from equal keys, made in two ways")
    if const_key(answer, first, images):
        raise NotYet("part of the chance does not come from the key you are given")
    call(jax.jit(lambda k, x: answer(k, x)), first, images, how="under jit, ")


def _related(coins: np.ndarray, noise: np.ndarray) -> bool:
    """Tell whether a coin goes with the noise at its own place in a draw, or in its image."""
    beside = [noise.ravel()[: len(coins)], *noise.reshape(len(coins), -1).T]
    return max(abs(float(np.corrcoef(coins, one)[0, 1])) for one in beside) > 0.3


def _taken_apart(seen: np.ndarray, one: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    plain, mirrored = seen - one, seen - one[:, ::-1]
    coins = np.abs(mirrored).mean(axis=(1, 2)) < np.abs(plain).mean(axis=(1, 2))
    noise: np.ndarray = np.where(coins[:, None, None], mirrored, plain)
    if np.abs(noise).max() > 5:
        raise NotYet("some images are neither the original nor its mirror image (left and right)")
    return coins, noise


def _bell_shaped(draws: np.ndarray, deviation: float) -> bool:
    """Tell whether about 68 of 100 draws lie within one standard deviation, of a mean of 0."""
    inside = float((np.abs(draws) < deviation).mean())
    return abs(inside - 0.683) < 0.05 and abs(float(draws.mean())) < 0.1 * deviation


def walk(key: jax.Array, x: jax.Array, first: int, last: int) -> jax.Array:
    """Add a standard normal step to x at each of the steps first, …, last - 1."""
    raise NotImplementedError


def solve_walk(key: jax.Array, x: jax.Array, first: int, last: int) -> jax.Array:
    """The key of a step depends on the step's number alone, not on how one came there."""
    for step in range(first, last):
        x = x + jax.random.normal(jax.random.fold_in(key, step), x.shape)
    return x


def verify_walk(answer: Callable[..., Any]) -> None:
    """Walk through, and walk in two parts; ask the steps whether they are different and normal."""
    key = jax.random.key(3)
    start = jnp.zeros(500)
    if not np.array_equal(np.asarray(call(answer, key, start, 4, 4)), np.asarray(start)):
        raise NotYet("with first equal to last there is no step: it should return x")
    whole = np.asarray(call(answer, key, start, 0, 6))
    if whole.shape != start.shape:
        raise NotYet(f"for x of shape {start.shape} it returns shape {whole.shape}")
    steps = np.stack([np.asarray(call(answer, key, start, i, i + 1)) for i in range(6)])
    if np.ptp(steps, axis=1).max() < 1e-6:
        raise NotYet("all elements of x make the same step: draw numbers of the shape of x")
    table = np.asarray(call(answer, key, jnp.ones((3, 4)), 2, 3))
    if table.shape != (3, 4):
        raise NotYet(f"for x of shape (3, 4) it returns shape {table.shape}")
    if min(np.ptp(table, axis=0).max(), np.ptp(table, axis=1).max()) < 1e-6:
        raise NotYet("all rows or columns of x make the same step: draw numbers of the shape of x")
    if np.abs(steps[0] - steps[1]).max() < 1e-6:
        raise NotYet("step 0 and step 1 are the same step: the step's number must enter the key")
    if not 0.9 < steps.std() < 1.1:
        raise NotYet(f"the steps have standard deviation {steps.std():.2f}, should be 1")
    if not _bell_shaped(steps, 1.0):
        raise NotYet("the steps have the right spread, but are not from a normal distribution")
    correlated = np.abs(np.corrcoef(steps) - np.eye(6)).max()
    if correlated > 0.3:
        raise NotYet(f"two steps have a correlation of {correlated:.2f}, should be independent")
    resumed = call(answer, key, call(answer, key, start, 0, 4), 4, 6)
    if not np.allclose(whole, np.asarray(resumed), atol=1e-5):
        raise NotYet(
            "steps 0 to 3 and then 4 and 5 do not end where steps 0 to 5 end: "
            "a step's numbers must not depend on where the walk began"
        )
    other = np.asarray(call(answer, jax.random.key(4), start, 0, 6))
    if np.allclose(whole, other):
        raise NotYet("two keys make the same walk: the key you are given is not used")


def key_from(seed: int) -> jax.Array:
    """Return a key that depends on all bits of a seed, which may be any non-negative integer."""
    raise NotImplementedError


def solve_key_from(seed: int) -> jax.Array:
    """Begin with the number of 32-bit words, fold each in: no key is then another's child."""
    words = [seed >> i & 0xFFFFFFFF for i in range(0, max(seed.bit_length(), 1), 32)]
    key = jax.random.key(len(words))
    for word in words:
        key = jax.random.fold_in(key, word)
    return key


def verify_key_from(answer: Callable[..., Any]) -> None:
    """Ask for a key each of seeds that differ high up, low down and only a little."""
    seeds = [0, 1, 7, 2**31, 2**32 - 1, 2**32, 2**32 + 7, 2 * 2**32 + 7, 7 * 2**32 + 2, 2**53 + 1]
    seeds += [2**53, 2**63, 2**64 + 7, 2**100 + 7, 2**100 + 2**50, 10**30]
    known: dict[bytes, int] = {}
    keys: dict[int, jax.Array] = {}
    for seed in seeds:
        key = call(answer, seed)
        if not hasattr(key, "dtype") or not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            raise NotYet(f"for {seed} it should return a key of jax.random.key, returns {key!r}")
        if key.shape:
            raise NotYet(f"for {seed} it should return one key, returns {key.shape[0]}")
        data = np.asarray(jax.random.key_data(key)).tobytes()
        if data in known:
            raise NotYet(f"the seeds {known[data]} and {seed} give the same key")
        known[data] = seed
        again = np.asarray(jax.random.key_data(call(answer, seed))).tobytes()
        if again != data:
            raise NotYet(f"the seed {seed} gives another key each time")
        keys[seed] = key
    for seed, key in keys.items():
        for i, child in enumerate(np.asarray(jax.random.key_data(jax.random.split(key, 8)))):
            if child.tobytes() in known:
                other = known[child.tobytes()]
                raise NotYet(f"the key of {other} is split(k)[{i}] of the key k of {seed}")


EXERCISES = (
    Exercise(
        id="random-numbers/1",
        title="mirror and speckle a batch",
        stub=augment,
        hints=(
            "Two kinds of chance are drawn: coins and noise. How many keys does that take?",
            "A draw of the shape (len(images), 1, 1) is one number for each image, "
            "and jnp.where spreads it over the pixels.",
            "split the key; bernoulli of the first part, normal of the second in the shape of "
            "images; images[:, :, ::-1] is the batch mirrored.",
        ),
        verify=verify_augment,
        solution=solve_augment,
    ),
    Exercise(
        id="random-numbers/2",
        title="a walk that can be resumed",
        stub=walk,
        hints=(
            "Whoever resumes at step 4 knows the key and the number 4, and nothing else.",
            "A chain of splits would have to be walked from its beginning. "
            "Which function makes a key of a key and a number?",
            "In the loop over range(first, last): normal(fold_in(key, step), x.shape).",
        ),
        verify=verify_walk,
        solution=solve_walk,
    ),
    Exercise(
        id="random-numbers/3",
        title="a key from a long seed",
        stub=key_from,
        hints=(
            "jax.random.key takes the lowest 32 bits of a seed, and fold_in takes 32 bits as well.",
            "seed & 0xFFFFFFFF are the lowest 32 bits, seed >> 32 is the rest. "
            "fold_in mixes a number into a key. But fold_in(k, 1) is split(k)[1], so a k that you "
            "fold into must not be the key of a shorter seed.",
            "Count the words of 32 bits in the seed, begin with key(count), and fold in the words "
            "one after the other.",
        ),
        verify=verify_key_from,
        solution=solve_key_from,
    ),
)
