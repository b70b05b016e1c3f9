"""Answers to the exercises of *Random numbers*: foreseen mistakes, and other right ones."""

import hashlib
import random as pythons

import jax
import jax.numpy as jnp
import numpy as np
from jax.random import bernoulli, fold_in, key, normal, split


def mixed(coins, images, noise):
    return jnp.where(coins, images[:, :, ::-1], images) + noise


def one_key(k, images):
    coins = bernoulli(k, 0.5, (len(images), 1, 1))
    return mixed(coins, images, 0.1 * normal(k, images.shape))


def one_key_on_a_line(k, images):
    return mixed(bernoulli(k, 0.5, (len(images), 1, 1)), images, 0.1 * normal(k, images.shape))


def by_python_if(key, images):
    for_coins, for_noise = split(key)
    coins = bernoulli(for_coins, 0.5, (len(images),))
    kept = [x[:, ::-1] if coin else x for coin, x in zip(coins, images, strict=True)]
    return jnp.stack(kept) + 0.1 * normal(for_noise, images.shape)


def in_numpy(key, images):
    coins = np.random.default_rng().random((len(images), 1, 1)) < 0.5
    return mixed(coins, images, 0.1 * normal(key, images.shape))


def by_signs(k, images):
    noise, signs = jax.random.split(k, (2,))
    coin = jax.random.rademacher(signs, (images.shape[0],)) > 0
    flipped = jax.vmap(lambda c, x: jax.lax.select(c, jnp.flip(x, 1), x))(coin, images)
    return flipped + jax.random.normal(noise, images.shape) / 10


def by_scan(key, x, first, last):
    def step(x, n):
        return x + normal(fold_in(key, n), x.shape), None

    return jax.lax.scan(step, x, jnp.arange(first, last))[0]


def one_coin(k, images):
    a, b = split(k)
    return mixed(bernoulli(a), images, 0.1 * normal(b, images.shape))


