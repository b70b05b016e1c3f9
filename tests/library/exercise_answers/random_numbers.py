"""Right and wrong answers to the exercises on random numbers."""

import hashlib
import random as python_random

import jax
import jax.numpy as jnp
import numpy as np
from jax.random import bernoulli, fold_in, key, normal, split


def augment(coins, images, noise):
    return jnp.where(coins, images[:, :, ::-1], images) + noise


def reuse_key(k, images):
    coins = bernoulli(k, 0.5, (len(images), 1, 1))
    return augment(coins, images, 0.1 * normal(k, images.shape))


def reuse_key_on_one_line(k, images):
    return augment(bernoulli(k, 0.5, (len(images), 1, 1)), images, 0.1 * normal(k, images.shape))


def use_python_if(key, images):
    for_coins, for_noise = split(key)
    coins = bernoulli(for_coins, 0.5, (len(images),))
    kept = [x[:, ::-1] if coin else x for coin, x in zip(coins, images, strict=True)]
    return jnp.stack(kept) + 0.1 * normal(for_noise, images.shape)


def use_numpy_generator(key, images):
    coins = np.random.default_rng().random((len(images), 1, 1)) < 0.5
    return augment(coins, images, 0.1 * normal(key, images.shape))


def use_rademacher(k, images):
    noise, signs = jax.random.split(k, (2,))
    coin = jax.random.rademacher(signs, (images.shape[0],)) > 0
    flipped = jax.vmap(lambda c, x: jax.lax.select(c, jnp.flip(x, 1), x))(coin, images)
    return flipped + jax.random.normal(noise, images.shape) / 10


def use_scan(key, x, first, last):
    def step(x, n):
        return x + normal(fold_in(key, n), x.shape), None

    return jax.lax.scan(step, x, jnp.arange(first, last))[0]


def share_coin(k, images):
    a, b = split(k)
    return augment(bernoulli(a), images, 0.1 * normal(b, images.shape))


