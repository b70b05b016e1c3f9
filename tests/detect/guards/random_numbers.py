"""Programs with problems that the guards in chapter 06-random-numbers catch."""

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax, random

key, rows = random.key(0), jnp.ones((3, 2))
dropout = nn.Dropout(0.5, deterministic=False)


class Generator:
    def __init__(self):
        self.key = random.key(0)

    def __call__(self):
        self.key, one = random.split(self.key)
        return one


one, other = Generator(), Generator()


def walk(key):
    return sum(random.normal(key) for _ in range(3))


def trial(key):
    treated = random.bernoulli(key, 0.5, (10,))
    return random.normal(key, (10,)).mean(where=treated)


def splits_twice(key):
    return random.normal(random.split(key)[0]), random.normal(random.split(key)[0])


def one_for_all(images, key):
    return jax.vmap(lambda image: image + random.normal(key, image.shape))(images)


def epoch(key):
    def step(total, _):
        return total + dropout.apply({}, rows, rngs={"dropout": key}).sum(), None

    return lax.scan(step, 0.0, jnp.arange(3))[0]


def folds_the_same_number(key):
    return [random.normal(random.fold_in(key, 0)) for _ in range(2)]


def trains_with_root(root):
    init_key, _ = random.split(root)
    step = lambda w, i: (w + random.normal(random.fold_in(root, i), w.shape), None)  # noqa: E731
    return lax.scan(step, random.normal(init_key, (3,)), jnp.arange(5))[0]


EXAMPLES = [
    ("same-key-same-numbers", "key_reuse", walk, (key,), {}),
    (
        "key-generator-under-jit",
        "const_key",
        lambda a: a + random.normal(one()),
        (0.0,),
        {},
    ),
    ("key-generator-under-jit", "leak", lambda a: a + random.normal(other()), (0.0,), {}),
    ("two-distributions-one-key", "key_reuse", trial, (key,), {}),
    ("parent-key-after-split", "key_reuse", splits_twice, (key,), {}),
    ("fold-in-meets-split", "key_reuse", trains_with_root, (key,), {}),
    ("one-key-under-vmap", "key_reuse", one_for_all, (rows, key), {}),
    ("dropout-same-mask", "key_reuse", epoch, (key,), {}),
    ("key-checker-coverage", "key_reuse", folds_the_same_number, (key,), {}),
]