def one_noise(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    return mixed(coins, images, 0.1 * normal(b, images.shape[1:]))


def key_inside(k, images):
    return SOLUTION(key(0), images)


def coins_inside(k, images):
    coins = bernoulli(key(0), 0.5, (len(images), 1, 1))
    return mixed(coins, images, 0.1 * normal(k, images.shape))


def wide_noise(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    return mixed(coins, images, normal(b, images.shape))


def upside_down(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    return jnp.where(coins, images[:, ::-1], images) + 0.1 * normal(b, images.shape)


def by_rows(k, images):
    def of_one(k, image):
        a, b = split(k)
        mirrored = jnp.where(bernoulli(a), image[:, ::-1], image)
        return mirrored + 0.1 * normal(b, image.shape)

    return jax.vmap(of_one)(split(k, len(images)), images)


def met_again(k, images):
    coins = bernoulli(split(k)[0], 0.5, (len(images), 1, 1))
    return mixed(coins, images, 0.1 * normal(fold_in(k, 0), images.shape))


def noise_by_row(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    return mixed(coins, images, 0.1 * normal(b, (*images.shape[:2], 1)))


def flat_noise(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    wide = 0.1 * 3**0.5
    return mixed(coins, images, jax.random.uniform(b, images.shape, minval=-wide, maxval=wide))


def SOLUTION(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    return mixed(coins, images, 0.1 * normal(b, images.shape))


def walked(key_of):
    def walk(k, x, first, last):
        for step in range(first, last):
            x = x + normal(key_of(k, step, first), x.shape)
        return x

    return walk


def chain(k, x, first, last):
    for _ in range(first, last):
        k, sub = split(k)
        x = x + normal(sub, x.shape)
    return x


def all_at_once(k, x, first, last):
    return x + normal(k, (last, *x.shape))[first:].sum(axis=0)


def straight(k, x, first, last):
    return x + (last - first) * normal(k, x.shape)


def chain_from_the_start(k, x, first, last):
    for step in range(last):
        k, sub = split(k)
        x = x + normal(sub, x.shape) * (step >= first)
    return x


def by_coins(k, x, first, last):
    for step in range(first, last):
        x = x + jax.random.rademacher(fold_in(k, step), x.shape)
    return x


def for_vectors(k, x, first, last):
    for step in range(first, last):
        x = x + normal(fold_in(k, step), x.shape[-1:])
    return x


def fold_the_rest(seed):
    k = key(seed & 0xFFFFFFFF)
    while seed := seed >> 32:
        k = fold_in(k, seed & 0xFFFFFFFF)
    return k


def hashed(seed):
    digest = hashlib.sha256(str(seed).encode()).digest()[:8]
    return jax.random.wrap_key_data(jnp.asarray(np.frombuffer(digest, np.uint32)))


def numpys_seed(seed):
    words = np.random.SeedSequence(seed).generate_state(2)
    return jax.random.wrap_key_data(jnp.asarray(words))


WRONG = {
    "random-numbers/1": [
        (one_key, "one PRNG key is used 2 times: a draw at random_numbers.py:"),
        (
            one_key_on_a_line,
            "used 2 times: a draw at random_numbers.py:22. `jax.random.split` first",
        ),
        (by_python_if, "Choose with `jnp.where`"),
        (in_numpy, "called twice with the same key, your function must return the same images"),
        (one_coin, "no image is mirrored; draw a separate coin for each image"),
        (one_noise, "all images have the same noise; draw new noise for each image"),
        (key_inside, "two keys give the same images; use the key argument"),
        (coins_inside, "some random numbers do not depend on the key argument"),
        (wide_noise, "the noise must have mean 0 and standard deviation 0.1, got 0.04 and 0.99"),
        (
            met_again,
            "the coins and the noise are correlated, because their keys are equal although they "
            "were derived differently",
        ),
        (noise_by_row, "all pixels of a row or column"),
        (flat_noise, "not a normal distribution"),
        (upside_down, "some images are neither the original nor its left-right mirror image"),
        (
            lambda k, images: images + 0.1 * normal(k, images.shape),
            "no image is mirrored; draw a separate coin for each image",
        ),
    ],
    "random-numbers/2": [
        (
            walked(lambda k, step, first: k),
            "steps 0 and 1 are equal; derive the key of a step from its number",
        ),
        (by_coins, "not a normal distribution"),
        (for_vectors, "all rows or columns"),
        (straight, "steps 0 and 1 are equal; derive the key of a step from its number"),
        (chain, "steps 0 and 1 are equal; derive the key of a step from its number"),
        (
            walked(lambda k, step, first: fold_in(k, step - first)),
            "steps 0 and 1 are equal; derive the key of a step from its number",
        ),
        (
            walked(lambda k, step, first: fold_in(fold_in(k, first), step)),
            "a walk from 0 to 4 and on to 6 must end where a walk from 0 to 6 ends",
        ),
        (
            walked(lambda k, step, first: key(step)),
            "two keys give the same walk; use the key argument",
        ),
        (
            lambda k, x, first, last: x + sum(normal(fold_in(k, s)) for s in range(first, last)),
            "all elements of x take the same step; draw an array with the shape of x",
        ),
    ],
    "random-numbers/3": [
        (key, "the seeds 0 and 4294967296 give the same key"),
        (lambda seed: fold_in(key(seed % 2**32), seed // 2**32), "raises OverflowError"),
        (lambda seed: key((seed ^ (seed >> 32)) & 0xFFFFFFFF), "give the same key"),
        (lambda seed: key(pythons.getrandbits(32)), "gives a different key on each call"),
        (
            fold_the_rest,
            "the key of the seed 4294967296 is split(k, 8)[1] of the key k of the seed 0",
        ),
        (
            jax.random.PRNGKey,
            "for the seed 0, your function must return a key such as jax.random.key returns, got "
            "[0, 0]",
        ),
        (
            lambda seed: seed,
            "for the seed 0, your function must return a key such as jax.random.key returns, got 0",
        ),
        (
            lambda seed: split(key(seed % 2**32), 2),
            "for the seed 0, your function must return one key, got 2",
        ),
    ],
}
RIGHT = [
    ("random-numbers/1", by_signs),
    ("random-numbers/2", by_scan),
    ("random-numbers/1", by_rows),
    ("random-numbers/2", all_at_once),
    ("random-numbers/2", chain_from_the_start),
    ("random-numbers/3", numpys_seed),
    ("random-numbers/3", hashed),
]