def share_noise(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    return augment(coins, images, 0.1 * normal(b, images.shape[1:]))


def ignore_key(k, images):
    return SOLUTION(key(0), images)


def ignore_key_for_coins(k, images):
    coins = bernoulli(key(0), 0.5, (len(images), 1, 1))
    return augment(coins, images, 0.1 * normal(k, images.shape))


def wide_noise(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    return augment(coins, images, normal(b, images.shape))


def flip_upside_down(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    return jnp.where(coins, images[:, ::-1], images) + 0.1 * normal(b, images.shape)


def split_key_per_image(k, images):
    def augment_one(k, image):
        a, b = split(k)
        mirrored = jnp.where(bernoulli(a), image[:, ::-1], image)
        return mirrored + 0.1 * normal(b, image.shape)

    return jax.vmap(augment_one)(split(k, len(images)), images)


def derive_equal_keys(k, images):
    coins = bernoulli(split(k)[0], 0.5, (len(images), 1, 1))
    return augment(coins, images, 0.1 * normal(fold_in(k, 0), images.shape))


def derive_equal_keys_from_traced_number(k, images):
    zero = (0 * images.sum()).astype(int)
    coins = bernoulli(split(k)[0], 0.5, (len(images), 1, 1))
    return augment(coins, images, 0.1 * normal(fold_in(k, zero), images.shape))


def noise_by_row(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    return augment(coins, images, 0.1 * normal(b, (*images.shape[:2], 1)))


def uniform_noise(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    wide = 0.1 * 3**0.5
    return augment(coins, images, jax.random.uniform(b, images.shape, minval=-wide, maxval=wide))


def SOLUTION(k, images):
    a, b = split(k)
    coins = bernoulli(a, 0.5, (len(images), 1, 1))
    return augment(coins, images, 0.1 * normal(b, images.shape))


def walk_with(step_key):
    def walk(k, x, first, last):
        for step in range(first, last):
            x = x + normal(step_key(k, step, first), x.shape)
        return x

    return walk


def split_in_chain(k, x, first, last):
    for _ in range(first, last):
        k, sub = split(k)
        x = x + normal(sub, x.shape)
    return x


def draw_all_steps(k, x, first, last):
    return x + normal(k, (last, *x.shape))[first:].sum(axis=0)


def repeat_one_step(k, x, first, last):
    return x + (last - first) * normal(k, x.shape)


def split_in_chain_from_start(k, x, first, last):
    for step in range(last):
        k, sub = split(k)
        x = x + normal(sub, x.shape) * (step >= first)
    return x


def use_rademacher_steps(k, x, first, last):
    for step in range(first, last):
        x = x + jax.random.rademacher(fold_in(k, step), x.shape)
    return x


def draw_last_axis_only(k, x, first, last):
    for step in range(first, last):
        x = x + normal(fold_in(k, step), x.shape[-1:])
    return x


def fold_in_high_bits(seed):
    k = key(seed & 0xFFFFFFFF)
    while seed := seed >> 32:
        k = fold_in(k, seed & 0xFFFFFFFF)
    return k


def hash_to_32_bits(seed):
    return int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:4], "big")


def use_sha256(seed):
    digest = hashlib.sha256(str(seed).encode()).digest()[:8]
    return jax.random.wrap_key_data(jnp.asarray(np.frombuffer(digest, np.uint32)))


def use_numpy_seed_sequence(seed):
    words = np.random.SeedSequence(seed).generate_state(2)
    return jax.random.wrap_key_data(jnp.asarray(words))


WRONG = {
    "random-numbers/1": [
        (reuse_key, "one PRNG key is used 2 times: a draw at random_numbers.py:"),
        (
            reuse_key_on_one_line,
            "used 2 times: a draw at random_numbers.py:22. `jax.random.split` first",
        ),
        (use_python_if, "Choose with `jnp.where`"),
        (
            use_numpy_generator,
            "called twice with the same key, your function must return the same images",
        ),
        (share_coin, "no image is mirrored; flip a separate coin for each image"),
        (share_noise, "all images have the same noise; draw new noise for each image"),
        (ignore_key, "two keys give the same images; use the key argument"),
        (ignore_key_for_coins, "some random numbers do not depend on the key argument"),
        (wide_noise, "the noise must have mean 0 and standard deviation 0.1, got 0.04 and 0.99"),
        (
            derive_equal_keys,
            "`fold_in(key, 0)`, which equals `split(key)[0]`",
        ),
        (
            derive_equal_keys_from_traced_number,
            "the coins and the noise are correlated, because their keys are equal although they "
            "were derived differently",
        ),
        (noise_by_row, "all pixels in a row or column"),
        (uniform_noise, "not normally distributed"),
        (flip_upside_down, "some images are neither the original nor its left-right mirror image"),
        (
            lambda k, images: images + 0.1 * normal(k, images.shape),
            "no image is mirrored; flip a separate coin for each image",
        ),
    ],
    "random-numbers/2": [
        (
            walk_with(lambda k, step, first: k),
            "a walk from 0 to 1 and a walk from 1 to 2 take the same step; derive each",
        ),
        (use_rademacher_steps, "not normally distributed"),
        (draw_last_axis_only, "all rows or columns"),
        (
            repeat_one_step,
            "a walk from 0 to 1 and a walk from 1 to 2 take the same step; derive each",
        ),
        (
            split_in_chain,
            "a walk from 0 to 1 and a walk from 1 to 2 take the same step; derive each",
        ),
        (
            walk_with(lambda k, step, first: fold_in(k, step - first)),
            "a walk from 0 to 1 and a walk from 1 to 2 take the same step; derive each",
        ),
        (
            walk_with(lambda k, step, first: fold_in(fold_in(k, first), step)),
            "a walk from 0 to 4 and on to 6 must end where a walk from 0 to 6 ends",
        ),
        (
            walk_with(lambda k, step, first: key(step)),
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
        (lambda seed: key(python_random.getrandbits(32)), "gives a different key on each call"),
        (
            fold_in_high_bits,
            "the key for the seed 4294967296 is split(k, 8)[1], where k is the key for the seed 0",
        ),
        (
            jax.random.PRNGKey,
            "for the seed 0, your function must return a key like those from jax.random.key, got "
            "[0, 0]",
        ),
        (
            lambda seed: seed,
            "for the seed 0, your function must return a key like those from jax.random.key, got 0",
        ),
        (
            lambda seed: split(key(seed % 2**32), 2),
            "for the seed 0, your function must return one key, got 2",
        ),
        (
            lambda seed: key(hash_to_32_bits(seed)),
            "the first of the two words of the key is 0 for every seed",
        ),
        (
            lambda seed: fold_in(key(0), hash_to_32_bits(seed)),
            "the seeds 69235 and 95303 give the same key, because your function reduces a seed to "
            "32 bits",
        ),
        (
            lambda seed: fold_in(key(0), int(np.random.SeedSequence(seed).generate_state(1)[0])),
            "give the same key, because your function reduces a seed to 32 bits",
        ),
    ],
}
RIGHT = [
    ("random-numbers/1", use_rademacher),
    ("random-numbers/2", use_scan),
    ("random-numbers/1", split_key_per_image),
    ("random-numbers/2", draw_all_steps),
    ("random-numbers/2", split_in_chain_from_start),
    ("random-numbers/3", use_numpy_seed_sequence),
    ("random-numbers/3", use_sha256),
]
